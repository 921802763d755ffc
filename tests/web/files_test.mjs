// Tests where models come from, in Node: node files_test.mjs FOLDER, which has gpt2.wasm beside
// gpt2.mjs.
import assert from "node:assert";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, readlink, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.argv[2] + "/");
const gpt2 = await import(new URL("gpt2.mjs", folder));
const { kFiles, kWeights } = await import(new URL("files.mjs", folder));
const root = new URL("../../", import.meta.url);
const bundled = new URL("models/gpt2-stories/", root);
const kCommit = "0123456789abcdef0123456789abcdef01234567";

const files = {};
for (const entry of await readdir(bundled, { withFileTypes: true })) {
  if (entry.isFile()) files[entry.name] = await readFile(new URL(entry.name, bundled));
}
const request = { prompt: "Once", max_new_tokens: 5, temperature: 0 };

async function written(source, options) {
  const model = await gpt2.load(source, options);
  const [{ text }] = await model.generate(request);
  model.close();
  return text;
}
const expected = await written(files);

// Serves what answer(path) returns: bytes, or null for 404. `paths` are those that were asked for.
async function withServer(answer, use) {
  const paths = [];
  // A kept connection would end while the models below compute in the same process.
  const server = createServer({ keepAliveTimeout: 0 }, ({ url }, response) => {
    paths.push(url);
    const bytes = answer(url);
    if (bytes === null) response.statusCode = 404;
    response.end(bytes);
  });
  await new Promise((resolve) => server.listen(0, resolve));
  const stop = () => { server.close(); server.closeAllConnections(); };
  try {
    return await use(`http://127.0.0.1:${server.address().port}`, paths, stop);
  } finally {
    stop();
  }
}

// Has a hub with the bundled model as owner/tiny, and a directory for what is kept.
async function withHub(use, cut = () => false) {
  const etagOf = (bytes) => createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes)
    .digest("hex");
  const siblings = Object.entries({ ...files, "README.md": Buffer.from("x") })
    .map(([name, bytes]) => ({ rfilename: name, size: bytes.length, blobId: etagOf(bytes) }));
  const answer = (url) => {
    if (/^\/api\/models\/owner\/tiny\/revision\/(main|v1)\?/.test(url)) {
      return JSON.stringify({ sha: kCommit, siblings });
    }
    const [, commit, name] = /^\/owner\/tiny\/resolve\/(\w+)\/(.*)$/.exec(url) ?? [];
    const bytes = commit === kCommit && files[name] || null;
    return cut(name) ? bytes.subarray(0, bytes.length >> 1) : bytes;
  };
  const directory = await mkdtemp(join(tmpdir(), "gpt2-hub-"));
  Object.assign(process.env, { HF_HUB_CACHE: directory });
  try {
    await withServer(answer, (hub, paths, stop) => {
      process.env.HF_ENDPOINT = hub;
      return use({ directory, paths, stop });
    });
  } finally {
    await rm(directory, { recursive: true });
  }
}

test("loads a model of the hub, and keeps it", () => withHub(async ({ directory, paths, stop }) => {
  const seen = {};
  const onProgress = ({ file, loaded, total }) => { seen[file] = loaded / total; };
  assert.equal(await written("hub:owner/tiny", { onProgress }), expected);
  assert.equal(seen["model.safetensors"], 1);
  assert.ok(!paths.some((path) => path.includes("README") || path.includes("tokenizer.json")));
  const model = join(directory, "models--owner--tiny");
  assert.equal(await readFile(join(model, "refs/main"), "utf8"), kCommit);
  const link = await readlink(join(model, "snapshots", kCommit, "config.json"));
  assert.match(link, /^\.\.\/\.\.\/blobs\/[0-9a-f]{40}$/);
  paths.length = 0;
  assert.equal(await written("hub:owner/tiny"), expected);
  assert.equal(paths.length, 1);
  stop();
  assert.equal(await written("hub:owner/tiny"), expected);  // offline
  await assert.rejects(gpt2.load("hub:owner/tiny", { cache: false }),
    { name: "Gpt2Error", message: /^hub:owner\/tiny: .* cannot be reached/ });
}));

test("refuses what the hub does not have", () => withHub(async () => {
  const refused = (name, options, message) =>
    assert.rejects(gpt2.load(name, options), { name: "Gpt2Error", message });
  await refused("hub:owner/other", {}, /^hub:owner\/other: .* no such model/);
  await refused("hub:owner/tiny", { revision: "v9" }, /no such model, or not this revision/);
  await refused("hub:owner/tiny/more", {}, /expected hub:OWNER\/NAME/);
  assert.equal(await written("hub:owner/tiny", { revision: "v1" }), expected);
}));

