// The form of the options, which is made from the table that the server gives. A value is the text
// of its JSON, so that a seed of 64 bits keeps all its digits.

const COMMON = ["max_new_tokens", "temperature", "top_k", "top_p", "seed", "stop"];
const TITLES = {
  common: "Options", draws: "How tokens are drawn", limits_length: "How long the text is",
  penalizes: "Less repetition", names_tokens: "Single tokens and their scores",
  searches: "Beam search", reports: "What is shown",
};
const options = new Map();  // by name: the row of the table with its element

// The value with which the form begins: that of the command, and alternatives to each token.
const initial = (row) => row.name === "logprobs" ? "10" : JSON.stringify(row.command_default);

function fieldOf(row) {
  const attributes = { id: "option_" + row.name, "aria-describedby": "help_" + row.name };
  if (row.type === "boolean") return make("input", { ...attributes, type: "checkbox" });
  if (row.type === "texts") {
    return make("textarea", { ...attributes, rows: 2, placeholder: "one in each line; \\n: a new line" });
  }
  if (row.type === "json") {
    return make("input", { ...attributes, placeholder: "not set", autocomplete: "off" });
  }
  if (row.type === "choice") {
    return make("select", attributes, ...row.choices.map((choice) =>
      make("option", { value: JSON.stringify(choice) }, String(choice))));
  }
  return make("input", { ...attributes, type: "number", step: row.type === "integer" ? 1 : "any",
                        placeholder: "not set", autocomplete: "off" });
}

function rowElement(row) {
  const wide = ["texts", "json"].includes(row.type) ? " wide" : "";
  const form = row.type === "json" ? ` As JSON: ${row.form}.` : "";
  return make("div", { class: "option" + wide, title: row.name },
    make("label", {}, make("span", {}, row.name.replaceAll("_", " ")), row.field),
    make("small", { id: "help_" + row.name }, row.help + "." + form));
}

function drawOptions(rows) {
  const groups = new Map(Object.keys(TITLES).map((role) => [role, []]));
  for (const row of rows) {
    row.field = fieldOf(row);
    row.element = rowElement(row);
    options.set(row.name, row);
    groups.get(COMMON.includes(row.name) ? "common" : row.role).push(row);
    set(row, initial(row));
  }
  groups.get("common").sort((a, b) => COMMON.indexOf(a.name) - COMMON.indexOf(b.name));
  const folded = (role, group) => make("details", {}, make("summary", {}, TITLES[role]), ...group);
  const open = (role, group) => make("fieldset", {}, make("legend", {}, TITLES[role]), ...group);
  byId("options").replaceChildren(...[...groups].map(([role, group]) =>
    (role === "common" ? open : folded)(role, group.map((row) => row.element))));
}

// A stop string in one line.
const ESCAPES = { "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r" };
const escaped = (text) => String(text).replace(/[\\\n\t\r]/g, (character) => ESCAPES[character]);
const unescaped = (line) => line.replace(/\\([ntr\\])/g, (escape) =>
  Object.keys(ESCAPES).find((character) => ESCAPES[character] === escape));

// Sets the field of a row to a value.
function set(row, value) {
  if (row.type === "boolean") row.field.checked = value === "true";
  else if (row.type === "texts") row.field.value = [].concat(JSON.parse(value)).map(escaped).join("\n");
  else if (row.type === "json") row.field.value = ["null", "[]", "{}"].includes(value) ? "" : value;
  else row.field.value = value === "null" ? "" : value;
  mark(row);
}

// Returns the value of a row: that of its field or, if the field is empty, the one it begins with.
function valueOf(row) {
  const text = row.field.value.trim();
  if (row.type === "boolean") return String(row.field.checked);
  if (row.field.validity.badInput) throw wrong(row);
  if (row.type === "texts") {
    return JSON.stringify(row.field.value.split("\n").filter(Boolean).map(unescaped));
  }
  if (text === "") return row.name === "logprobs" ? "null" : JSON.stringify(row.command_default);
  if (row.type === "number") return String(Number(text));  // .5 is no JSON
  if (row.type === "integer" ? /^-?\d+$/.test(text) : isJson(text)) return text;
  throw wrong(row);
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const wrong = (row) => new Refusal(`${row.name}: expected ${row.form}.`, 0);

function mark(row) {
  let isChanged = true;
  try {
    isChanged = valueOf(row) !== initial(row);
  } catch { /* a value that is wrong is a change, too */ }
  row.element.classList.toggle("changed", isChanged);
  const group = row.element.closest("details");
  if (isChanged && group) group.open = true;
}

// Returns the values of all rows by their names. Throws Refusal for one that is no value.
function valuesOf() {
  return new Map([...options.values()].map((row) => [row.name, valueOf(row)]));
}

// Whether an option has an effect.
const isUsed = (row, values) => values.get("num_beams") === "1" ? row.in_drawing : row.in_search;
