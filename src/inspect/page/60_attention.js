// Attention: a small matrix for each head, the chosen head enlarged, and its arcs over the text.

const SCORES = { previous_token: "previous token", first_token: "first token",
                 duplicate_token: "same token", induction: "induction" };
const headAt = (layer, head) => DATA.heads[layer * H + head];

// A long text has more tokens than a small matrix has pixels; it then shows some of them.
function matrix(layer, head) {
  const size = Math.min(T, 128);
  const token = (i) => Math.floor(i * T / size);
  return cells(size, size, (query, key) => key > query ? null
    : blue(Math.sqrt(weightOf(layer, head, token(query), token(key)))));
}

function drawHeads(element) {
  element.parentElement.style.setProperty("--heads", H);
  element.replaceChildren(...Array.from({ length: L }, (_, layer) => make("div", { class: "layer" },
    make("span", {}, String(layer)),
    ...Array.from({ length: H }, (_, head) => make("button", {
      class: "head", tabindex: -1, "data-head": `${layer}.${head}`, title: `layer ${layer}, head ${head}`,
      "aria-label": `Layer ${layer}, head ${head}`, onclick: () => chooseHead(layer, head),
    }, matrix(layer, head))))));
}

// Names the heads that have the greatest scores.
function drawStrongest(element) {
  element.replaceChildren("The strongest heads: ", ...Object.entries(SCORES).flatMap(([key, name]) => {
    const best = DATA.heads.reduce((a, b) => (b[key] ?? -1) > (a[key] ?? -1) ? b : a);
    if (best[key] === null) return [];
    return [make("button", { class: "link", onclick: () => chooseHead(best.layer, best.head) },
      `${name} ${best.layer}.${best.head}`), ` (${show(best[key], 2)})  `];
  }));
}

function selectOf(name, count, chosen, pick) {
  const select = make("select", { onchange: (event) => pick(+event.target.value) },
    ...Array.from({ length: count }, (_, i) => make("option", { value: i }, String(i))));
  select.value = chosen;
  return make("label", {}, name + " ", select);
}

// The text with the weights of the chosen token as grounds; addArcs() draws the arcs over it.
function arcsText(layer, head) {
  const weight = (key) => weightOf(layer, head, state.token, key);
  return make("p", { class: "tokens arcs" }, ...tokens.map((token, key) => make("button", {
    class: "token", tabindex: -1, "aria-pressed": key === state.token,
    style: key > state.token ? "opacity: 0.45" : ground(blue(Math.sqrt(weight(key)))),
    title: key > state.token ? "a later token, which cannot be seen" : percent(weight(key)),
    onclick: () => choose({ token: key }),
  }, token.text === undefined ? label(token) : token.text.replace(/\n/g, "\u21b5"))));
}

function addArcs(text, layer, head) {
  const box = text.getBoundingClientRect();
  const spot = [...text.children].map((child) => {
    const at = child.getBoundingClientRect();
    return { x: at.left + at.width / 2 - box.left, y: at.top - box.top };
  });
  const to = spot[state.token];
  const arcs = spot.slice(0, state.token).map((from, key) => {
    const share = weightOf(layer, head, state.token, key);
    if (share < 0.02) return "";
    const rise = Math.min(from.y, to.y) - Math.min(8 + Math.hypot(to.x - from.x, to.y - from.y) / 8, 30);
    return shape("path", { class: "arc", "stroke-width": 1 + 7 * share, opacity: 0.35 + 0.6 * share,
                          d: `M${to.x},${to.y}C${to.x},${rise} ${from.x},${rise} ${from.x},${from.y}` });
  });
  text.append(shape("svg", { width: box.width, height: box.height, "aria-hidden": "true" }, ...arcs));
}

function scoreList(one) {
  return make("ul", { class: "guesses" }, ...Object.entries(SCORES).map(([key, name]) =>
    make("li", { title: one[key] === null ? "the text has no such token" : null },
      make("i", { style: `width: ${100 * (one[key] ?? 0)}%` }), make("span", {}, name),
      make("span", {}, show(one[key], 2)))));
}

function drawHead(element) {
  const layer = chosenLayer();
  const one = headAt(layer, state.head);
  for (const button of byId("heads").querySelectorAll(".head")) {
    button.setAttribute("aria-pressed", button.dataset.head === `${layer}.${state.head}`);
  }
  const text = arcsText(layer, state.head);
  const room = (byId("matrix").clientWidth - 80) / T;  // of a column
  const map = heatMap({
    below: labels(tokens.map(label), state.token, room, "below"),
    names: tokens.map(label), columns: T, row: state.token, column: state.token,
    height: Math.min(24, Math.max(440 / T, Math.min(10, 1000 / T))), name: "Attention weights", pick: (query) => choose({ token: query }),
    colour: (query, key) => key > query ? null : blue(Math.sqrt(weightOf(layer, state.head, query, key))),
    scale: ["0", "1", (share) => blue(Math.sqrt(share))],
    tell: (query, key) => key > query ? "a token sees no later tokens"
      : `\u201c${label(tokens[query])}\u201d looks at \u201c${label(tokens[key])}\u201d with ` +
        percent(weightOf(layer, state.head, query, key)),
  });
  byId("matrix").replaceChildren(map);
  element.replaceChildren(
    make("p", {}, selectOf("Layer", L, layer, (at) => chooseHead(at, state.head)), " ",
      selectOf("Head", H, state.head, (at) => choose({ head: at })), " ",
      `Where \u201c${label(tokens[state.token])}\u201d looks:`),
    text,
    make("p", {}, `Its entropy is ${show(one.entropy[state.token], 3)} nats, and the mean distance ` +
      `${show(one.distance[state.token], 3)} tokens. The scores of the head:`), scoreList(one));
  addArcs(text, layer, state.head);
}
