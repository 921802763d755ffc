// What a browser does with the site and its modules, for engine_test.py: each answer is posted to
// its server, so that no engine needs a driver.
import { casesOf, differences } from "./bits.mjs";

const root = new URL("/", location);
const [site, ...modules] = new URLSearchParams(location.search).get("folders").split(",");
const moduleIn = (folder) => import(`/${folder}/gpt2.mjs`);
const post = (answer) => fetch("/answer", { method: "POST", body: JSON.stringify(answer) });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function tell(name, work) {
  await post(await work().then((value) => ({ name, value }),
    (error) => ({ name, error: `${error.name}: ${error.message}\n${error.stack}` })));
}

async function until(find) {
  for (;;) {
    const found = find();
    if (found) return found;
    await pause(50);
  }
}

// Returns the answers with other bits, or why there is none: an engine cannot take every module.
async function bitsOf(folder) {
  const gpt2 = await moduleIn(folder);
  const read = async (path) => (await fetch(new URL(path, root))).text();
  const wrong = [];
  for (const one of await casesOf(root, read)) {
    try {
      wrong.push(...await differences(gpt2, one));
    } catch (error) {
      return error.message;
    }
  }
  return wrong;
}

// Writes with a model from an address, from files and in a worker.
async function sources() {
  const { load, loadInWorker } = await moduleIn(site);
  const address = `/${site}/models/gpt2-stories`;
  const names = ["config.json", "vocab.json", "merges.txt", "model.safetensors"];
  const files = await Promise.all(names.map(async (name) =>
    new File([await (await fetch(`${address}/${name}`)).blob()], name)));
  const texts = [];
  for (const [make, source] of [[load, address], [loadInWorker, files]]) {
    const seen = new Set();
    const onProgress = ({ file, loaded, total }) => loaded === total && seen.add(file);
    const model = await make(source, { onProgress });
    let pieces = "";
    const onPiece = (piece) => { pieces += piece.text; };
    const request = { prompt: "Once", max_new_tokens: 5, temperature: 0 };
    const [{ text }] = await model.generate(request, { onPiece });
    texts.push(pieces === text && names.every((name) => seen.has(name)) ? text : "no text");
    model.close();
  }
  return texts;
}

async function worker() {
  const { loadInWorker } = await moduleIn(site);
  const address = `/${site}/models/gpt2-stories`;
  const model = await loadInWorker(address);
  const write = (options, rest) => model.generate({ prompt: "Once", ...options }, rest);
  const controller = new AbortController();
  const rest = { signal: controller.signal, onPiece: () => controller.abort("enough") };
  const aborted = await write({ max_new_tokens: 200 }, rest).catch((reason) => reason);
  const refused = await write({ top_p: NaN }).catch((error) => error.param);
  const failed = await model.load({}).catch((error) => error.name);
  const early = new AbortController();
  const stopped = await model.load(address,
    { signal: early.signal, onProgress: () => early.abort("no") }).catch((reason) => reason);
  const pending = write().catch((error) => error.message);
  model.close();
  return [aborted, refused, failed, stopped, await pending];
}

// Keeps a model in the cache, and takes it from there. Without a size, it is not kept.
async function cache() {
  const { load } = await moduleIn(site);
  const texts = [];
  for (const how of ["etag/unsized", "etag", "etag"]) {
    const model = await load(`/${how}/${site}/models/gpt2-stories`, { cache: true });
    const [{ text }] = await model.generate({ prompt: "Once", max_new_tokens: 5, temperature: 0 });
    texts.push(text);
    model.close();
  }
  const kept = await (await caches.open("gpt2-cpp")).keys();
  return [...texts, kept.map(({ url }) => url.replace(/^.*\/(.*)\?.*$/, "$1")).sort()];
}

// Writes README's story on the site, and inspects it.
async function story() {
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.src = `/${site}/`;
  const byId = (id) => frame.contentDocument.getElementById(id);
  await until(() => byId("model")?.options.length);
  byId("prompt").value = "Once upon a time";
  byId("form").requestSubmit();
  await until(() => byId("error").textContent
    || byId("command").textContent && byId("stop").disabled);
  const text = [...frame.contentDocument.querySelectorAll(".text")].map((one) => one.textContent);
  byId("inspect").click();
  const { href } = await until(() => byId("error").textContent || byId("inspection").href
    && byId("inspection"));
  const page = await (await fetch(href)).text();
  return [byId("error").textContent, text.join(""), page.includes("LayerNorm")];
}

await tell("sources", sources);
await tell("worker", worker);
await tell("cache", cache);
await tell("story", story);
for (const folder of modules) await tell(folder, () => bitsOf(folder));
await post({ name: "end", value: navigator.userAgent });