test("keeps nothing that is cut off", () => withHub(async ({ directory }) => {
  await assert.rejects(gpt2.load("hub:owner/tiny"),
    { name: "Gpt2Error", message: /^model.safetensors: cut off: expected \d+ bytes, found \d+$/ });
  const kept = await readdir(join(directory, "models--owner--tiny/blobs"));
  assert.ok(kept.length > 0 && !kept.some((name) => name.endsWith(".incomplete")));
}, (name) => name === "model.safetensors"));

test("goes on where nothing can be kept", () => withHub(async () => {
  process.env.HF_HUB_CACHE = new URL(import.meta.url).pathname;  // a file
  const warned = [];
  const { warn } = console;
  console.warn = (text) => warned.push(text);
  assert.equal(await written("hub:owner/tiny"), expected);
  console.warn = warn;
  assert.match(warned.join("\n"), /^gpt2: model.safetensors is not kept: /m);
}));

test("ends when its signal says so", () => withHub(async ({ directory }) => {
  const controller = new AbortController();
  const onProgress = ({ file }) => { if (file === "model.safetensors") controller.abort(); };
  await assert.rejects(gpt2.load("hub:owner/tiny", { onProgress, signal: controller.signal }),
    { name: "AbortError" });
  const kept = await readdir(join(directory, "models--owner--tiny/blobs"));
  assert.ok(!kept.some((name) => name.endsWith(".incomplete")));
}));

// Returns the files of a model whose weights are in two shards.
function shardsOf({ "model.safetensors": whole, ...others }) {
  const length = Number(whole.readBigUInt64LE());
  const tensors = Object.entries(JSON.parse(whole.subarray(8, 8 + length).toString()))
    .filter(([name]) => name !== "__metadata__");
  const index = { weight_map: {} };
  for (const [i, name] of ["model-00001-of-00002", "model-00002-of-00002"].entries()) {
    const header = {};
    const parts = [];
    let size = 0;
    for (const [tensor, { data_offsets: [begin, end], ...rest }] of
      tensors.filter((_, at) => at % 2 === i)) {
      header[tensor] = { ...rest, data_offsets: [size, size += end - begin] };
      parts.push(whole.subarray(8 + length + begin, 8 + length + end));
      index.weight_map[tensor] = `${name}.safetensors`;
    }
    const head = Buffer.from(JSON.stringify(header));
    const begin = Buffer.alloc(8);
    begin.writeBigUInt64LE(BigInt(head.length));
    others[`${name}.safetensors`] = Buffer.concat([begin, head, ...parts]);
  }
  return { ...others, "model.safetensors.index.json": Buffer.from(JSON.stringify(index)) };
}

test("reads the shards that an index names", async () => {
  const all = shardsOf(files);
  const list = Object.entries(all).map(([name, bytes]) => new File([bytes], name));
  assert.equal(await written(list), expected);
  await withServer((path) => all[path.slice(1)] ?? null, async (url) => {
    assert.equal(await written(url), expected);
    delete all["model-00002-of-00002.safetensors"];
    await assert.rejects(gpt2.load(url), { name: "Gpt2Error", message: /00002-of-00002/ });
    all["model.safetensors.index.json"] = Buffer.from('{"weight_map": {"wte.weight": "../x"}}');
    await assert.rejects(gpt2.load(url), { name: "Gpt2Error", message: /"?\.\.\/x/ });
  });
});

test("knows the loader's files", async () => {
  const namesIn = async (path, pattern) =>
    [...(await readFile(new URL(path, root), "utf8")).match(pattern)[1].matchAll(/"([^"]+)"/g)]
      .map(([, name]) => name);
  const tokenizer = await namesIn("src/formats/model_files.h", /kTokenizerFiles\[\] = {([^}]*)}/);
  assert.deepEqual(kFiles.slice(2).sort(), tokenizer.sort());
  assert.deepEqual(kFiles.slice(0, 2), ["config.json", "generation_config.json"]);
  assert.deepEqual(kWeights, await namesIn("src/formats/model_files.cpp",
    /kWeights\[\] = {([^}]*)}/));
});

test("refuses what it would not read", async () => {
  const refused = (promise, message) => assert.rejects(promise, { name: "Gpt2Error", message });
  const model = await gpt2.load(files);
  await refused(model.generate(), /expected a request.*undefined/);
  await refused(model.generate("Once"), /expected a request.*Once/);
  await refused(model.generate(request, { onPeice() {} }), /onPiece.*onPeice/);
  await refused(model.generate({ ...request, onPiece() {} }), /onPiece.*function/);
  await refused(gpt2.load(files, { dtyp: "int8" }), /dtype.*dtyp/);
  await refused(gpt2.load("http://127.0.0.1:9/", { cache: true }), /cache/);
  const { tokens } = await model.tokenize({ prompt: "Once" });
  const [{ text }] = await model.generate({ ...request, prompt: Int32Array.from(tokens) });
  assert.equal(text, expected);
  model.close();
});
