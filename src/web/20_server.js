// Requests to the model, which a worker runs. This file takes the place of the one with this name in
// src/serve/page, in the page that needs no server.

let opening;  // the model, when it has been loaded

// Returns the model: the bundled one, unless there is one. After a failure, the next call tries
// again.
function opened(source = "models/gpt2-stories", name = "gpt2-stories") {
  opening ??= import("./gpt2.mjs").then(({ loadInWorker }) => loadInWorker(source, { name }));
  opening.catch(() => { opening = undefined; });
  return opening;
}

function refuse(error) {
  throw error.name === "AbortError" ? error : new Refusal(sentence(error.message));
}

// Answers as the server does.
async function ask(path, body = "{}", signal, onPart) {
  const kinds = { tokenize: "tokenize", "v1/completions": "completions", inspect: "inspect_page" };
  const run = (model) => model.run(kinds[path] ?? "describe", JSON.parse(body), { signal, onPart });
  const answer = await opened().then(run).catch(refuse);
  if (path in kinds) return answer;
  const { name, n_positions, options } = answer;
  const command = ["gpt2", "generate", "-m", name];
  return { options, data: [{ id: name, max_model_len: n_positions, command }] };
}

const askJson = ask;
const askPage = async (path, body) => new Blob([await ask(path, body)], { type: "text/html" });

// Calls take(part) for each part of a stream, or with the answer if it is no stream.
async function askStream(path, body, signal, take) {
  const answer = await ask(path, body, signal, take);
  if (!JSON.parse(body).stream) take(answer);
}

// A folder of a model that is dropped onto the page takes the place of the model.
async function openFolder(folder) {
  if (!folder?.isDirectory) {
    throw new Refusal("Drop the folder of a model: config.json, weights, tokenizer.");
  }
  const reader = folder.createReader();
  const entries = [];
  for (let some; some?.length !== 0; entries.push(...some)) {  // at most 100 at a time
    some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
  }
  const files = entries.filter((entry) => entry.isFile)
    .map((entry) => new Promise((resolve, reject) => entry.file(resolve, reject)));
  say(`Reading ${folder.name}\u2026`);
  const source = await Promise.all(files);
  const model = await opening?.catch(() => null);
  await (model ? model.load(source, { name: folder.name }) : opened(source, folder.name));
  history.replaceState(null, "", location.pathname);  // a link is for the model before
  start();
}
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  openFolder(event.dataTransfer.items[0]?.webkitGetAsEntry()).catch(refuse).catch(showError)
    .finally(() => say(""));
});
