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

// Returns what work() gives, and what is written to the console meanwhile.
async function withWarnings(work) {
  const warned = [];
  const { warn } = console;
  console.warn = (text) => warned.push(text);
  try {
    return [await work(), warned.join("\n")];
  } finally {
    console.warn = warn;
  }
}

// Has a hub with the bundled model as owner/tiny, and a directory for what is kept. The hub gives
// what give(name, bytes) returns: bytes, or null for 404.
async function withHub(use, give = (name, bytes) => bytes) {
  const etagOf = (bytes) => createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes)
    .digest("hex");
  const siblings = Object.entries({ ...files, "README.md": Buffer.from("x") })
    .map(([name, bytes]) => ({ rfilename: name, size: bytes.length, blobId: etagOf(bytes) }));
  const list = { sha: kCommit, siblings };
  const answer = (url) => {
    if (/^\/api\/models\/owner\/tiny\/revision\/(main|v1)\?/.test(url)) {
      return JSON.stringify(list);
    }
    const [, commit, name] = /^\/owner\/tiny\/resolve\/(\w+)\/(.*)$/.exec(url) ?? [];
    return commit === list.sha && files[name] ? give(name, files[name]) : null;
  };
  const directory = await mkdtemp(join(tmpdir(), "gpt2-hub-"));
  Object.assign(process.env, { HF_HUB_CACHE: directory });
  try {
    await withServer(answer, (hub, paths, stop) => {
      process.env.HF_ENDPOINT = hub;
      return use({ directory, paths, stop, list, model: join(directory, "models--owner--tiny") });
    });
  } finally {
    await rm(directory, { recursive: true });
  }
}

test("loads a model of the hub, and keeps it", () => withHub(async ({ model, paths, stop }) => {
  const seen = {};
  const onProgress = ({ file, loaded, total }) => { seen[file] = loaded / total; };
  assert.equal(await written("hub:owner/tiny", { onProgress }), expected);
  assert.equal(seen["model.safetensors"], 1);
  assert.ok(!paths.some((path) => path.includes("README") || path.includes("tokenizer.json")));
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
  for (const revision of ["../../../v1", "..\\v1", "", "v1/"]) {
    await refused("hub:owner/tiny", { revision }, /revision: expected/);
  }
  assert.equal(await written("hub:owner/tiny", { revision: "v1" }), expected);
}));

test("refuses the answers of what is no hub", () => withHub(async ({ list }) => {
  const { siblings } = list;
  const [first, ...rest] = siblings;
  const wrong = [{ siblings: undefined }, { siblings: [null] }, { sha: "../x" }, { sha: [kCommit] },
    ...[-1, NaN, "5", undefined].map((size) => ({ siblings: [{ ...first, size }, ...rest] })),
    { siblings: [{ ...first, blobId: "../x" }, ...rest] }];
  for (const one of wrong) {
    Object.assign(list, { sha: kCommit, siblings }, one);
    await assert.rejects(gpt2.load("hub:owner/tiny"),
      { name: "Gpt2Error", message: /^hub:owner\/tiny: .*expected a commit/ });
  }
}));

test("says that the hub does not give what it lists", () => withHub(() => assert.rejects(
  gpt2.load("hub:owner/tiny"), { name: "Gpt2Error", message: /model.safetensors: .* 404/ },
), (name, bytes) => name === "model.safetensors" ? null : bytes));

test("keeps a file that two load at once", () => withHub(async ({ model }) => {
  const [texts, warned] = await withWarnings(() =>
    Promise.all([1, 2].map(() => written("hub:owner/tiny"))));
  assert.deepEqual(texts, [expected, expected]);
  assert.equal(warned, "");
  const kept = await readFile(join(model, "snapshots", kCommit, "model.safetensors"));
  assert.ok(kept.equals(files["model.safetensors"]));
  assert.ok((await readdir(join(model, "blobs"))).every((name) => /^\w+$/.test(name)));
}));

test("takes from a new commit only what is new", () => withHub(async ({ list, model, paths }) => {
  await written("hub:owner/tiny");
  list.sha = kCommit.replace("0", "f");
  list.siblings.find(({ rfilename }) => rfilename === "config.json").blobId = kCommit;
  await assert.rejects(gpt2.load("hub:owner/tiny"), { message: /config.json: damaged/ });
  assert.equal(await readFile(join(model, "refs/main"), "utf8"), kCommit);  // is whole
  list.siblings = list.siblings.filter(({ rfilename }) => rfilename !== "config.json");
  paths.length = 0;
  await gpt2.load("hub:owner/tiny", { tokenizer: false }).catch(() => {});
  assert.equal(paths.length, 1);
  assert.equal(await readFile(join(model, "refs/main"), "utf8"), list.sha);
}));

test("keeps nothing that is cut off", () => withHub(async ({ directory }) => {
  await assert.rejects(gpt2.load("hub:owner/tiny"),
    { name: "Gpt2Error", message: /^model.safetensors: cut off: expected \d+ bytes, found \d+$/ });
  const kept = await readdir(join(directory, "models--owner--tiny/blobs"));
  assert.ok(kept.length > 0 && !kept.some((name) => name.endsWith(".incomplete")));
}, (name, bytes) => bytes.subarray(0, bytes.length >> (name === "model.safetensors"))));

test("keeps nothing that is damaged", () => withHub(async ({ model }) => {
  await assert.rejects(gpt2.load("hub:owner/tiny"),
    { name: "Gpt2Error", message: /^model.safetensors: damaged: expected the hash \w{40}, found/ });
  assert.deepEqual((await readdir(model)).sort(), ["blobs", "snapshots"]);
}, (name, bytes) => name === "model.safetensors" ? Buffer.alloc(bytes.length) : bytes));

test("keeps files where the environment says", () => withHub(async ({ directory }) => {
  delete process.env.HF_HUB_CACHE;
  const { HOME } = process.env;
  try {
    const own = { HUGGINGFACE_HUB_CACHE: "~/${PLACE}", PLACE: "x" };
    Object.assign(process.env, { HOME: directory, ...own });
    await written("hub:owner/tiny");
    assert.deepEqual(await readdir(join(directory, "x")), ["models--owner--tiny"]);
  } finally {
    process.env.HOME = HOME;
    delete process.env.HUGGINGFACE_HUB_CACHE;
  }
}));

test("goes on where nothing can be kept", () => withHub(async () => {
  process.env.HF_HUB_CACHE = new URL(import.meta.url).pathname;  // a file
  const [text, warned] = await withWarnings(() => written("hub:owner/tiny"));
  assert.equal(text, expected);
  assert.match(warned, /^gpt2: model.safetensors is not kept: /m);
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
  const circle = { prompt: [] };
  circle.prompt.push(circle);
  await refused(model.generate(circle), /^prompt: expected a value of JSON, found [^\n]*$/);
  await refused(model.generate({ prompt: new DataView(new ArrayBuffer(4)) }), /^prompt: expected/);
  await refused(gpt2.load(files, { dtyp: "int8" }), /dtype.*dtyp/);
  await refused(gpt2.load("http://127.0.0.1:9/", { cache: true }), /cache/);
  const { tokens } = await model.tokenize({ prompt: "Once" });
  const [{ text }] = await model.generate({ ...request, prompt: Int32Array.from(tokens) });
  assert.equal(text, expected);
  model.close();
});
