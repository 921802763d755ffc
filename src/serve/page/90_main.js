// Connects the buttons with what they do.

let models = [];
let running = null;  // the AbortController of the text that is being written

// Returns what the server shall write.
function requestOf() {
  const model = models.find(({ id }) => id === byId("model").value) ?? models[0];
  return { model, values: valuesOf() };
}

// Returns the body of the request. Values are texts of JSON already.
function bodyOf({ model, values }) {
  const members = { model: JSON.stringify(model.id), return_token_ids: "true" };
  const prefix = idsOf(state.prefix);
  members.prompt = JSON.stringify(prefix.length ? [...state.promptIds, ...prefix] : state.shown);
  if (values.get("num_beams") === "1") members.stream = "true";
  for (const row of options.values()) {
    const value = values.get(row.name);
    const isDefault = models.length === 1 && value === JSON.stringify(row.default);
    if (isUsed(row, values) && !isDefault && value !== "null") members[row.name] = value;
  }
  return `{${Object.entries(members).map(([name, value]) => `"${name}":${value}`).join()}}`;
}

// Writes the texts.
async function write() {
  running?.abort();
  const own = running = new AbortController();
  const start = performance.now();
  complain("");
  say("Writing\u2026");
  byId("stop").disabled = false;
  try {
    state.request = requestOf();
    beginTexts(byId("prompt").value);
    showPrefix();
    if (location.hash !== linkOf()) history.pushState(null, "", linkOf());
    if (!state.prefix.every(isKnown)) await findPrefix(own.signal);
    textAt(0);
    showCommand().catch(showError);
    await askStream("v1/completions", bodyOf(state.request), own.signal,
                    (event) => own === running && event.choices.forEach(takeChoice));
    say(endOf(start));
  } catch (error) {
    if (own === running) say(newTokens() ? `Stopped after ${count(newTokens(), "token")}.` : "");
    showError(error);
  }
  if (own !== running) return;
  running = null;
  byId("stop").disabled = true;
  byId("result").hidden = !state.texts.some(({ text }) => text) && newTokens() === 0;
  state.texts.forEach(({ element }) => element.classList.remove("busy"));
}

// Asks for the tokens of the prompt, and for the texts and alternatives of the prefix. A link has only
// the text of the prompt and the ids of the prefix.
async function findPrefix(signal) {
  const find = async (prompt, more) => {
    const body = { model: state.request.model.id, prompt, max_tokens: 0, return_token_ids: true, ...more };
    return (await askJson("v1/completions", JSON.stringify(body), signal)).choices[0];
  };
  state.promptIds = (await find(state.shown)).prompt_token_ids;
  const ids = [...state.promptIds, ...idsOf(state.prefix)];
  const top = Number(state.request.values.get("logprobs")) || 0;
  const { logprobs } = await find(ids, { echo: true, logprobs: top });
  state.prefix = tokensOf(logprobs, ids).slice(state.promptIds.length);
}

const newTokens = () => state.texts.reduce((sum, { ids }) => sum + ids.length - state.prefix.length, 0);

function endOf(start) {
  const seconds = (performance.now() - start) / 1000;
  const why = { stop: "The text came to its end", length: "The text reached its max length" };
  const end = why[state.texts[0]?.reason] ?? "The text is complete";
  const tokens = Math.max(newTokens(), 0);
  return tokens ? `${end}: ${count(tokens, "token")} in ${seconds.toFixed(1)} s.` : `${end}.`;
}

// Opens the page of gpt2 inspect for the first text.
async function inspect() {
  complain("");
  say("Looking inside the model\u2026");
  const prompt = [...state.promptIds, ...state.texts[0].ids];
  const body = JSON.stringify({ model: state.request.model.id, prompt });
  const page = await askPage("inspect", body);
  const link = byId("inspection");
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(page);
  link.hidden = false;
  link.click();
  say("The inspection is in a new tab. If the browser blocked it, follow the link.");
}

async function start() {
  complain("");
  try {
    const [table, list] = await Promise.all([askJson("options"), askJson("v1/models")]);
    models = list.data;
    drawOptions(table.options);
  } catch (error) {
    return showError(error);
  }
  byId("key_box").hidden = true;
  byId("model").replaceChildren(...models.map(({ id }) => make("option", { value: id }, id)));
  byId("model").disabled = models.length < 2;
  readLink();
}

function onEscape() {
  if (isOpen()) leaveDetail();
  else running?.abort();
}

function listen() {
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  on("form", "submit", (event) => { event.preventDefault(); write(); });
  on("stop", "click", () => running?.abort());
  on("another", "click", writeAnother);
  on("prefix_remove", "click", forgetPrefix);
  on("prompt", "input", forgetPrefix);
  on("model", "change", forgetPrefix);
  on("form", "click", (event) => {
    if (!event.target.closest("#detail, .token")) closeDetail();
  });
  on("options", "input", (event) => mark(options.get(event.target.id.replace("option_", ""))));
  on("reset", "click", () => options.forEach((row) => set(row, initial(row))));
  on("key_use", "click", useKey);
  on("key", "keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    useKey();
  });
  on("copy_text", "click", () => copy(state.texts.map(wholeText).join("\n\n"), "the text"));
  on("copy_link", "click", () => copy(location.href, "the link"));
  on("copy_command", "click", () => copy(byId("command").textContent, "the command"));
  on("inspect", "click", () => inspect().catch(showError));
  on("texts", "click", (event) => {
    const token = event.target.closest(".token");
    if (token && getSelection().isCollapsed) openDetail(placeOf(token));
  });
  document.addEventListener("keydown", onTokenKey);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") onEscape();
    if (event.key === "Enter" && event.ctrlKey) byId("form").requestSubmit();
  });
  addEventListener("hashchange", readLink);
  addEventListener("resize", placeDetail);
}

function useKey() {
  sessionStorage.setItem("gpt2_key", byId("key").value);
  start();
}

function writeAnother() {
  const seed = options.get("seed");
  try {
    set(seed, String(BigInt(valueOf(seed)) + 1n));
  } catch {
    return showError(wrong(seed));
  }
  write();
}

function forgetPrefix() {
  state.prefix = [];
  showPrefix();
}

listen();
start();
