"use strict";
// The data: the report as JSON, and three arrays in base64. src/cli/inspect/page.h describes them.

const DATA = JSON.parse(document.getElementById("data").textContent);
const { config, tokens, norms } = DATA;

// The lengths of the axes: tokens, layers, heads of a layer, and dimensions of the stream.
const T = tokens.length;
const L = config.n_layer;
const H = config.n_head;
const E = config.n_embd;
const EPSILON = config.layer_norm_epsilon;

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Returns the input of a LayerNorm at a token. A number has three bytes, which are four digits of
// base64, so each vector can be decoded alone. In place of the byte that is missing comes its middle,
// so that the rounding does not move the mean.
function inputOf(norm, token) {
  const start = 4 * E * (norm * T + token);
  const bytes = bytesOf(DATA.inputs.slice(start, start + 4 * E));
  const bits = new Uint32Array(E);
  for (let i = 0; i < E; ++i) {
    const upper = bytes[3 * i] << 8 | bytes[3 * i + 1] << 16 | bytes[3 * i + 2] << 24;
    bits[i] = upper && upper | 128;
  }
  return Array.from(new Float32Array(bits.buffer));
}

const parameters = new DataView(bytesOf(DATA.parameters).buffer);

// Returns the weight (part 0) or the bias (part 1) of a LayerNorm.
function parameterOf(norm, part) {
  const start = 4 * E * (2 * norm + part);
  return Array.from({ length: E }, (_, i) => parameters.getFloat32(start + 4 * i, true));
}

const attention = new DataView(bytesOf(DATA.attention).buffer);

function weightOf(layer, head, query, key) {
  const row = (layer * H + head) * T * (T + 1) / 2 + query * (query + 1) / 2;
  return attention.getUint16(2 * (row + key), true) / 65535;
}

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
const meanOf = (values) => sumOf(values) / values.length;
const lengthOf = (values) => Math.hypot(...values);

function varianceOf(values) {
  const mean = meanOf(values);
  return meanOf(values.map((value) => (value - mean) ** 2));
}

// Returns the four steps of LayerNorm: x, x - mean, the normalized vector and the result. A changed
// LayerNorm uses another mean or rstd than those of x.
function stepsOf(x, weight, bias, { used_mean, used_rstd } = {}) {
  const mean = used_mean ?? meanOf(x);
  const rstd = used_rstd ?? 1 / Math.sqrt(varianceOf(x) + EPSILON);
  const centred = x.map((value) => value - mean);
  const normalized = centred.map((value) => value * rstd);
  return [x, centred, normalized, normalized.map((value, i) => value * weight[i] + bias[i])];
}

// Whether LayerNorm was changed at a token, for example by --identity-norm.
const isChanged = (token) => token.used_rstd !== undefined;

// The other pass that this one is compared with, or undefined. How far the inputs of the LayerNorms
// are apart becomes one of their quantities.
const other = DATA.compared_with;
other?.distance.forEach((row, n) => row.forEach((distance, t) => {
  norms[n].tokens[t].distance = distance;
}));

// Returns the text of a token as a person can see it in a label: "the", with a dot for a space.
function label(token) {
  if (token.text === undefined) return "#" + token.id;
  return token.text.replace(/ /g, "\u00b7").replace(/\n/g, "\u21b5").replace(/\t/g, "\u21e5") ||
      "#" + token.id;
}

// Returns a number with about `digits` digits.
function show(value, digits = 4) {
  if (value === null || !Number.isFinite(value)) return "\u2013";
  const size = Math.abs(value);
  const point = size > 0 ? Math.floor(Math.log10(size)) : 0;
  const text = point < -4 || point > 6 ? value.toExponential(digits - 1)
      : value.toFixed(Math.max(0, digits - 1 - Math.max(point, -4)));
  return text.replace(/-/g, "\u2212");
}

function percent(share) {
  if (share > 0 && share < 1e-4) return "<0.01%";
  return (100 * share).toFixed(share < 0.01 ? 2 : share < 0.1 ? 1 : 0) + "%";
}
