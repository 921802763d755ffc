// Runs GPT-2 models in a page, a worker or Node. A request is the one that gpt2 serve takes, and
// its answer has the same bits.
//
//   import * as gpt2 from "./gpt2.mjs";
//   const model = await gpt2.load("models/gpt2-stories/");
//   const [story] = await model.generate({ prompt: "Once upon a time" });
//   console.log(story.text);

import { Gpt2Error, bytesOf, fail, fileAt, filesOf, isAddress, isNode, node, partsOf, told,
  urlOf } from "./files.mjs";

export { Gpt2Error };

// Refuses members of an object that nobody would read.
function check(given, known, what) {
  const wrong = Object.keys(given).find((name) => !known.includes(name));
  if (wrong !== undefined) fail(`${what}: expected ${known.join(", ")}, found ${wrong}`);
}

// Returns the JSON of a request. JSON has null for NaN, as if the option were absent, and objects
// for arrays like Int32Array.
function jsonOf(request) {
  if (typeof request !== "object" || request === null) {
    fail(`expected a request, such as { prompt: "Once upon a time" }, found ${request}`);
  }
  let option = "the request";
  const refuse = (found) =>
    fail(`${option}: expected a value of JSON, found ${found}`, { param: option });
  try {
    return JSON.stringify(request, function (name, value) {
      if (this === request) option = name;
      if (typeof value === "number" && !Number.isFinite(value)) refuse(value);
      if (["function", "symbol", "bigint"].includes(typeof value)) refuse(typeof value);
      return ArrayBuffer.isView(value) ? [...value] : value;
    });
  } catch (error) {  // of a circle, for one
    if (error instanceof Gpt2Error) throw error;
    return refuse(`${error}`.split("\n")[0]);
  }
}

// Whether the engine has the multiply-add of relaxed SIMD, and rounds it once. An engine decides
// this once for all. The module has one function, f(a, b, c) = a * b + c. The exact result is 1.5 *
// 2^-149, which becomes 2^-148, but the product alone would become 0.
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
  return WebAssembly.compile(await bytesOf(file.stream())).catch((error) => fail(`${file.name}: `
    + "expected an engine with WebAssembly's SIMD and exceptions, as Chrome 95, Firefox 100, "
    + `Safari 16.4 and Node 17 have, found: ${error.message}`));
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

// The functions of a model that are runs by another name.
class Requests {
  generate(request, options) { return this.run("generate", request, options); }
  score(request, options) { return this.run("score", request, options); }
  choices(request, options) { return this.run("choices", request, options); }
  inspect(request, options) { return this.run("inspect", request, options); }
  embed(request, options) { return this.run("embeddings", request, options); }

  // Answers {"prompt"} with {"tokens", "count", "max_model_len"}.
  tokenize(request) { return this.run("tokenize", request); }

  // Answers {"tokens"} with {"prompt"}.
  detokenize(request) { return this.run("detokenize", request); }

  // Returns "name", "options" (those of a request, with range and default) and the members that
  // gpt2_model_info() lists in gpt2.h.
  describe() { return this.run("describe", {}); }
}

const kRunOptions = ["onPiece", "onPart", "onProgress", "signal"];
const kLoadOptions = ["name", "dtype", "tokenizer", "revision", "cache", "onProgress", "signal"];

class Model extends Requests {
  #wasm;

  async open(source, options) {
    check(options, kLoadOptions, "the options of a model");
    const { name = "gpt2", tokenizer = true, signal } = options;
    const dtype = `${options.dtype ?? "stored"}`;
    this.#wasm = await instantiate();
    // An adapter is merged with floats.
    const quantizes = /^int[48]$/.test(dtype)
      && !Object.hasOwn(Object(source), "adapter_config.json");
    for await (const file of filesOf(source, options)) {
      const isQuantized = quantizes && /^model(\.\w+)?\.safetensors$/.test(file.name);
      await told(this.#take(file, isQuantized ? dtype : "", options), file.name, signal);
    }
    this.#call("open", JSON.stringify({ name: `${name}`, dtype, tokenizer: !!tokenizer }));
    return this;
  }

  // Gives a file to the module, which quantizes its weights as they arrive if there is a dtype.
  async #take(file, dtype, { onProgress, signal }) {
    const { name, size = 0 } = file;
    if (size >= 2 ** 32) fail("not enough memory");
    this.#call("file", JSON.stringify({ name, size, dtype }));
    let loaded = 0;
    for await (const part of partsOf(file.stream())) {
      for (let begin = 0; begin < part.length; begin += 1 << 20) {
        this.#call("add", part.subarray(begin, begin + (1 << 20)));
      }
      loaded += part.length;
      onProgress?.({ file: name, loaded, total: Math.max(size, loaded) });
      signal?.throwIfAborted();
    }
  }

