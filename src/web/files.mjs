// The files of a model, wherever they are: { name, size, stream() } as of a File. stream() gives
// arrays of bytes. The size is a guess, because a server may tell that of what it has compressed.

export class Gpt2Error extends Error {
  constructor({ message, ...rest }) {
    super(message);
    Object.assign(this, rest, { name: "Gpt2Error" });  // type, param, code: as the server answers
  }
}

export const fail = (message, rest) => { throw new Gpt2Error({ message, ...rest }); };

// Waits for a promise, and says what broke.
export const told = (promise, what, signal) => promise.catch((error) => {
  signal?.throwIfAborted();
  fail(`${what}: ${error.cause?.message ?? error.message}`);
});

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

// Returns the file at a path, or a URL of one, in Node. null if there is none.
async function onDisk(path, name) {
  const { createReadStream, promises } = await node("fs");
  const found = await promises.stat(path).catch(() => null);
  const stream = () => createReadStream(path, { highWaterMark: 1 << 20 });
  return found?.isFile() ? { name, size: found.size, stream } : null;
}

// -- What is kept ---------------------------------------------------------------------------------
// A store finds the stream of { url, name, etag, size, commit }, or keeps one: { write(), close(),
// abort() }. For those who are offline, it has the files of the last list that it has all of.

// The browser's, which has the file of an address once. Only secure pages have it.
async function browserStore() {
  const cache = await caches.open("gpt2-cpp");
  const keyOf = ({ url, etag }) => `${url}?etag=${encodeURIComponent(etag)}`;
  return {
    offline: async (url, listed) => listed(await (await cache.match(url)).json()),
    keepList: (url, list) => cache.put(url, new Response(JSON.stringify(list))),
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
  const [fs, { dirname, join, relative }, { homedir }, crypto] =
    await Promise.all(["fs/promises", "path", "os", "crypto"].map(node));
  const { HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, ...others } = process.env;
  const home = HF_HOME || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "huggingface");
  const hub = (HF_HUB_CACHE || HUGGINGFACE_HUB_CACHE || join(home, "hub"))
    .replace(/\$\{?(\w+)\}?/g, (all, name) => others[name] ?? all)
    .replace(/^~(?=[/\\]|$)/, homedir());
  const folder = join(hub, "models--" + model.replace("/", "--"));
  const ref = join(folder, "refs", revision);
  const at = ({ commit, name }) => join(folder, "snapshots", commit, name);
  const blobOf = ({ etag }) => join(folder, "blobs", etag);
  const partOf = (path) => `${path}.${crypto.randomUUID()}.incomplete`;
  async function link(file) {
    const made = partOf(at(file));
    await fs.mkdir(dirname(made), { recursive: true });
    await fs.symlink(relative(dirname(made), blobOf(file)), made);
    await fs.rename(made, at(file));
  }
  return {
    async offline() {
      const commit = (await fs.readFile(ref, "utf8")).trim();
      return (name) => onDisk(at({ commit, name }), name);
    },
    async keepList(url, { commit }) {
      await fs.mkdir(dirname(ref), { recursive: true });
      await fs.writeFile(ref, commit);
    },
    async find(file) {
      const own = await onDisk(at(file));
      if (own?.size === file.size) return own.stream();
      const other = await onDisk(blobOf(file));  // perhaps of another commit
      if (other?.size !== file.size) return null;
      await link(file).catch(() => {});
      return other.stream();
    },
    async keep(file) {
      const blob = blobOf(file);
      const part = partOf(blob);
      const isGit = file.etag.length === 40;  // a small file has git's hash
      const hash = crypto.createHash(isGit ? "sha1" : "sha256");
      if (isGit) hash.update(`blob ${file.size}\0`);
      await fs.mkdir(dirname(blob), { recursive: true });
      const out = await fs.open(part, "w");
      return {
        write: (bytes) => { hash.update(bytes); return out.writeFile(bytes); },
        async close() {
          const found = hash.digest("hex");
          if (found !== file.etag) fail(`damaged: expected the hash ${file.etag}, found ${found}`);
          await out.close();
          await fs.rename(part, blob);
          await link(file);
        },
        abort: () => out.close().finally(() => fs.rm(part)),
      };
    },
  };
}

// Gives the parts of a file, and keeps them on the way. A file that is cut off is not kept.
async function* keeping(parts, file, store) {
  const goOn = (error) => {
    if (error instanceof Gpt2Error) throw error;
    store.lacks = true;
    console.warn(`gpt2: ${file.name} is not kept: ${error.message}`);
  };
  const kept = await store.keep(file).catch(goOn);
  let size = 0;
  let broken;
  try {
    for await (const part of partsOf(parts)) {
      size += part.length;
      if (!broken) await kept?.write(part).catch((error) => { broken = error; });
      yield part;
    }
    if (size !== file.size) fail(`cut off: expected ${file.size} bytes, found ${size}`);
    await (broken ? goOn(broken) : kept?.close().catch(goOn));
  } finally {
    await kept?.abort().catch(() => {});  // has no effect on what is closed
  }
}

// -- Where files come from ------------------------------------------------------------------------

