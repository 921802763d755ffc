// Runs GPT-2 models in a page, a worker or Node. A request is the one that gpt2 serve takes, and
// its answer has the same bits.
//
//   import * as gpt2 from "./gpt2.mjs";
//   const model = await gpt2.load("models/gpt2-stories/");
//   const [story] = await model.generate({ prompt: "Once upon a time" });
//   console.log(story.text);

// A module of Node. Bundlers do not see this import, and leave it.
const node = (name) => import(/* @vite-ignore */ "node:" + name);
const isNode = typeof process !== "undefined" && process.versions?.node !== undefined;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Gpt2Error extends Error {
  constructor({ message, ...rest }) {
    super(message);
    this.name = "Gpt2Error";
    Object.assign(this, rest);  // type, param and code, as in the server's answers
  }
}

const fail = (message) => { throw new Gpt2Error({ message }); };

const isAddress = (source) => typeof source === "string" || source instanceof URL;
async function urlOf(where) {
  if (/^[a-z]{2,}:/.test(where)) return new URL(where);
  return isNode ? (await node("url")).pathToFileURL(where) : new URL(where, location.href);
}

// A file is { name, size, chunks }: the chunks are arrays of bytes, one after another.
const fileOfBytes = (name, bytes) => ({ name, size: bytes.length, chunks: [bytes] });

// Returns the file at a URL, or null if there is none.
async function fileAt(url, name) {
  if (url.protocol === "file:") {
    const { createReadStream, promises } = await node("fs");
    const found = await promises.stat(url).catch(() => null);
    if (!found?.isFile()) return null;
    return { name, size: found.size, chunks: createReadStream(url, { highWaterMark: 1 << 20 }) };
  }
  try {
    const answer = await fetch(url);
    if (answer.status === 429 || answer.status >= 500) fail(`the server's status is ${answer.status}`);
    // Some servers answer with their first page instead of 404.
    if (!answer.ok || answer.headers.get("Content-Type")?.startsWith("text/html")) return null;
    const size = Number(answer.headers.get("Content-Length"));
    if (!size || answer.headers.has("Content-Encoding") || !isWeights(name)) {
      return fileOfBytes(name, new Uint8Array(await answer.arrayBuffer()));
    }
    return { name, size, chunks: answer.body, answer };  // whose body Node cancels if it is collected
  } catch (error) {
    return fail(`${name}: ${error.message}`);
  }
}

// Writes a file to the array that target() returns each time, because memory that grows moves.
async function copy(file, target) {
  let at = 0;
  for await (const chunk of file.chunks) {
    if (at + chunk.length <= file.size) target().set(chunk, at);
    at += chunk.length;
  }
  if (at !== file.size) fail(`${file.name}: expected ${file.size} bytes, found ${at}`);
}

// What the module imports: the little of a system that a C++ library asks for.
function system(memory, random) {
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
  const file = await fileAt(new URL("gpt2.wasm", import.meta.url), "gpt2.wasm")
    ?? fail("gpt2.wasm is not beside gpt2.mjs");
  const bytes = new Uint8Array(file.size);
  await copy(file, () => bytes);
  return WebAssembly.compile(bytes);
}
let module;  // compiled once

async function instantiate() {
  module ??= compile().catch((error) => { module = undefined; throw error; });
  const random = globalThis.crypto ?? (await node("crypto")).webcrypto;  // Node 18
  let wasm;
  const imports = {};
  const functions = system(() => wasm.memory, random);
  for (const { module: from, name } of WebAssembly.Module.imports(await module)) {
    (imports[from] ??= {})[name] = functions[name];
  }
  wasm = (await WebAssembly.instantiate(await module, imports)).exports;
  wasm._initialize?.();
  return wasm;
}

// The files of a model: those that a folder which cannot be listed may have, and parts of weights.
const kFiles = ["config.json", "generation_config.json", "tokenizer.json", "vocab.json", "vocab.txt",
  "merges.txt", "spiece.model", "tokenizer_config.json", "special_tokens_map.json",
  "added_tokens.json"];
const isWeights = (name) => /^(model|pytorch_model|ckpt).*\.(safetensors|bin|pt|index\.json)$/.test(name);
function filesAmong(names) {
  const ours = names.filter((name) => kFiles.includes(name) || isWeights(name));
  const isSafe = ours.some((name) => name.includes(".safetensors"));
  return ours.filter((name) => !(isSafe && name.includes(".bin")));  // the same weights
}
const depthOf = (file) => (file.webkitRelativePath ?? "").split("/").length;

