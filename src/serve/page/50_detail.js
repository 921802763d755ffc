// The tokens with the keyboard and the mouse, and the alternatives to one of them.

const isOpen = () => !byId("detail").hidden;
const placeOf = (element) => ({ text: +element.dataset.text, token: +element.dataset.token });

function focusToken(at) {
  const element = elementAt(at);
  if (!element) return;
  document.querySelector('.token[tabindex="0"]')?.setAttribute("tabindex", -1);
  element.setAttribute("tabindex", 0);
  element.focus();
}

// Returns the place of the token to which a key leads, or undefined.
function placeAfter(at, key) {
  const { tokens } = state.texts[at.text];
  const to = { ArrowLeft: at.token - 1, ArrowRight: at.token + 1, Home: 0, End: tokens.length - 1 }[key];
  if (to === undefined) return undefined;
  if (to < 0) return at;
  if (to < tokens.length) return { ...at, token: to };
  return state.texts[at.text + 1]?.tokens.length ? { text: at.text + 1, token: 0 } : at;
}

function openDetail(at) {
  const token = state.texts[at.text].tokens[at.token];
  elementAt(state.selected ?? {})?.setAttribute("aria-expanded", false);
  state.selected = at;
  token.element.setAttribute("aria-expanded", true);
  byId("detail").replaceChildren(...detailOf(token, at));
  byId("detail").hidden = false;
  placeDetail();
  (byId("detail").querySelector(".other") ?? byId("close")).focus();
}

// Moves the alternatives below their token.
function placeDetail() {
  if (!isOpen()) return;
  const detail = byId("detail");
  const stage = byId("stage").getBoundingClientRect();
  const token = [...elementAt(state.selected).getClientRects()].at(-1);
  const left = Math.min(token.left - stage.left - 16, stage.width - detail.offsetWidth);
  detail.style.top = token.bottom - stage.top + 8 + "px";
  detail.style.left = Math.max(left, 0) + "px";
  detail.scrollIntoView({ block: "nearest" });
}

function detailOf(token, at) {
  const place = token.top.findIndex(({ id }) => id === token.id);
  const rank = place < Number(state.request.values.get("logprobs")) ? `rank ${place}`
    : "not among the likeliest";
  const facts = token.logprob === null ? "" : `Probability ${percent(token.logprob)}, ` +
    `${(-token.logprob).toFixed(2)} nats of surprise, ${rank}, `;
  const rest = 1 - token.top.reduce((sum, { logprob }) => sum + Math.exp(logprob ?? -Infinity), 0);
  const list = make("ol", {}, ...token.top.map((other) => make("li", {}, otherButton(other, token, at))));
  return [
    make("div", { class: "head" }, make("h2", {}, `Token ${at.token + 1}: ${nameOf(token)}`),
         make("button", { type: "button", id: "close", onclick: leaveDetail, "aria-label": "Close" },
              "\u2715")),
    make("p", { class: "note" }, facts + `token id ${token.id}. Choose a token to go on from it:`),
    list,
    make("p", { class: "note" },
         token.top.length > 1 && rest > 0 ? `All others together: ${percent(Math.log(rest))}. ` : "",
         "These are the model's own probabilities, before temperature, filters and penalties."),
  ];
}

function otherButton(other, token, at) {
  const bar = make("i");
  bar.style.width = 100 * Math.exp(other.logprob ?? -Infinity) + "%";
  return make("button", { type: "button", class: "other", "aria-current": other.id === token.id || null,
                         onclick: () => continueFrom(at, other) },
              bar, make("span", {}, nameOf(other)), make("span", {}, percent(other.logprob ?? -Infinity)));
}

function closeDetail() {
  byId("detail").hidden = true;
  elementAt(state.selected ?? {})?.setAttribute("aria-expanded", false);
}

function leaveDetail() {
  closeDetail();
  focusToken(state.selected);
}

// Writes on from an alternative. Its tokens are given by their ids, so that no text is tokenized anew.
function continueFrom(at, other) {
  const text = state.texts[at.text];
  const token = text.tokens[at.token];
  const isAnother = other.id !== token.id;
  state.prefix = [...text.tokens.slice(0, at.token),
                  { ...other, top: token.top, isChosen: isAnother || token.isChosen }];
  byId("prompt").value = state.shown;
  byId("model").value = state.request.model.id;
  write();
  focusToken({ text: 0, token: at.token });
}

function onTokenKey(event) {
  const onToken = event.target.closest?.(".token");
  const inDetail = event.target.closest?.("#detail");
  if (event.ctrlKey || event.altKey || event.metaKey || (!onToken && !inDetail)) return;
  if (onToken && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    return openDetail(placeOf(onToken));
  }
  const isUp = event.key === "ArrowUp" || event.key === "ArrowDown";
  if (inDetail && isUp) return moveInDetail(event);
  const to = placeAfter(onToken ? placeOf(onToken) : state.selected, event.key);
  if (!to) return;
  event.preventDefault();
  if (inDetail) openDetail(to);
  else focusToken(to);
}

function moveInDetail(event) {
  const others = [...byId("detail").querySelectorAll(".other")];
  const by = event.key === "ArrowDown" ? 1 : -1;
  const to = others[others.indexOf(document.activeElement) + by];
  event.preventDefault();
  to?.focus();
}
