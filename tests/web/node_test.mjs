// Tests gpt2.wasm in Node: node node_test.mjs FOLDER, which has it beside gpt2.mjs.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import { getEventListeners } from "node:events";
import { readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { casesOf, differences, shapesOf } from "./bits.mjs";

const address = pathToFileURL(process.argv[2] + "/gpt2.mjs");
const gpt2 = await import(address);
const root = new URL("../../", import.meta.url);
const bundled = new URL("models/gpt2-stories/", root);
const oracle = new URL("tests/data/oracle/", root);

async function filesIn(folder) {
  const names = (await readdir(folder, { withFileTypes: true })).filter((one) => one.isFile());
  const pairs = names.map(async ({ name }) => [name, await readFile(new URL(name, folder))]);
  return Object.fromEntries(await Promise.all(pairs));
}

async function withModel(source, options, use) {
  const model = await gpt2.load(source, options);
  try {
    return await use(model);
  } finally {
    model.close();
  }
}

// Fails unless a promise keeps, or breaks with an error of one line.
const survives = (promise, what) => promise.catch((error) => {
  assert.equal(error.name, "Gpt2Error", `${what}: ${error.stack}`);
  assert.match(error.message, /^[^\n]+$/, what);
});

test("writes README's story", () => withModel(bundled, {}, async (model) => {
  const readme = await readFile(new URL("README.md", root), "utf8");
  const story = readme.match(/```text\n([^]*?)\n```/)[1];
  let streamed = "";
  const [{ text }] = await model.generate({ prompt: "Once upon a time" },
    { onPiece: (piece) => { streamed += piece.text; } });
  assert.equal(("Once upon a time" + text).replaceAll("\n", " "), story.replaceAll("\n", " "));
  assert.equal(streamed, text);
}));

test("computes the bits of the command", async () => {
  for (const one of await casesOf(root, (path) => readFile(new URL(path, root), "utf8"))) {
    assert.deepEqual(await differences(gpt2, one), []);
  }
});

test("answers every kind of request", () => withModel(bundled, {}, async (model) => {
  const { tokens } = await model.tokenize({ prompt: "Once upon a time" });
  assert.deepEqual(tokens, [443, 452, 258, 401]);
  assert.equal((await model.detokenize({ tokens })).prompt, "Once upon a time");
  assert.ok((await model.describe()).options.some(({ name }) => name === "top_p"));
  assert.equal((await model.embed({ input: "Once" })).data.length, 1);
  assert.ok((await model.score({ texts: ["Once upon a time"] })));
  assert.ok((await model.inspect({ prompt: "Once upon a time" })));
  assert.match(await model.run("inspect_page", { prompt: "Once" }), /^<!DOCTYPE html>/i);
  const parts = [];
  await model.run("completions", { prompt: "Once", max_tokens: 3, stream: true },
    { onPart: (part) => parts.push(part) });
  assert.ok(parts.length >= 3 && parts.every((part) => part.object === "text_completion"));
}));

test("answers several requests at once", () => withModel(bundled, {}, async (model) => {
  const prompts = ["Once", "The cat", "One day, a girl"];
  const write = async (prompt) => (await model.generate({ prompt, max_new_tokens: 12 }))[0].text;
  const together = await Promise.all(prompts.map(write));
  for (const [i, prompt] of prompts.entries()) assert.equal(together[i], await write(prompt));
}));

test("refuses what is wrong", () => withModel(bundled, {}, async (model) => {
  const refused = async (promise, ...facts) => {
    const error = await promise.then(() => assert.fail("nothing was refused"), (error) => error);
    assert.equal(error.name, "Gpt2Error", error.stack);
    for (const fact of facts) assert.ok(error.message.includes(fact), error.message);
  };
  await refused(model.generate({ prompt: "x", top_p: 2 }), "top_p", "2");
  await refused(model.generate({ prompt: "x", tpo_p: 1 }), "tpo_p");
  await refused(model.generate([]), "request");
  await refused(model.run("nothing", {}), "nothing");
  await refused(model.run(-1, {}), "-1");
  const closed = await gpt2.load(bundled);
  closed.close();
  await refused(closed.generate({ prompt: "x" }), "closed");
  await refused(gpt2.load("no-such-folder"), "no-such-folder");
  await refused(gpt2.load(bundled, { dtype: "f8" }), "dtype");
  await refused(gpt2.load(bundled, { dtype: 8 }), "dtype");
  for (const number of [NaN, Infinity]) {
    await refused(model.generate({ prompt: "x", top_p: number }), "top_p", `${number}`);
    await refused(model.tokenize({ prompt: [1, number] }), "prompt", `${number}`);
  }
  const sources = { undefined, null: null, 5: 5, list: ["config.json"],
    string: { "config.json": "{}" } };
  for (const [found, source] of Object.entries(sources)) {
    await refused(gpt2.load(source), "source", "URL", found);
  }
}));

test("loads from a server", async () => {
  const files = await filesIn(bundled);
  files["generation_config.json"] = Buffer.from('{"eos_token_id": 13}');  // a text ends earlier
  // A kept connection would end while the models below compute in the same process.
  const server = createServer({ keepAliveTimeout: 0 }, ({ url }, answer) => {
    const [, how, name] = url.split("/");
    globalThis.gc?.();
    if (!files[name]) {  // is answered as many sites do
      answer.setHeader("Content-Type", "text/html");
      return answer.end("<!doctype html>");
    }
    const bytes = how === "gzip" ? gzipSync(files[name]) : files[name];
    if (how === "gzip") answer.setHeader("Content-Encoding", "gzip");
    if (how !== "chunked") answer.setHeader("Content-Length", bytes.length);
    if (how !== "cut" || name !== "model.safetensors") return answer.end(bytes);
    answer.write(bytes.subarray(0, bytes.length >> 1), () => answer.destroy());
  });
  await new Promise((resolve) => server.listen(0, resolve));
  const write = (model) => model.generate({ prompt: "Once", max_new_tokens: 60, temperature: 0 });
  const url = `http://127.0.0.1:${server.address().port}/`;
  const [expected] = await withModel(files, {}, write);
  const broken = { name: "Gpt2Error", message: /^model.safetensors: [^\n]+$/ };
  const { prototype } = ReadableStream;
  const iterator = Object.getOwnPropertyDescriptor(prototype, Symbol.asyncIterator);
  for (const likeSafari of [false, true]) {  // its streams cannot be iterated
    if (likeSafari) delete prototype[Symbol.asyncIterator];
    for (const how of ["whole", "whole", "whole", "gzip", "chunked"]) {
      const [{ token_ids }] = await withModel(url + how, {}, write);
      assert.deepEqual(token_ids, expected.token_ids, how);
    }
    await assert.rejects(gpt2.load(url + "cut"), broken);
    const list = Object.entries(files).map(([name, bytes]) => new File([bytes], name));
    const [{ token_ids }] = await withModel(list, {}, write);
    assert.deepEqual(token_ids, expected.token_ids);
  }
  Object.defineProperty(prototype, Symbol.asyncIterator, iterator);
  delete files["model.safetensors"];
  await assert.rejects(gpt2.load(url + "whole"), { name: "Gpt2Error" });
  server.close();
  server.closeAllConnections();
});

test("ends when its signal says so", () => withModel(bundled, {}, async (model) => {
  const controller = new AbortController();
  let pieces = 0;
  const onPiece = () => { if (++pieces === 3) controller.abort(); };
  await assert.rejects(model.generate({ prompt: "Once" }, { onPiece, signal: controller.signal }),
    { name: "AbortError" });
  assert.ok(pieces < 6);
  assert.ok((await model.generate({ prompt: "Once", max_new_tokens: 2 }))[0].text);
}));

test("ends in a worker when a callback or a signal says so", async () => {
  const model = await gpt2.loadInWorker(bundled);
  try {
    const thrown = new RangeError("on purpose");
    let pieces = 0;
    const onPiece = () => { if (++pieces === 3) throw thrown; };
    const request = { prompt: "Once", max_new_tokens: 200, ignore_eos: true };
    await assert.rejects(model.generate(request, { onPiece }), (error) => error === thrown);
    assert.equal(pieces, 3);
    const { signal } = new AbortController();
    for (let i = 0; i < 3; ++i) await model.generate({ ...request, max_new_tokens: 1 }, { signal });
    await model.generate({ prompt: "x", top_p: 2 }, { signal }).catch(() => {});
    assert.equal(getEventListeners(signal, "abort").length, 0);
    const controller = new AbortController();
    await assert.rejects(model.generate(request, {
      onPiece: () => controller.abort(), signal: controller.signal,
    }), { name: "AbortError" });
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
    await assert.rejects(model.run(Symbol("x"), request), { name: "Gpt2Error" });
    await assert.rejects(model.generate(request, { signal: 5 }), { name: "TypeError" });
    await assert.rejects(model.load({ send() {} }), { name: "DataCloneError" });
    assert.equal((await model.generate({ prompt: "Once", max_new_tokens: 2 })).length, 1);
  } finally {
    model.close();
  }
});

// The file of GPT-2 124M in f32, whose numbers are those of `numbers`, over and over.
function gpt2File(numbers) {
  const shapes = shapesOf({ vocab_size: 50257, n_positions: 1024, n_embd: 768, n_layer: 12,
    n_inner: 3072 });
  let end = 0;
  const header = Buffer.from(JSON.stringify(Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      const begin = end;
      end += 4 * shape.reduce((a, b) => a * b);
      return [name, { dtype: "F32", shape, data_offsets: [begin, end] }];
    }))));
  const length = Buffer.alloc(8);
  length.writeUInt32LE(header.length);
  async function* stream() {
    yield Buffer.concat([length, header]);
    for (let at = 0; at < end; at += numbers.length) yield numbers.subarray(0, end - at);
  }
  return { name: "model.safetensors", size: 8 + header.length + end, stream };
}