// Returns the files in the folder at a URL.
async function filesIn(folder) {
  const at = (name) => fileAt(new URL(encodeURIComponent(name), folder), name);
  if (folder.protocol === "file:") {
    const names = await (await node("fs/promises")).readdir(folder).catch(() => []);
    return Promise.all(filesAmong(names).map(at));
  }
  const weights = await at("model.safetensors") ?? await at("pytorch_model.bin");
  return weights ? [weights, ...await Promise.all(kFiles.map(at))] : [];
}

// Returns the files for the URL of a folder, a list of File, or an object of names and bytes.
async function filesOf(source) {
  if (isAddress(source)) {
    const found = await filesIn(await urlOf(String(source).endsWith("/") ? source : source + "/"));
    if (found.length === 0) fail(`${source}: no file of a model is there`);
    return found.filter((file) => file !== null);
  }
  if (typeof source[Symbol.iterator] === "function") {
    const files = new Map();  // by name; those of inner folders give way
    for (const file of [...source].sort((a, b) => depthOf(b) - depthOf(a))) files.set(file.name, file);
    return filesAmong([...files.keys()]).map((name) => files.get(name))
      .map((file) => ({ name: file.name, size: file.size, chunks: file.stream() }));
  }
  return Object.entries(source).map(([name, bytes]) => fileOfBytes(name, bytes));
}

class Model {
  #wasm;
  #model;

  constructor(wasm) {
    this.#wasm = wasm;
  }

  async open(files, { name = "gpt2", dtype = "stored", tokenizer = true }) {
    const places = [];
    for (const file of files) {
      const address = this.#allocate(file.size, file.name);
      await copy(file, () => this.#bytes(address, file.size));
      places.push({ name: file.name, address, size: file.size });
    }
    this.#model = this.#call("open", JSON.stringify({ name, dtype, tokenizer, files: places }));
  }

  #allocate(size, name) {
    if (size > 2 ** 32 - 2 ** 16) fail(`${name}: not enough memory`);
    const address = this.#wasm.gpt2_web_allocate(Math.ceil((size + 1) / 64) * 64) >>> 0;
    return address || fail(`${name}: not enough memory`);
  }

  #bytes(address, size) {
    return new Uint8Array(this.#wasm.memory.buffer, address, size);
  }

  // Calls a function with texts as its last arguments. Throws what it answers if it fails.
  #call(name, ...given) {
    if (this.#wasm === null) fail("the model is closed");
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
    const run = this.#call("begin", this.#model, String(kind), String(JSON.stringify(request)));
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
      this.#wasm?.gpt2_web_end(run);
    }
  }

  generate(request, options) { return this.run("generate", request, options); }
  score(request, options) { return this.run("score", request, options); }
  inspect(request, options) { return this.run("inspect", request, options); }
  embed(request, options) { return this.run("embeddings", request, options); }

  async #answer(what, request) {
    this.#call("answer", this.#model, what, String(JSON.stringify(request)));
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
    this.#model = this.#wasm = null;  // all memory is that of #wasm
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
  let ended;  // why the worker answers no more
  const end = (message) => {
    worker.terminate();
    ended = new Gpt2Error({ message });
    for (const call of calls.values()) call.reject(ended);
    calls.clear();
  };
  worker.onerror = () => end("worker.mjs cannot be started");
  worker.onmessage = ({ data: { id, event, value, error } }) => {
    const call = calls.get(id);
    if (event) return call?.options[event]?.(value);
    calls.delete(id);
    if (error === undefined) call.resolve(value);
    else if (error.name === "AbortError") call.reject(call.options.signal.reason);
    else call.reject(new Gpt2Error(error));
  };
  const send = (method, given, { signal, ...functions } = {}) => new Promise((resolve, reject) => {
    if (ended || signal?.aborted) return reject(ended ?? signal.reason);
    const id = ++last;
    calls.set(id, { resolve, reject, options: { signal, ...functions } });
    worker.postMessage({ id, method, given });
    signal?.addEventListener("abort", () => worker.postMessage({ id, method: "abort" }));
  });
  const model = {
    async load(from, options) {
      return send("load", [isAddress(from) ? (await urlOf(from)).href : from, options]);
    },
    run: (kind, request, rest) => send("run", [kind, request], rest),
    close: () => end("the model is closed"),
  };
  const others = ["generate", "score", "inspect", "embed", "tokenize", "detokenize", "describe"];
  for (const method of others) {
    model[method] = (request, rest) => send(method, [request], rest);
  }
  await model.load(source, options).catch((error) => {
    model.close();
    throw error;
  });
  return model;
}
