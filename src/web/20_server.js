// Requests to the model, which a worker runs. This file takes the place of the one with this name
// in src/serve/page, in the page that needs no server.

let opening;  // the model, when it has been loaded

// How much of a file of the model is there.
const loading = make("progress", { "aria-label": "Loading the model", hidden: "" });
byId("status").after(loading);
const showLoading = ({ loaded, total }) =>
  Object.assign(loading, { hidden: false, max: total, value: loaded });

// Returns the model: the bundled one, unless there is one. After a failure, the next call tries
// again.
function opened(source = "models/gpt2-stories", name = "gpt2-stories") {
  opening ??= import("./gpt2.mjs")
    .then(({ loadInWorker }) => loadInWorker(source, { name, onProgress: showLoading }))
    .finally(() => { loading.hidden = true; });
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
  const { name, config, options } = answer;
  const command = ["gpt2", "generate", "-m", name];
  return { options, data: [{ id: name, max_model_len: config.n_positions, command }] };
}

const askJson = ask;
const askPage = async (path, body) => new Blob([await ask(path, body)], { type: "text/html" });

// Calls take(part) for each part of a stream, or with the answer if it is no stream.
async function askStream(path, body, signal, take) {
  const answer = await ask(path, body, signal, take);
  if (!JSON.parse(body).stream) take(answer);
}

// The files of a folder take the place of the model.
async function openFiles(source, name) {
  if (source.length === 0) return;
  say(`Reading ${name}\u2026`);
  const model = await opening?.catch(() => null);
  const options = { name, onProgress: showLoading };
  await (model ? model.load(source, options) : opened(source, name))
    .finally(() => { loading.hidden = true; });
  history.replaceState(null, "", location.pathname);  // a link is for the model before
  start();
}
const openAll = (work) => work.catch(refuse).catch(showError).finally(() => say(""));

// Returns the files of a folder that is dropped onto the page.
async function filesOf(folder) {
  if (!folder?.isDirectory) {
    throw new Refusal("Drop the folder of a model: config.json, weights, tokenizer.");
  }
  const reader = folder.createReader();
  const entries = [];
  for (let some; some?.length !== 0; entries.push(...some)) {  // at most 100 at a time
    some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
  }
  return Promise.all(entries.filter((entry) => entry.isFile)
    .map((entry) => new Promise((resolve, reject) => entry.file(resolve, reject))));
}
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const folder = event.dataTransfer.items[0]?.webkitGetAsEntry();
  openAll(filesOf(folder).then((files) => openFiles(files, folder.name)));
});

// A button for those who do not drop.
const chosen = make("input", { type: "file", webkitdirectory: "", hidden: "", id: "folder",
  onchange: () => {
    const files = [...chosen.files];
    openAll(openFiles(files, files[0]?.webkitRelativePath.split("/")[0]));
  } });
byId("model").closest(".bar").append(chosen, make("button", { type: "button", id: "open_folder",
  title: "A folder with config.json, the weights and the tokenizer",
  onclick: () => chosen.click() }, "Your own\u2026"));
byId("model").closest(".bar").after(make("p", { class: "note" },
  "Or drop the folder of a model onto this page. Its files stay on this machine."));