  #bytes(at, size) { return new Uint8Array(this.#wasm.memory.buffer, at >>> 0, size); }

  // Gives a function a text or bytes. Returns its answer, or throws it if it is an error.
  #call(name, given = "", ...run) {
    if (this.#wasm === null) fail("the model is closed");
    const bytes = typeof given === "string" ? new TextEncoder().encode(given) : given;
    const room = this.#wasm.gpt2_web_room(bytes.length) || fail("not enough memory");
    this.#bytes(room, bytes.length).set(bytes);
    this.#wasm["gpt2_web_" + name](...run);
    const text = this.#bytes(this.#wasm.gpt2_web_text(), this.#wasm.gpt2_web_size());
    const answer = JSON.parse(new TextDecoder().decode(text));
    if (answer.error) throw new Gpt2Error(answer.error);
    return answer;
  }

  // Runs a request of one of the library's kinds: "generate", "completions", "chat", "responses",
  // "embeddings", "score", "choices", "inspect", "inspect_page", "tokenize" or "detokenize",
  // or answers "describe". Calls onPart for each part of a stream, and
  // onPiece({ index, text, token_id }) for each piece of a text.
  async run(kind, request, options = {}) {
    check(options, kRunOptions, "what follows the request");
    const { onPiece, onPart, onProgress, signal } = options;
    const given = `${String(kind)}\n${jsonOf(request)}`;
    if (kind === "describe") return this.#call("describe");
    let heard = performance.now();
    const { run } = this.#call("begin", given);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const { events, parts, answer } = this.#call("step", "", run);
        for (const event of events) {
          if ("progress" in event) onProgress?.(event.progress);
          else onPiece?.(event);
        }
        for (const part of parts) onPart?.(part);
        if (answer !== undefined) return answer;
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
    this.#wasm = null;  // which has all the memory
  }
}

// Loads a model from the URL of its folder, from the hub ("hub:distilbert/distilgpt2"), from a list
// of File (a folder that was dropped onto a page), or from an object of names and bytes. { dtype:
// "int8" } converts its weights; onProgress({ file, loaded, total }) hears of its files.
export async function load(source, options = {}) {
  return new Model().open(source, options);
}

async function startWorker(end) {
  const fail = ({ message }) => end(`worker.mjs${message ? `: ${message}` : " cannot be started"}`);
  if (isNode) {
    const threads = await node("worker_threads");
    return new threads.Worker(new URL("worker.mjs", import.meta.url)).on("error", fail);
  }
  const worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
  return Object.assign(worker, { onerror: fail });
}

// The same in a worker of its own, so that the page stays responsive: all functions are those of a
// model, and functions given to them are called as if the model were here.
export async function loadInWorker(source, options = {}) {
  const waiting = new Set();  // functions that reject the calls
  let ended;  // why the worker answers no more
  const end = (message) => {
    worker.terminate();
    ended = new Gpt2Error({ message });
    for (const reject of waiting) reject(ended);
  };
  const worker = await startWorker(end);
  const send = async (method, given, { signal, ...functions } = {}) => {
    signal?.throwIfAborted();
    if (ended) throw ended;
    const { port1: ours, port2: theirs } = new MessageChannel();
    let refuse;
    const stop = (reason) => { ours.postMessage("abort"); refuse(reason); };
    const abort = () => stop(signal.reason);
    signal?.addEventListener("abort", abort);
    try {
      return await new Promise((resolve, reject) => {
        refuse = reject;
        waiting.add(refuse);
        ours.onmessage = ({ data: { event, value, error } }) => {
          try {
            if (event) functions[event]?.(value);
            else if (error) refuse(new Gpt2Error(error));
            else resolve(value);
          } catch (thrown) {
            stop(thrown);
          }
        };
        worker.postMessage({ method, given, port: theirs }, [theirs]);
      });
    } finally {
      waiting.delete(refuse);
      signal?.removeEventListener("abort", abort);
      ours.onmessage = null;
      ours.close();
    }
  };
  const model = Object.assign(new Requests(), {
    async load(from, { signal, onProgress, ...rest } = {}) {
      const source = isAddress(from) ? (await urlOf(from)).href : from;
      return send("load", [source, rest], { signal, onProgress });
    },
    async run(kind, request, rest = {}) {
      check(rest, kRunOptions, "what follows the request");
      return send("run", [String(kind), JSON.parse(jsonOf(request))], rest);
    },
    close: () => end("the model is closed"),
  });
  await model.load(source, options).catch((error) => { model.close(); throw error; });
  return model;
}