test("quantizes GPT-2 124M in 220 MiB", async () => {
  const numbers = Float32Array.from({ length: 1 << 18 }, (_, i) => Math.sin(i * i) / 8);
  const config = new File(['{"model_type": "gpt2"}'], "config.json");
  const { instantiate } = WebAssembly;
  let memory;
  WebAssembly.instantiate = async (...given) => {
    const instance = await instantiate(...given);
    memory = instance.exports.memory;
    return instance;
  };
  try {
    const source = [config, gpt2File(Buffer.from(numbers.buffer))];
    await withModel(source, { dtype: "int8", tokenizer: false }, () => {
      assert.ok(memory.buffer.byteLength <= 220 * 2 ** 20, `${memory.buffer.byteLength} bytes`);
    });
  } finally {
    WebAssembly.instantiate = instantiate;
  }
});

test("survives damaged files", async () => {
  const config = await readFile(new URL("cases/tiny_default/config.json", oracle));
  const inVerdicts = await filesIn(new URL("safetensors_verdicts/", oracle));
  for (const [name, bytes] of Object.entries(inVerdicts)) {
    const files = { "config.json": config, "model.safetensors": bytes };
    await survives(withModel(files, { tokenizer: false }, () => {}), name);
  }
  for (const group of ["loading", "adapters", "cases"]) {
    for (const name of await readdir(new URL(group, oracle))) {
      const files = await filesIn(new URL(`${group}/${name}/`, oracle));
      await survives(withModel(files, { tokenizer: false }, (model) =>
        model.generate({ prompt: [1, 2], max_new_tokens: 2 })), name);
    }
  }
  const files = await filesIn(bundled);
  for (const [name, bytes] of Object.entries(files)) {
    for (const share of [0, 0.3, 0.99]) {
      const cut = bytes.subarray(0, Math.floor(bytes.length * share));
      await survives(withModel({ ...files, [name]: cut }, {}, () => {}), name);
    }
  }
});

