// Runs GPT-2 models in a page, a worker or Node. A request is the one that gpt2 serve takes, and
// its answer has the same bits.
//
//   import * as gpt2 from "./gpt2.mjs";
//   const model = await gpt2.load("models/gpt2-stories/");
//   const [story] = await model.generate({ prompt: "Once upon a time" });
//   console.log(story.text);

// A module of Node. Bundlers do not see this import, and leave it.
const node = (name) => import(/* @vite-ignore */ "node:" + name);
const isNode = globalThis.process?.versions?.node !== undefined;

export class Gpt2Error extends Error {
  constructor({ message, ...rest }) {
    super(message);
    Object.assign(this, rest, { name: "Gpt2Error" });  // type, param, code: as the server answers
  }
}

const fail = (message, rest) => { throw new Gpt2Error({ message, ...rest }); };
const failIn = (name) => (error) => fail(`${name}: ${error.message}`);

const isAddress = (source) => typeof source === "string" || source instanceof URL;
async function urlOf(where) {
  if (/^[a-z]{2,}:/.test(where)) return new URL(where);
  return isNode ? (await node("url")).pathToFileURL(where) : new URL(where, location.href);
}

const fileOf = (name, bytes) => ({ name, size: bytes.length, stream: () => [bytes] });

// Returns what stream() gave as something to iterate over. Safari 26, Chrome 123 and Firefox 109
// cannot iterate over a ReadableStream.
async function* partsOf(stream) {
  if (!stream.getReader) return yield* stream;
  const reader = stream.getReader();
  try {
    for (let part; !(part = await reader.read()).done;) yield part.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Returns the file at a URL, or null if there is none, as what a File has: name, size and stream(),
// which gives arrays of bytes. The size is a guess: a server may tell that of what it compressed.
async function fileAt(url, name) {
  if (url.protocol === "file:") {
    const { createReadStream, promises } = await node("fs");
    const found = await promises.stat(url).catch(() => null);
    const stream = () => createReadStream(url, { highWaterMark: 1 << 20 });
    return found?.isFile() ? { name, size: found.size, stream } : null;
  }
  const answer = await fetch(url).catch(failIn(name));
  const { ok, status, headers } = answer;
  if (status === 429 || status >= 500) fail(`${name}: the server's status is ${status}`);
  // Some servers answer with their first page instead of 404.
  if (!ok || headers.get("Content-Type")?.startsWith("text/html")) return null;
  const size = Number(headers.get("Content-Length"));
  // stream() refers to the answer, because Node cancels the body of an answer that it collects.
  if (kWeights.test(name)) return { name, size, stream: () => answer.body };
  return fileOf(name, new Uint8Array(await answer.arrayBuffer()));
}

// Returns the JSON of a request. JSON has null for NaN, as if the option were absent.
function jsonOf(request) {
  let option = "the request";
  return String(JSON.stringify(request, function (name, value) {
    if (this === request) option = name;
    if (typeof value !== "number" || Number.isFinite(value)) return value;
    return fail(`${option}: expected a number, found ${value}`, { param: option });
  }));
}

// Whether the engine has the multiply-add of relaxed SIMD, and rounds it once. An engine decides this
// once for all. The module has one function, f(a, b, c) = a * b + c. The exact result is 1.5 * 2^-149,
// which becomes 2^-148, but the product alone would become 0.
function fuses() {
  const bytes = Uint8Array.from(atob(
    "AGFzbQEAAAABCAFgA319fQF9AwIBAAcFAQFmAAAKFgEUACAA/RMgAf0TIAL9E/2FAv0fAAs="),
    (byte) => byte.charCodeAt());
  if (!WebAssembly.validate(bytes)) return false;
  const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  return f(2 ** -75, 2 ** -75, 2 ** -149) === 2 ** -148;
}

let module;  // compiled once

async function compile() {
  const relaxed = new URL("gpt2_relaxed.wasm", import.meta.url);
  const file = fuses() && await fileAt(relaxed, "gpt2_relaxed.wasm")
    || await fileAt(new URL("gpt2.wasm", import.meta.url), "gpt2.wasm")
    || fail("gpt2.wasm is not beside gpt2.mjs");
  const parts = [];
  for await (const part of partsOf(file.stream())) parts.push(part);
  return WebAssembly.compile(await new Blob(parts).arrayBuffer());
}

async function instantiate() {
  module ??= compile().catch((error) => { module = undefined; throw error; });
  const random = globalThis.crypto ?? (await node("crypto")).webcrypto;  // Node 18
  let wasm;
  // The little of a system that a C++ library asks for.
  const system = {
    clock_time_get(clock, precision, at) {
      const now = clock === 0 ? Date.now() : performance.now();
      new DataView(wasm.memory.buffer).setBigUint64(at, BigInt(Math.round(now * 1e6)), true);
      return 0;
    },
    random_get(at, size) {
      random.getRandomValues(new Uint8Array(wasm.memory.buffer, at, size));
      return 0;
    },
  };
  const functions = new Proxy(system, { get: (all, name) => all[name] ?? (() => 52) });  // ENOSYS
  const modules = new Proxy({}, { get: () => functions });
  wasm = (await WebAssembly.instantiate(await module, modules)).exports;
  wasm._initialize?.();
  return wasm;
}

// The files of a model: those that a folder which cannot be listed may have, and parts of weights.
const kFiles = ["config.json", "generation_config.json", "tokenizer.json", "vocab.json", "vocab.txt",
  "merges.txt", "spiece.model", "tokenizer_config.json", "special_tokens_map.json",
  "added_tokens.json"];
const kWeights = /^(model|pytorch_model|ckpt).*\.(safetensors|bin|pt|index\.json)$/;
function filesAmong(names) {
  const ours = names.filter((name) => kFiles.includes(name) || kWeights.test(name));
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

const refuse = (found) => fail("the source of a model: expected the URL of a folder, a list of "
  + `File, or an object of names and Uint8Array, found ${found}`);

// Returns the files for the URL of a folder, a list of File, or an object of names and bytes.
async function filesOf(source) {
  if (isAddress(source)) {
    const folder = await urlOf(String(source).endsWith("/") ? source : source + "/");
    const found = (await filesIn(folder)).filter((file) => file !== null);
    return found.length > 0 ? found : fail(`${source}: no file of a model is there`);
  }
  if (typeof source !== "object" || source === null) refuse(source);
  if (typeof source[Symbol.iterator] === "function") {
    const list = [...source];
    if (!list.every((file) => file?.stream)) refuse("another list");
    list.sort((a, b) => depthOf(b) - depthOf(a));  // files of inner folders give way
    const files = Object.fromEntries(list.map((file) => [file.name, file]));
    return filesAmong(Object.keys(files)).map((name) => files[name]);
  }
  return Object.entries(source).map(([name, bytes]) =>
    bytes instanceof Uint8Array ? fileOf(name, bytes) : refuse(`${typeof bytes} for ${name}`));
}

// The functions of a model that are runs by another name.
class Requests {
  generate(request, options) { return this.run("generate", request, options); }
  score(request, options) { return this.run("score", request, options); }
  inspect(request, options) { return this.run("inspect", request, options); }
  embed(request, options) { return this.run("embeddings", request, options); }

  // Answers {"prompt"} with {"tokens", "count", "max_model_len"}.
  tokenize(request) { return this.run("tokenize", request); }

  // Answers {"tokens"} with {"prompt"}.
  detokenize(request) { return this.run("detokenize", request); }

  // Returns {"name", "n_positions", "options"}: the options of a request, with range and default.
  describe() { return this.run("describe", {}); }
}

class Model extends Requests {
  #wasm;
  #model;

  async open(files, { name = "gpt2", dtype = "stored", tokenizer = true }) {
    this.#wasm = await instantiate();
    const read = [];
    for (const file of files) read.push(await this.#read(file).catch(failIn(file.name)));
    this.#model = this.#call("open",
      JSON.stringify({ name: `${name}`, dtype: `${dtype}`, tokenizer: !!tokenizer, files: read }));
    return this;
  }

  // Reads a file to memory, where it stays, and returns where it is.
  async #read(file) {
    let { size } = file;
    let address = this.#allocate(size);
    let end = 0;
    for await (const chunk of partsOf(file.stream())) {
      const begin = end;
      end += chunk.length;
      if (end > size) {
        const before = address;
        size = Math.ceil(end * 1.5);
        address = this.#allocate(size);
        this.#bytes(address, begin).set(this.#bytes(before, begin));
        this.#wasm.gpt2_web_release(before);
      }
      this.#bytes(address + begin, chunk.length).set(chunk);
    }
    return { name: file.name, address, size: end };
  }

  #allocate(size) {
    const bytes = Math.ceil((size + 1) / 64) * 64;
    const address = bytes < 2 ** 32 && this.#wasm.gpt2_web_allocate(bytes) >>> 0;
    return address || fail("not enough memory");
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
      const bytes = new TextEncoder().encode(value + "\0");
      const at = this.#allocate(bytes.length);
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
    return new TextDecoder().decode(this.#bytes(at, this.#wasm.gpt2_web_size()));
  }

  // Runs a request of one of the library's kinds: "generate", "completions", "chat", "responses",
  // "embeddings", "score", "choices", "inspect" or "inspect_page", or answers "tokenize",
  // "detokenize" or "describe". Calls onPart for each part of a stream, and
  // onPiece({ index, text, token_id }) for each piece of a text.
  async run(kind, request, { onPiece, onPart, onProgress, signal } = {}) {
    const given = [this.#model, String(kind), jsonOf(request)];
    if (["tokenize", "detokenize", "describe"].includes(kind)) {
      this.#call("answer", ...given);
      return JSON.parse(this.#text());
    }
    let heard = performance.now();
    const run = this.#call("begin", ...given);
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

  // Frees the memory of the model. Nothing may be called afterwards.
  close() {
    this.#model = this.#wasm = null;  // all memory is that of #wasm
  }
}

// Loads a model from the URL of its folder, from a list of File (a folder that was dropped onto a
// page), or from an object of names and bytes. { dtype: "int8" } converts its weights.
export async function load(source, options = {}) {
  return new Model().open(await filesOf(source), options);
}

// The same in a worker of its own, so that the page stays responsive: all functions are those of a
// model, and functions given to them are called as if the model were here.
export async function loadInWorker(source, options = {}) {
  const worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
  const waiting = new Set();  // functions that reject the calls
  let ended;  // why the worker answers no more
  const end = (message) => {
    worker.terminate();
    ended = new Gpt2Error({ message });
    for (const reject of waiting) reject(ended);
  };
  worker.onerror = () => end("worker.mjs cannot be started");
  const send = (method, given, { signal, ...functions } = {}) => new Promise((resolve, reject) => {
    if (ended || signal?.aborted) return reject(ended ?? signal.reason);
    const { port1: ours, port2: theirs } = new MessageChannel();
    waiting.add(reject);
    ours.onmessage = ({ data: { event, value, error } }) => {
      if (event) return functions[event]?.(value);
      waiting.delete(reject);
      ours.close();
      if (error === undefined) resolve(value);
      else reject(error.name === "AbortError" ? signal.reason : new Gpt2Error(error));
    };
    worker.postMessage({ method, given, port: theirs }, [theirs]);
    signal?.addEventListener("abort", () => ours.postMessage("abort"));
  });
  const model = Object.assign(new Requests(), {
    load: async (from, rest) =>
      send("load", [isAddress(from) ? (await urlOf(from)).href : from, rest]),
    run: (kind, request, rest) => send("run", [kind, request], rest),
    close: () => end("the model is closed"),
  });
  return model.load(source, options).then(() => model, (error) => {
    model.close();
    throw error;
  });
}
