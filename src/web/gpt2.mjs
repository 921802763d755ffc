// Runs GPT-2 models in a page, a worker or Node. A request is the one that gpt2 serve takes, and
// its answer has the same bits.
//
//   import * as gpt2 from "./gpt2.mjs";
//   const model = await gpt2.load("models/gpt2-stories/");
//   const [story] = await model.generate({ prompt: "Once upon a time" });
//   console.log(story.text);

const isNode = typeof process !== "undefined" && process.versions?.node !== undefined;
const random = globalThis.crypto ?? (await import("node:crypto")).webcrypto;  // Node 18
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Gpt2Error extends Error {
  constructor({ message, ...rest }) {
    super(message);
    this.name = "Gpt2Error";
    Object.assign(this, rest);  // type, param and code, as in the server's answers
  }
}

const urlOfPath = isNode ? (await import("node:url")).pathToFileURL
  : (path) => new URL(path, location.href);
const isAddress = (source) => typeof source === "string" || source instanceof URL;
const urlOf = (where) => (/^[a-z]{2,}:/.test(where) ? new URL(where) : urlOfPath(where));

// A file is { name, size, chunks }: the chunks are arrays of bytes, one after another.
const fileOfBytes = (name, bytes) => ({ name, size: bytes.length, chunks: [bytes] });

// Returns the file at a URL or, in Node, at a path, or null if there is none.
async function fileAt(where, name) {
  const url = urlOf(where);
  if (url.protocol === "file:") {
    const { createReadStream, promises } = await import("node:fs");
    const found = await promises.stat(url).catch(() => null);
    if (!found?.isFile()) return null;
    return { name, size: found.size, chunks: createReadStream(url, { highWaterMark: 1 << 20 }) };
  }
  const answer = await fetch(url);
  if (!answer.ok) return null;
  const size = Number(answer.headers.get("Content-Length"));
  if (size && !answer.headers.has("Content-Encoding")) return { name, size, chunks: answer.body };
  return fileOfBytes(name, new Uint8Array(await answer.arrayBuffer()));
}

// Writes a file to the array that target() returns each time, because memory that grows moves.
async function copy(file, target) {
  let at = 0;
  for await (const chunk of file.chunks) {
    if (at + chunk.length <= file.size) target().set(chunk, at);
    at += chunk.length;
  }
  if (at === file.size) return;
  throw new Gpt2Error({ message: `${file.name}: expected ${file.size} bytes, found ${at}` });
}

// What the module imports: the little of a system that a C++ library asks for.
function system(memory) {
  const known = {
    clock_time_get(clock, precision, at) {
      const now = clock === 0 ? Date.now() : performance.now();
      new DataView(memory().buffer).setBigUint64(at, BigInt(Math.round(now * 1e6)), true);
      return 0;
    },
    random_get(at, size) {
      random.getRandomValues(new Uint8Array(memory().buffer, at, size));
      return 0;
    },
  };
  return new Proxy(known, { get: (all, name) => all[name] ?? (() => 52) });  // 52: not implemented
}

async function compile() {
  const file = await fileAt(new URL("gpt2.wasm", import.meta.url), "gpt2.wasm");
  const bytes = new Uint8Array(file.size);
  await copy(file, () => bytes);
  return WebAssembly.compile(bytes);
}
let module;  // compiled once

async function instantiate() {
  module ??= compile();
  let wasm;
  const imports = {};
  const functions = system(() => wasm.memory);
  for (const { module: from, name } of WebAssembly.Module.imports(await module)) {
    (imports[from] ??= {})[name] = functions[name];
  }
  wasm = (await WebAssembly.instantiate(await module, imports)).exports;
  wasm._initialize?.();
  return wasm;
}

// What may be in a folder that cannot be listed.
const kFiles = ["config.json", "model.safetensors", "tokenizer.json", "vocab.json", "merges.txt",
  "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"];

// Returns the files for the URL of a folder, a list of File, or an object of names and bytes.
async function filesOf(source) {
  if (isAddress(source)) {
    const folder = urlOf(String(source).endsWith("/") ? source : source + "/");
    const names = folder.protocol !== "file:" ? kFiles
      : await (await import("node:fs/promises")).readdir(folder).catch(() => []);
    const files = names.map((name) => fileAt(new URL(encodeURIComponent(name), folder), name));
    const found = (await Promise.all(files)).filter((file) => file !== null);
    if (found.length > 0) return found;
    throw new Gpt2Error({ message: `${source}: no file of a model is there` });
  }
  if (typeof source[Symbol.iterator] === "function") {
    return [...source].map((file) => ({ name: file.name, size: file.size, chunks: file.stream() }));
  }
  return Object.entries(source).map(([name, bytes]) => fileOfBytes(name, bytes));
}

class Model {
  #wasm;
  #model;
  #memory = [];

  constructor(wasm) {
    this.#wasm = wasm;
  }

  async open(files, { name = "gpt2", dtype = "stored", tokenizer = true }) {
    const places = [];
    for (const file of files) {
      const address = this.#allocate(file.size, file.name);
      this.#memory.push(address);
      await copy(file, () => this.#bytes(address, file.size));
      places.push({ name: file.name, address, size: file.size });
    }
    this.#model = this.#call("open", JSON.stringify({ name, dtype, tokenizer, files: places }));
  }

  #allocate(size, name) {
    const address = this.#wasm.gpt2_web_allocate(Math.ceil((size + 1) / 64) * 64) >>> 0;
    if (address === 0) throw new Gpt2Error({ message: `${name}: not enough memory` });
    return address;
  }

