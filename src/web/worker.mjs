// The worker of loadInWorker(). It has one model, and a load replaces it.

import { load } from "./gpt2.mjs";

const running = new Map();  // the AbortController of each call
let model;

async function replace(source, options) {
  const next = await load(source, options);
  model?.close();
  model = next;
}

self.onmessage = async ({ data: { id, method, given } }) => {
  if (method === "abort") return running.get(id)?.abort();
  const controller = new AbortController();
  running.set(id, controller);
  const tell = (event) => (value) => self.postMessage({ id, event, value });
  const options = { signal: controller.signal, onPiece: tell("onPiece"), onPart: tell("onPart"),
    onProgress: tell("onProgress") };
  try {
    const value = await (method === "load" ? replace(...given) : model[method](...given, options));
    self.postMessage({ id, value });
  } catch (error) {
    self.postMessage({ id, error: { ...error, name: error.name, message: error.message } });
  } finally {
    running.delete(id);
  }
};
