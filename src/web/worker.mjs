// The worker of loadInWorker(). It has one model, and a load replaces it.

import { load } from "./gpt2.mjs";

let model;

async function replace(source, options) {
  const next = await load(source, options);
  model?.close();
  model = next;
}

self.onmessage = async ({ data: { method, given, port } }) => {
  const controller = new AbortController();
  port.onmessage = () => controller.abort();
  const tell = (event) => (value) => port.postMessage({ event, value });
  const options = { signal: controller.signal, onPiece: tell("onPiece"), onPart: tell("onPart"),
    onProgress: tell("onProgress") };
  try {
    const value = await (method === "load" ? replace(...given) : model.run(...given, options));
    port.postMessage({ value });
  } catch (error) {
    port.postMessage({ error: { ...error, name: error.name, message: error.message } });
  }
};