  #bytes(address, size) {
    return new Uint8Array(this.#wasm.memory.buffer, address, size);
  }

  // Calls a function with texts as its last arguments. Throws what it answers if it fails.
  #call(name, ...given) {
    const texts = [];
    const values = given.map((value) => {
      if (typeof value !== "string") return value;
      const bytes = encoder.encode(value + "\0");
      const at = this.#allocate(bytes.length, "the request");
      texts.push(at);
      this.#bytes(at, bytes.length).set(bytes);
      return at;
    });
    try {
      const result = this.#wasm["gpt2_web_" + name](...values);
      if (result === 0) throw new Gpt2Error(JSON.parse(this.#text()).error);
      return result;
    } finally {
      for (const at of texts) this.#wasm.gpt2_web_release(at);
    }
  }

  #text() {
    const at = this.#wasm.gpt2_web_text() >>> 0;
    return decoder.decode(this.#bytes(at, this.#wasm.gpt2_web_size()));
  }

  // Runs a request of one of the library's kinds: "generate", "completions", "chat", "embeddings",
  // "score", "choices", "inspect" or "inspect_page". Calls onPart for each part of a stream, and
  // onPiece({ index, text, token_id }) for each piece of a text.
  async run(kind, request, { onPiece, onPart, onProgress, signal } = {}) {
    let heard = performance.now();
    const run = this.#call("begin", this.#model, kind, JSON.stringify(request));
    try {
      for (;;) {
        signal?.throwIfAborted();
        const status = this.#call("step", run);
        const { events, parts, answer } = JSON.parse(this.#text());
        for (const event of events) {
          if ("progress" in event) onProgress?.(event.progress);
          else onPiece?.(event);
        }
        for (const part of parts) onPart?.(part);
        if (status === 2) return answer;
        // Lets the page, or a worker's signal, be heard. Some browsers let 4 ms pass each time.
        if (performance.now() - heard > 50) {
          await new Promise((goOn) => setTimeout(goOn));
          heard = performance.now();
        }
      }
    } finally {
      this.#wasm.gpt2_web_end(run);
    }
  }

  generate(request, options) { return this.run("generate", request, options); }
  score(request, options) { return this.run("score", request, options); }
  inspect(request, options) { return this.run("inspect", request, options); }
  embed(request, options) { return this.run("embeddings", request, options); }

  async #answer(what, request) {
    this.#call("answer", this.#model, what, JSON.stringify(request));
    return JSON.parse(this.#text());
  }

  // Answers {"prompt"} with {"tokens", "count", "max_model_len"}.
  tokenize(request) { return this.#answer("tokenize", request); }

  // Answers {"tokens"} with {"prompt"}.
  detokenize(request) { return this.#answer("detokenize", request); }

  // Returns {"name", "n_positions", "options"}: the options of a request, with range and default.
  describe() { return this.#answer("describe", {}); }

  // Frees the memory of the model. Nothing may be called afterwards.
  close() {
    if (this.#model) this.#wasm.gpt2_web_close(this.#model);
    for (const address of this.#memory) this.#wasm.gpt2_web_release(address);
    this.#model = this.#wasm = null;
    this.#memory = [];
  }
}

// Loads a model from the URL of its folder, from a list of File (a folder that was dropped onto a
// page), or from an object of names and bytes. { dtype: "int8" } converts its weights.
export async function load(source, options = {}) {
  const files = await filesOf(source);
  const model = new Model(await instantiate());
  try {
    await model.open(files, options);
  } catch (error) {
    model.close();
    throw error;
  }
  return model;
}

// The same in a worker of its own, so that the page stays responsive: all functions are those of a
// model, and functions given to them are called as if the model were here.
export async function loadInWorker(source, options = {}) {
  const worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
  const calls = new Map();
  let last = 0;
  worker.onmessage = ({ data: { id, event, value, error } }) => {
    const call = calls.get(id);
    if (event) return call.options[event]?.(value);
    calls.delete(id);
    if (error === undefined) call.resolve(value);
    else if (error.name === "AbortError") call.reject(call.options.signal.reason);
    else call.reject(new Gpt2Error(error));
  };
  const send = (method, given, { signal, ...functions } = {}) => new Promise((resolve, reject) => {
    const id = ++last;
    calls.set(id, { resolve, reject, options: { signal, ...functions } });
    worker.postMessage({ id, method, given });
    signal?.addEventListener("abort", () => worker.postMessage({ id, method: "abort" }));
  });
  const model = {
    load: (from, options) => send("load", [isAddress(from) ? urlOf(from).href : from, options]),
    run: (kind, request, rest) => send("run", [kind, request], rest),
    close: () => worker.terminate(),
  };
  const others = ["generate", "score", "inspect", "embed", "tokenize", "detokenize", "describe"];
  for (const method of others) {
    model[method] = (request, rest) => send(method, [request], rest);
  }
  await model.load(source, options).catch((error) => {
    worker.terminate();
    throw error;
  });
  return model;
}
