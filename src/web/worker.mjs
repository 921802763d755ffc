// The worker of loadInWorker(). It has one model, and a load replaces it.

import { isNode, node } from "./files.mjs";
import { load } from "./gpt2.mjs";

let model;

async function replace(source, options, { signal, onProgress }) {
  const next = await load(source, { ...options, signal, onProgress });
  model?.close();
  model = next;
}

async function answer({ data: { method, given, port } }) {
  const controller = new AbortController();
  port.onmessage = () => controller.abort();
  const tell = (event) => (value) => port.postMessage({ event, value });
  const options = { signal: controller.signal, onPiece: tell("onPiece"), onPart: tell("onPart"),
    onProgress: tell("onProgress") };
  try {
    const value = await (method === "load" ? replace : model.run.bind(model))(...given, options);
    port.postMessage({ value });
  } catch (error) {
    port.postMessage({ error: { ...error, name: error.name, message: error.message } });
  }
}

if (isNode) node("worker_threads").then(({ parentPort }) => { parentPort.onmessage = answer; });
else self.onmessage = answer;