// Returns the file at a URL, or null if there is none. Asks no server for a file with an ETag that
// the store has.
export async function fileAt(url, name, { signal, store, key = url.href, ...listed } = {}) {
  if (url.protocol === "file:") return onDisk(url, name);
  const file = { url: key, name, ...listed };
  let found = file.etag && await store?.find(file);
  if (!found) {
    const answer = await told(fetch(url, { signal }), name, signal);
    const { ok, status, headers } = answer;
    // Some servers answer with their first page instead of 404.
    const isPage = headers.get("Content-Type")?.startsWith("text/html");
    const wrong = ok ? isPage && "an HTML page" : `status ${status}`;
    if (wrong && (file.etag || status === 429 || status >= 500)) {
      fail(`${name}: expected a file, found ${wrong}`);
    }
    if (wrong) return null;
    file.size ??= Number(headers.get("Content-Length"));
    if (!file.etag && headers.has("Content-Length") && !headers.has("Content-Encoding")) {
      file.etag = headers.get("ETag");
      found = file.etag && await store?.find(file);
    }
    if (found) answer.body.cancel();
    else found = store && file.etag ? keeping(answer.body, file, store) : answer.body;
    // stream() refers to the answer, because Node cancels the body of an answer that it collects.
    file.answer = answer;
  }
  if (isWeights(name)) return { ...file, stream: () => found };
  return fileOf(name, await told(bytesOf(found), name, signal));
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
    for (const shard of await told(shardsIn(weights), name)) {
      yield await at(shard) ?? fail(`${name}: ${shard}, which it names, is not there`);
    }
    return;
  }
  fail(`no weights are there: expected ${kWeights.slice(0, -1).join(", ")} or ${kWeights.at(-1)}`);
}

// Reads the hub's list of the files of a model: { commit, files: { NAME: { size, etag } } }.
async function listIn(answer, hub, signal) {
  if ([401, 403, 404].includes(answer.status)) {
    fail(`${hub} has no such model, or not this revision, or it is gated or private`);
  }
  if (!answer.ok) fail(`${hub} answers with status ${answer.status}`);
  const isHash = (text) => typeof text === "string" && /^[0-9a-f]{40,64}$/.test(text);
  try {
    const { sha, siblings } = await answer.json();
    const files = siblings.map(({ rfilename, size, blobId, lfs }) =>
      [rfilename, { size, etag: lfs?.sha256 ?? blobId }]);
    const isRight = ([, { size, etag }]) => isHash(etag) && Number.isSafeInteger(size) && size >= 0;
    if (isHash(sha) && files.every(isRight)) {
      return { commit: sha, files: Object.fromEntries(files) };
    }
  } catch { /* a page, or another object */ }
  signal?.throwIfAborted();
  return fail(`${answer.url}: expected a commit, and the size and hash of each file`);
}

// Without a store, nothing is kept: an unsafe page has none, for one.
const storeOf = (making, what) => making.catch((error) =>
  console.warn(`gpt2: ${what} is not kept: ${error.message}`));

// Gives the files of a model of the hub: "distilbert/distilgpt2". One request lists them.
async function* inHub(model, { revision = "main", cache = true, signal }) {
  if (!/^[\w-][\w.-]*(\/[\w-][\w.-]*)?$/.test(model)) fail("expected hub:OWNER/NAME");
  if (!`${revision}`.split("/").every((part) => /^[^.:\\\0][^:\\\0]*$/.test(part))) {
    fail(`revision: expected a branch, tag or commit, found ${JSON.stringify(revision)}`);
  }
  const hub = (isNode && process.env.HF_ENDPOINT || "https://huggingface.co").replace(/\/+$/, "");
  const store = cache
    ? await storeOf(isNode ? hubStore(model, `${revision}`) : browserStore(), model) : undefined;
  const branch = encodeURIComponent(revision);
  const url = `${hub}/api/models/${model}/revision/${branch}?blobs=true`;
  const addressOf = (version, name) => `${hub}/${model}/resolve/${version}/${name}`;
  const listed = ({ commit, files }) => async (name) => Object.hasOwn(files, name)
    ? fileAt(new URL(addressOf(commit, name)), name,
      { ...files[name], commit, key: addressOf(branch, name), store, signal })
    : null;
  const online = told(fetch(url, { signal }), `${hub} cannot be reached`, signal);
  const list = await online.then((answer) => listIn(answer, hub, signal), () => null);
  const at = list ? listed(list) : await store?.offline(url, listed).catch(() => null);
  yield* gather(at ?? await online);
  if (list && !store?.lacks) await store?.keepList(url, list).catch(() => {});
}

// Gives the files of the address of a folder.
async function* inFolder(address, { cache, signal }) {
  const folder = await urlOf(String(address).endsWith("/") ? address : address + "/");
  if (cache && isNode) fail("cache: in Node, only models of the hub are kept");
  const store = cache ? await storeOf(browserStore(), folder) : undefined;
  yield* gather((name) =>
    fileAt(new URL(encodeURIComponent(name), folder), name, { store, signal }));
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
    try {
      yield* model === undefined ? inFolder(source, options) : inHub(model, options);
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