const kRelaxed = "--experimental-wasm-relaxed-simd";  // of Node 20

// Returns the name of the module that another Node takes, or its complaint about the module.
function moduleWith(flag) {
  const script = `import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { createReadStream } = fs;
    fs.createReadStream = (url, options) => {
      console.log(String(url).split("/").at(-1));
      return createReadStream(url, options);
    };
    syncBuiltinESMExports();
    const { load } = await import("${address}");
    await load({}).catch(({ message }) => console.log(message));`;
  const flags = [...process.execArgv.filter((one) => one === kRelaxed), flag];
  const more = ["--input-type=module", "--eval", script];
  return execFileSync(process.execPath, [...flags, ...more], { encoding: "utf8" });
}

const isX64 = { skip: process.arch !== "x64" };
test("takes relaxed SIMD where it rounds once", isX64, async () => {
  const major = parseInt(process.versions.node);
  const hasRelaxed = major >= 22 || process.execArgv.includes(kRelaxed);
  assert.match(moduleWith("--enable-fma3"), hasRelaxed ? /^gpt2_relaxed.wasm\n/ : /^gpt2.wasm\n/);
  assert.match(moduleWith("--no-enable-fma3"), /^gpt2.wasm\n/);  // rounds twice
});

test("names what an engine lacks", isX64, () => {
  assert.match(moduleWith("--no-enable-sse4-1"), /^gpt2.wasm\ngpt2.wasm: .*Safari 16.4.*SIMD/);
});

test("frees its memory", async () => {
  const files = await filesIn(bundled);
  for (let i = 0; i < 200; ++i) await withModel({ ...files }, {}, () => {});
  globalThis.gc?.();
  const { rss } = process.memoryUsage();
  assert.ok(rss < 1e9, `${rss} bytes`);
});
