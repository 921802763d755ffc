// The same text as a command.

const quoted = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

// Returns the arguments that set an option to a value. Which form they have follows from the value.
function argumentsOf(row, value) {
  const name = "--" + row.name.replaceAll("_", "-");
  if (row.type === "boolean") return [name];
  if (row.type === "integer" || row.type === "number") return [`${name}=${value}`];
  const parsed = JSON.parse(value);
  if (row.type === "texts") return parsed.map((text) => `${name}=${text}`);
  if (row.type === "choice") return [`${name}=${parsed}`];
  if (!Array.isArray(parsed)) {
    return typeof parsed === "number" ? [`${name}=${value}`]
      : Object.entries(parsed).map(([id, bias]) => `${name}=${id}=${bias}`);
  }
  if (parsed.every(Number.isFinite)) return [`${name}=${parsed.join()}`];
  return parsed.map((one) => Array.isArray(one[0]) ? `${name}=${one[0].join()}=${one[1]}` : `${name}=${one.join()}`);
}

// Shows the command. If tokens are given that the text of the prompt and the prefix does not have,
// the command reads and writes token ids.
async function showCommand() {
  const { request } = state;
  const { values, model } = request;
  const set = [...options.values()].filter((row) => isUsed(row, values) &&
      values.get(row.name) !== JSON.stringify(row.command_default));
  const words = set.filter((row) => row.name !== "logprobs")  // which changes no text
    .flatMap((row) => argumentsOf(row, values.get(row.name)));
  const text = await textOfPrompt();
  if (state.request !== request) return;  // the page shows another one by now
  const prompt = text !== null ? ["-p", text]
    : ["--tokens", "-p", [...state.promptIds, ...idsOf(state.prefix)].join(" ")];
  const command = [...model.command, ...words, ...prompt].map(quoted).join(" ");
  byId("command").textContent = text !== null ? command
    : `${command} | gpt2 tokenize --decode ${model.command.slice(2, 4).map(quoted).join(" ")}`;
}

// Returns the text that has the tokens of the prompt and the prefix, or null if there is none.
async function textOfPrompt() {
  if (state.prefix.length === 0) return state.shown;
  const text = given();
  const body = JSON.stringify({ model: state.request.model.id, prompt: text });
  const { tokens } = await askJson("tokenize", body);
  return tokens.join() === [...state.promptIds, ...idsOf(state.prefix)].join() ? text : null;
}
