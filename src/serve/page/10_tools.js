"use strict";
// Elements, and the texts of tokens.

const byId = (id) => document.getElementById(id);

// Makes an element: make("p", { class: "note" }, "text", child). Texts stay texts: nothing that the
// server sends is ever read as HTML.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// Returns the bytes of a token. The server writes a token that is a part of a character as
// "bytes:\xf0\x9f".
function bytesOf(text) {
  if (!/^bytes:(\\x[0-9a-f]{2})+$/.test(text)) return new TextEncoder().encode(text);
  return Uint8Array.from(text.match(/[0-9a-f]{2}(?=\\|$)/g), (digits) => parseInt(digits, 16));
}

// Returns the text of a token as a name: white space becomes visible.
function nameOf(token) {
  if (token.text === "") return `#${token.id}`;
  if (isPart(token)) return token.text.slice(6).replaceAll("\\x", " ").trim();
  return token.text.replaceAll(" ", "\u2423").replaceAll("\n", "\u21b5").replaceAll("\t", "\u21e5");
}

const isPart = (token) => /^bytes:\\x/.test(token.text);

// Returns a probability in per cent, with two digits that count.
function percent(logprob) {
  const share = 100 * Math.exp(logprob);
  if (share >= 99.95) return "100%";
  if (share < 0.0001) return "less than 0.0001%";
  return (share >= 10 ? share.toFixed(1) : +share.toPrecision(2)) + "%";
}

// Returns the class of the colour of a token.
function colourOf(token) {
  if (token.logprob === null) return "";
  const share = Math.exp(token.logprob);
  return "p" + [0.5, 0.2, 0.05, 0.01, 0].findIndex((limit) => share >= limit);
}

const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}.`);
  } catch {  // only pages on this machine and over HTTPS may use the clipboard
    complain(`The browser does not let this page copy. Here is ${what}: ${text}`);
  }
}

function say(text) {
  byId("status").textContent = text;
}

function complain(text) {
  byId("error").textContent = text;
}

// What the model or the server answers to a wrong request.
class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : first + ".";
}

// Shows an error. If the server wants a key, shows the field for it.
function showError(error) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Refusal)) console.error(error);
  complain(error instanceof Refusal ? error.message : `This page made a mistake: ${error.message}`);
  if (error.status !== 401) return;
  const had = sessionStorage.getItem("gpt2_key");
  complain(had ? "The server does not know this API key." : "The server wants an API key.");
  byId("key_box").hidden = false;
  byId("key").focus();
}
