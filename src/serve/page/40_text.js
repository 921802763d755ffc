// The texts that the model has written, and how they look.

// promptIds: the tokens of the prompt. prefix: the tokens after it that are given, too, because an
// alternative was chosen; those that a link names have only their ids until findPrefix(). A text has
// its tokens and their ids, the prefix among them, and what the server calls its text, which lacks the
// prefix and a stop string.
const state = { promptIds: [], prefix: [], texts: [], shown: "", request: null, selected: null };

function beginTexts(prompt) {
  state.texts = [];
  state.shown = prompt;
  state.selected = null;
  byId("texts").replaceChildren();
  byId("said").replaceChildren();
  unread = "";
  closeDetail();
}

function textAt(index) {
  if (state.texts[index]) return state.texts[index];
  const element = make("div", { class: "text busy", role: "group", "aria-label": "The text",
                               "aria-describedby": "keys" },
                       make("span", { class: "given" }, state.shown));
  const text = { index, element, tokens: [], ids: idsOf(state.prefix), text: "", reason: null,
                 decoder: new TextDecoder() };
  state.texts[index] = text;
  byId("result").hidden = false;
  byId("texts").append(element);
  state.prefix.forEach((token) => addToken(text, token));
  return text;
}

// Takes a choice of an answer, or of a part of it.
function takeChoice(choice) {
  const text = textAt(choice.index);
  const given = choice.prompt_token_ids;  // the prompt and the prefix
  if (given) state.promptIds = given.slice(0, given.length - state.prefix.length);
  text.text += choice.text;
  text.ids.push(...choice.token_ids ?? []);
  if (choice.logprobs) {
    tokensOf(choice.logprobs, choice.token_ids).forEach((token) => addToken(text, token));
  } else {
    text.element.append(choice.text);
  }
  if (choice.index === 0) read(choice.text, Boolean(choice.finish_reason));
  if (choice.finish_reason) finish(text, choice.finish_reason);
}

const idsOf = (tokens) => tokens.map(({ id }) => id);
const isKnown = (token) => token.text !== undefined;

// Returns tokens with their alternatives, the likeliest first.
function tokensOf(logprobs, ids) {
  return logprobs.tokens.slice(0, ids.length).map((text, i) => ({
    id: ids[i], text, logprob: logprobs.token_logprobs[i],
    top: Object.entries(logprobs.top_logprobs[i] ?? {})
      .map(([other, logprob]) => ({ id: logprobs.top_token_ids[i][other], text: other, logprob }))
      .sort((a, b) => (b.logprob ?? -Infinity) - (a.logprob ?? -Infinity)),
  }));
}

function addToken(text, token) {
  const index = text.tokens.length;
  const shown = text.decoder.decode(bytesOf(token.text), { stream: true });
  const about = nameOf(token) + (token.logprob === null ? "" : `, ${percent(token.logprob)}`);
  const mark = shown === "" ? nameOf(token) : /^\n+$/.test(shown) ? "\u21b5" : null;
  const element = make("span", {
    class: `token ${colourOf(token)}${token.isChosen ? " chosen" : ""}`, role: "button",
    tabindex: text.index === 0 && index === 0 ? 0 : -1, title: about, "aria-label": about,
    "aria-expanded": false, "data-mark": mark, "data-text": text.index, "data-token": index,
  }, shown);
  text.tokens.push({ ...token, shown, element });
  text.element.append(element);
}

// Marks what the text lacks because a stop string ended it. The text has no special tokens, so they
// do not count.
function finish(text, reason) {
  text.reason = reason;
  text.element.classList.remove("busy");
  let begin = 0;
  for (const { element, shown } of reason === "stop" ? text.tokens.slice(state.prefix.length) : []) {
    const rest = text.text.slice(begin);
    if (!rest.startsWith(shown) && !shown.startsWith(rest)) continue;
    const kept = rest.length;
    if (kept < shown.length) element.replaceChildren(shown.slice(0, kept), make("s", {}, shown.slice(kept)));
    begin += shown.length;
  }
}

// Lets a screen reader read the first text, sentence by sentence.
let unread = "";
function read(piece, isEnd) {
  unread += piece;
  const end = isEnd ? unread.length : unread.search(/[.!?\n]\s/) + 1;
  if (end <= 0) return;
  byId("said").append(make("p", {}, unread.slice(0, end)));
  unread = unread.slice(end);
}

// Returns a text with its prompt, as the command writes it.
function wholeText(text) {
  return given() + text.text;
}

// Returns the prompt and the texts of the prefix.
function given() {
  const prefix = state.texts[0].tokens.slice(0, state.prefix.length);
  return state.shown + prefix.map((token) => token.shown).join("");
}

const elementAt = (at) => state.texts[at.text]?.tokens[at.token]?.element;
