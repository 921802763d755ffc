// The files of a model, wherever they are: { name, size, stream() } as of a File. stream() gives
// arrays of bytes. The size is a guess, because a server may tell that of what it has compressed.

export class Gpt2Error extends Error {
  constructor({ message, ...rest }) {
    super(message);
    Object.assign(this, rest, { name: "Gpt2Error" });  // type, param, code: as the server answers
  }
}

export const fail = (message, rest) => { throw new Gpt2Error({ message, ...rest }); };

// A module of Node. Bundlers do not see this import, and leave it.
export const node = (name) => import(/* @vite-ignore */ /* webpackIgnore: true */ "node:" + name);
export const isNode = globalThis.process?.versions?.node !== undefined;

export const isAddress = (source) => typeof source === "string" || source instanceof URL;
export async function urlOf(where) {
  if (/^[a-z]{2,}:/.test(where)) return new URL(where);
  return isNode ? (await node("url")).pathToFileURL(where) : new URL(where, location.href);
}

// Returns what stream() gave as something to iterate over. Safari 26, Chrome 123 and Firefox 109
// cannot iterate over a ReadableStream.
export async function* partsOf(stream) {
  if (!stream.getReader) return yield* stream;
  const reader = stream.getReader();
  try {
    for (let part; !(part = await reader.read()).done;) yield part.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

export async function bytesOf(stream) {
  const parts = [];
  for await (const part of partsOf(stream)) parts.push(part);
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const fileOf = (name, bytes) => ({ name, size: bytes.length, stream: () => [bytes] });

// -- What is kept ---------------------------------------------------------------------------------
// A store finds the stream of { url, name, etag, size }, or keeps one: { write(), close(), abort()
// }. It has the last list of a model's files for those who are offline.

// The browser's, which has the file of an address once. Only secure pages have it.
async function browserStore() {
  const cache = await caches.open("gpt2-cpp");
  const keyOf = ({ url, etag }) => `${url}?etag=${encodeURIComponent(etag)}`;
  return {
    list: async (url) => (await cache.match(url))?.json(),
    keepList: (url, list) => cache.put(url, Response.json(list)),
    async find(file) {
      const answer = await cache.match(keyOf(file));
      return Number(answer?.headers.get("Content-Length")) === file.size ? answer.body : null;
    },
    async keep(file) {
      await cache.delete(file.url, { ignoreSearch: true });
      const { readable, writable } = new TransformStream();
      const writer = writable.getWriter();
      const headers = { "Content-Length": file.size };
      const put = cache.put(keyOf(file), new Response(readable, { headers }));
      put.catch((error) => writer.abort(error));
      return {
        write: (part) => writer.write(part),
        close: async () => { await writer.close(); await put; },
        abort: () => writer.abort(),
      };
    },
  };
}

// HuggingFace's directory, in which gpt2 -m and Python find the model, too.
async function hubStore(model, revision) {
  const [{ createReadStream }, fs, { dirname, join, relative }, { homedir }] =
    await Promise.all(["fs", "fs/promises", "path", "os"].map(node));
  const { HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME } = process.env;
  const home = HF_HOME || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "huggingface");
  const folder = join(HF_HUB_CACHE || join(home, "hub"), "models--" + model.replace("/", "--"));
  const ref = join(folder, "refs", revision);
  let commit;
  const at = (name) => join(folder, "snapshots", commit, name);
  return {
    async list() {
      commit = (await fs.readFile(ref, "utf8")).trim();
      const files = (await fs.readdir(at("."))).map(async (name) =>
        [name, { size: (await fs.stat(at(name))).size, etag: "kept" }]);
      return { commit, files: Object.fromEntries(await Promise.all(files)) };
    },
    async keepList(url, list) { commit = list.commit; },
    async find({ name, size }) {
      const found = await fs.stat(at(name)).catch(() => null);
      return found?.size === size ? createReadStream(at(name), { highWaterMark: 1 << 20 }) : null;
    },
    async keep({ name, etag }) {
      const blob = join(folder, "blobs", etag);
      const part = `${blob}.${process.pid}.incomplete`;
      for (const one of [blob, ref, at(name)]) await fs.mkdir(dirname(one), { recursive: true });
      const out = await fs.open(part, "w");
      return {
        write: (bytes) => out.writeFile(bytes),
        async close() {
          await out.close();
          await fs.rename(part, blob);
          await fs.rm(at(name), { force: true });
          await fs.symlink(relative(dirname(at(name)), blob), at(name));
          await fs.writeFile(ref, commit);
        },
        async abort() {
          await out.close();
          await fs.rm(part);
        },
      };
    },
  };
}

// Gives the parts of a file, and keeps them on the way. A file that is cut off is not kept.
async function* keeping(parts, file, store) {
  const goOn = (error) => {
    console.warn(`gpt2: ${file.name} is not kept: ${error.message}`);
  };
  let kept = await store.keep(file).catch(goOn);
  let size = 0;
  try {
    for await (const part of partsOf(parts)) {
      size += part.length;
      await kept?.write(part).catch((error) => {
        kept.abort().catch(() => {});
        kept = goOn(error);
      });
      yield part;
    }
    if (size !== file.size) fail(`cut off: expected ${file.size} bytes, found ${size}`);
    await kept?.close().catch(goOn);
    kept = undefined;
  } finally {
    await kept?.abort().catch(() => {});
  }
}

// -- Where files come from ------------------------------------------------------------------------

// Returns the file at a URL, or null if there is none. Asks no server for a file with an ETag that
// the store has.
export async function fileAt(url, name, { signal, store, key = url.href, etag, size } = {}) {
  if (url.protocol === "file:") {
    const { createReadStream, promises } = await node("fs");
    const found = await promises.stat(url).catch(() => null);
    const stream = () => createReadStream(url, { highWaterMark: 1 << 20 });
    return found?.isFile() ? { name, size: found.size, stream } : null;
  }
  const file = { url: key, name, etag, size };
  let found = etag && await store?.find(file);
  if (!found) {
    const answer = await fetch(url, { signal }).catch((error) => {
      signal?.throwIfAborted();
      fail(`${name}: ${error.cause?.message ?? error.message}`);
    });
    const { ok, status, headers } = answer;
    if (status === 429 || status >= 500) fail(`${name}: the server's status is ${status}`);
    // Some servers answer with their first page instead of 404.
    if (!ok || headers.get("Content-Type")?.startsWith("text/html")) return null;
    file.size ??= Number(headers.get("Content-Length"));
    file.etag ??= headers.get("Content-Encoding") ? null : headers.get("ETag");
    found = file.etag && !etag && await store?.find(file);
    if (found) answer.body.cancel();
    else found = store && file.etag ? keeping(answer.body, file, store) : answer.body;
    // stream() refers to the answer, because Node cancels the body of an answer that it collects.
    file.answer = answer;
  }
  if (isWeights(name)) return { ...file, stream: () => found };
  return fileOf(name, await bytesOf(found));
}

// The loader's order, and its files beside the weights.
export const kWeights = ["model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
  "pytorch_model.bin.index.json", "ckpt.pt", "model.fp16.safetensors"];
export const kFiles = ["config.json", "generation_config.json", "tokenizer.json",
  "aitextgen.tokenizer.json", "vocab.json", "vocab.txt", "merges.txt", "aitextgen-vocab.json",
  "aitextgen-merges.txt", "spiece.model", "meta.pkl", "tokenizer_config.json",
  "special_tokens_map.json", "added_tokens.json"];
const isWeights = (name) => /\.(safetensors|bin|pt)$/.test(name);

// Returns the names of the files that an index of weights names.
async function shardsIn(index) {
  const text = new TextDecoder().decode(await bytesOf(index.stream()));
  const names = [...new Set(Object.values(JSON.parse(text).weight_map))];
  const wrong = names.find((name) => !/^[\w-][\w.-]*$/.test(name));
  return wrong === undefined ? names : fail(`${wrong}: expected the name of a file`);
}

// Gives the files of a model: at(name) returns one, or null. The weights come last and one by one,
// because a server waits only some seconds for somebody to read what it sends.
async function* gather(at) {
  yield* (await Promise.all(kFiles.map(at))).filter((file) => file);
  for (const name of kWeights) {
    const weights = await at(name);
    if (!weights) continue;
    yield weights;
    if (!name.endsWith(".json")) return;
    const shards = await shardsIn(weights).catch((error) => fail(`${name}: ${error.message}`));
    for (const shard of shards) {
      yield await at(shard) ?? fail(`${name}: ${shard}, which it names, is not there`);
    }
    return;
  }
  fail(`no weights are there: expected ${kWeights.slice(0, -1).join(", ")} or ${kWeights.at(-1)}`);
}

// Asks the hub for the files of a model: { commit, files: { NAME: { size, etag } } }.
async function listOf(hub, url, signal) {
  const answer = await fetch(url, { signal }).catch((error) => {
    signal?.throwIfAborted();
    fail(`${hub} cannot be reached: ${error.cause?.message ?? error.message}`, { code: "offline" });
  });
  if ([401, 403, 404].includes(answer.status)) {
    fail(`${hub} has no such model, or not this revision, or it is gated or private`);
  }
  if (!answer.ok) fail(`${hub} answers with status ${answer.status}`);
  const { sha, siblings } = await answer.json();
  const files = siblings.map(({ rfilename, size, blobId, lfs }) =>
    [rfilename, { size, etag: lfs?.sha256 ?? blobId }]);
  const isHash = (text) => /^[0-9a-f]{40,64}$/.test(text);
  if (!isHash(sha) || !files.every(([, { etag }]) => isHash(etag))) fail(`${url}: expected hashes`);
  return { commit: sha, files: Object.fromEntries(files) };
}

// Returns at() for a model of the hub: "distilbert/distilgpt2". One request lists its files.
async function inHub(model, { revision = "main", cache = true, signal }) {
  if (!/^[\w-][\w.-]*(\/[\w-][\w.-]*)?$/.test(model)) fail("expected hub:OWNER/NAME");
  const hub = (isNode && process.env.HF_ENDPOINT || "https://huggingface.co").replace(/\/+$/, "");
  const store = cache ? await (isNode ? hubStore(model, revision) : browserStore())
    .catch((error) => console.warn(`gpt2: ${model} is not kept: ${error.message}`)) : undefined;
  const branch = encodeURIComponent(revision);
  const url = `${hub}/api/models/${model}/revision/${branch}?blobs=true`;
  let list;
  try {
    list = await listOf(hub, url, signal);
    await store?.keepList(url, list).catch(() => {});
  } catch (error) {
    list = error.code === "offline" && await store?.list(url).catch(() => null);
    if (!list) throw error;
  }
  const addressOf = (commit, name) => `${hub}/${model}/resolve/${commit}/${name}`;
  return async (name) => Object.hasOwn(list.files, name)
    ? fileAt(new URL(addressOf(list.commit, name)), name,
      { ...list.files[name], key: addressOf(branch, name), store, signal })
    : null;
}

// Returns at() for the URL of a folder.
async function inFolder(folder, { cache, signal }) {
  if (cache && isNode) fail("cache: in Node, only models of the hub are kept");
  const store = cache && await browserStore();
  return (name) => fileAt(new URL(encodeURIComponent(name), folder), name, { store, signal });
}

const depthOf = (file) => (file.webkitRelativePath ?? "").split("/").length;

// Returns at() for a list of File.
function inList(list) {
  list.sort((a, b) => depthOf(b) - depthOf(a));  // files of inner folders give way
  const files = new Map(list.map((file) => [file.name, file]));
  return async (name) => files.get(name) ?? null;
}

const refuse = (found) => fail("the source of a model: expected the URL of a folder, "
  + `hub:OWNER/NAME, a list of File, or an object of names and Uint8Array, found ${found}`);

// Gives the files for the URL of a folder, a model of the hub, a list of File, or an object of
// names and bytes.
export async function* filesOf(source, options) {
  if (isAddress(source)) {
    const [, model] = /^hub:(.*)/.exec(source) ?? [];
    const folder = model ?? await urlOf(String(source).endsWith("/") ? source : source + "/");
    try {
      yield* gather(await (model === undefined ? inFolder : inHub)(folder, options));
    } catch (error) {
      if (!(error instanceof Gpt2Error)) throw error;  // the signal's
      fail(`${source}: ${error.message}`);
    }
    return;
  }
  if (typeof source !== "object" || source === null) refuse(source);
  if (typeof source[Symbol.iterator] === "function") {
    const list = [...source];
    if (!list.every((file) => file?.stream)) refuse("another list");
    return yield* gather(inList(list));
  }
  for (const [name, bytes] of Object.entries(source)) {
    yield bytes instanceof Uint8Array ? fileOf(name, bytes) : refuse(`${typeof bytes} for ${name}`);
  }
}
