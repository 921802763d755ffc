// The address: a link has everything that the text depends on, after the #, which no server sees.

const linkMembers = ["prompt", "model", "then"];  // beside the options

function linkOf() {
  const { values, model } = state.request;
  const link = new URLSearchParams({ prompt: state.shown, model: model.id });
  if (state.prefix.length) link.set("then", idsOf(state.prefix).join());
  for (const row of options.values()) {
    if (values.get(row.name) !== initial(row)) link.set(row.name, values.get(row.name));
  }
  return "#" + link;
}

// Fills in what the address says and, if this server can, writes the text.
function readLink() {
  complain("");
  const link = new URLSearchParams(location.hash.slice(1));
  for (const row of options.values()) {
    try {
      set(row, link.get(row.name) ?? initial(row));
    } catch {
      complain(`The link sets ${row.name} to something that it cannot be.`);
      set(row, initial(row));
    }
  }
  byId("prompt").value = link.get("prompt") ?? "";
  const model = link.get("model");
  if (models.some(({ id }) => id === model)) byId("model").value = model;
  else if (model) complain(`The link is for the model ${model}, which this server does not have.`);
  const unknown = [...link.keys()].find((name) => !options.has(name) && !linkMembers.includes(name));
  if (unknown) complain(`The link sets ${unknown}, which this server does not know.`);
  state.prefix = (link.get("then") ?? "").split(",").filter(Boolean).map((id) => ({ id: Number(id) }));
  showPrefix();
  if (link.has("prompt") && !byId("error").textContent) write();
}

// Says that tokens are given after the prompt.
function showPrefix() {
  byId("prefix").hidden = state.prefix.length === 0;
  const { length } = state.prefix;
  byId("prefix_note").textContent =
    `After it, ${count(length, "token")} ${length === 1 ? "is" : "are"} given.`;
}
