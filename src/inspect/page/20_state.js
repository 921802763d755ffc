// What is chosen, where it is remembered (in the address, so that a link opens the same view), and
// which figures are drawn again when it changes.

const state = { token: 0, norm: 0, head: 0 };
const panels = [];

// The layer that the chosen normalization belongs to.
const chosenLayer = () => Math.min(state.norm >> 1, L - 1);
const darkSystem = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => darkSystem.matches;
const byId = (id) => document.getElementById(id);

// Registers a figure. draw() fills the element with the id. It runs once after the page is loaded,
// and then when the element is near the window and one of the things it shows has changed: those in
// `names`, the system's colours or the width.
function panel(id, names, draw) {
  const element = byId(id);
  const one = { element, names, draw, drawn: null, near: false };
  panels.push(one);
  new IntersectionObserver((entries) => {
    one.near = entries.at(-1).isIntersecting;
    if (one.near) refresh(one);
  }, { rootMargin: "400px" }).observe(element);
}

function refresh(one) {
  const chosen = one.names.map((name) => name === "layer" ? chosenLayer() : state[name]);
  const shown = [isDark(), document.body.clientWidth, ...chosen].join();
  if (shown === one.drawn) return;
  one.drawn = shown;
  try {
    one.draw(one.element);
  } catch (error) {  // numbers that are not finite must not keep other figures from being drawn
    console.error(error);
  }
}

function refreshAll() {
  for (const one of panels) if (one.near) refresh(one);
}

// Draws the figures in the window at once, and then the others one by one when the browser is idle.
function drawAll() {
  for (const one of panels) {
    if (one.element.getBoundingClientRect().top < innerHeight) refresh(one);
  }
  const whenIdle = window.requestIdleCallback ?? ((task) => setTimeout(task, 20));
  const drawNext = () => {
    const next = panels.find((one) => one.drawn === null);
    if (!next) return;
    refresh(next);
    whenIdle(drawNext, { timeout: 100 });
  };
  whenIdle(drawNext, { timeout: 100 });
}

const clamp = (value, end) => Math.min(Math.max(Math.trunc(value) || 0, 0), end - 1);

// Changes what is chosen, for example choose({ token: 3 }).
function choose(change) {
  Object.assign(state, change);
  state.token = clamp(state.token, T);
  state.norm = clamp(state.norm, 2 * L + 1);
  state.head = clamp(state.head, H);
  // The frame in which a notebook shows the page has no address to change.
  if (location.protocol !== "about:") {
    history.replaceState(null, "", "#" + new URLSearchParams(state));
  }
  showBar();
  refreshAll();
}

// Chooses a head of a layer, and with it a normalization of the same layer.
function chooseHead(layer, head) {
  choose({ head, norm: layer === chosenLayer() ? state.norm : 2 * layer });
}

function readHash() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const change = {};
  for (const name of ["token", "norm", "head"]) if (hash.has(name)) change[name] = hash.get(name);
  choose(change);
}

function showBar() {
  byId("token_name").textContent = `token ${state.token}: ${label(tokens[state.token])}`;
  byId("norm").value = state.norm;
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("select")) return;
  const change = {
    ArrowLeft: { token: state.token - 1 },
    ArrowRight: { token: state.token + 1 },
    ArrowUp: { norm: state.norm - 1 },
    ArrowDown: { norm: state.norm + 1 },
  }[event.key];
  if (!change) return;
  event.preventDefault();
  const follow = event.target.closest?.("#text");  // the focus goes with the chosen token
  choose(change);
  if (follow) document.querySelector("#text [aria-pressed=true]").focus();
}

function listen() {
  const moves = { token_back: ["token", -1], token_on: ["token", 1],
                  norm_back: ["norm", -1], norm_on: ["norm", 1] };
  for (const [id, [name, by]] of Object.entries(moves)) {
    byId(id).addEventListener("click", () => choose({ [name]: state[name] + by }));
  }
  norms.forEach((norm, i) => byId("norm").append(new Option(norm.name, i)));
  byId("norm").addEventListener("change", (event) => choose({ norm: +event.target.value }));
  document.addEventListener("keydown", onKey);
  darkSystem.addEventListener("change", refreshAll);
  addEventListener("hashchange", readHash);
  addEventListener("resize", refreshAll);
}
