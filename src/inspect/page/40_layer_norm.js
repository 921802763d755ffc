// The text, and LayerNorm step by step: the worked example beside the model.

const MOST_SURPRISED = 8;  // nats; the scale ends here

const surprise = (token) => token.logprob === null ? null : -token.logprob;

function drawText(element) {
  const buttons = tokens.flatMap((token, i) => {
    const nats = surprise(token);
    const button = make("button", {
      class: "token", style: nats === null ? null : ground(orange(nats / MOST_SURPRISED)),
      "aria-pressed": i === state.token, tabindex: i === state.token ? 0 : -1,
      title: nats === null ? "the first token: nothing comes before it"
          : `token ${i}, probability ${percent(Math.exp(token.logprob))}, rank ${token.rank}`,
      onclick: () => { choose({ token: i }); byId("text").querySelectorAll("button")[i].focus(); },
    }, token.text === undefined ? label(token) : token.text.replace(/\n/g, "\u21b5"));
    return token.text?.includes("\n") ? [button, make("br")] : [button];
  });
  const marks = [0, 2, 4, 6, 8].map((nats) => make("span",
    { style: ground(orange(nats / MOST_SURPRISED)) },
    `${nats}${nats === 8 ? "+" : ""}`, make("small", {}, percent(Math.exp(-nats)))));
  element.replaceChildren(make("p", { class: "tokens" }, ...buttons),
    make("p", { class: "legend" }, "Surprise in nats, and the probability: ", ...marks));
}

function drawGuess(element) {
  const token = tokens[state.token];
  const said = token.logprob === null
    ? "It is the first token. The model guesses nothing for it, because nothing comes before."
    : `The model gave it ${percent(Math.exp(token.logprob))}, which is a surprise of ` +
      `${show(surprise(token), 3)} nats; ${token.rank} ` +
      `${token.rank === 1 ? "token was" : "tokens were"} likelier.`;
  const before = other?.tokens[state.token].logprob ?? null;
  const compared = before === null ? "" : ` For ${other.name}, it was ${percent(Math.exp(before))}.`;
  element.replaceChildren(
    make("p", {}, make("b", {}, `Token ${state.token}, \u201c${label(token)}\u201d. `), said, compared),
    make("div", { class: "pair" }, guesses("In its place, the likeliest were:", token.top, token.id),
      guesses("After the text, the likeliest are:", DATA.next)));
}

// Returns a list of tokens with bars for their probabilities, if there is one.
function guesses(title, top, right) {
  if (!top) return "";
  return make("div", {}, make("b", {}, title), make("ul", { class: "guesses" }, ...top.map((guess) => {
    const share = Math.exp(guess.logprob);
    return make("li", guess.id === right ? { class: "right" } : {},
      make("i", { style: `width: ${100 * share}%` }), make("span", {}, label(guess)),
      make("span", {}, percent(share)));
  })));
}

// The numbers of the article that most people read first.
const EXAMPLE = stepsOf([4, 6, 8, 2], [2, 2, 2, 2], [1, 1, 1, 1]);

const chosenNorm = () => norms[state.norm].tokens[state.token];

// Returns the four steps of the chosen normalization at the chosen token.
function chosenSteps() {
  const weight = parameterOf(state.norm, 0);
  const bias = parameterOf(state.norm, 1);
  const steps = stepsOf(inputOf(state.norm, state.token), weight, bias, chosenNorm());
  return { steps, weight, bias };
}

// Mean, variance and length of a step. After a division or subtraction they are exact enough to
// show that the mean is 0, and how little the variance differs from 1. Those in `known` come from the
// report, which the figures below show, too.
function statistics(values, step, known = {}) {
  const exact = step === 2 ? (value) => value.toFixed(7).replace(/^-(0\.0+)$/, "$1").replace("-", "\u2212")
    : (value) => show(Math.abs(value) < 1e-12 ? 0 : value);
  const pairs = [["mean", exact(known.mean ?? meanOf(values))],
                 ["variance", exact(known.variance ?? varianceOf(values))],
                 ["length", show(known.input_norm ?? lengthOf(values))]];
  return make("p", { class: "stats" }, ...pairs.flatMap(([name, text]) =>
    [make("span", {}, name + " ", make("b", { "data-stat": name }, text)), " "]));
}

function drawExample(element, step) {
  const all = step < 2 ? [...EXAMPLE[0], ...EXAMPLE[1]] : EXAMPLE[step];
  const frame = axes(element.clientWidth, 150, rangeOf(all, { zero: true, space: 0.2 }),
                     { left: 26, name: `Example, step ${step + 1}: ` + EXAMPLE[step].map((v) => show(v)) });
  bars(frame, EXAMPLE[step]);
  EXAMPLE[step].forEach((value, i) => frame.svg.append(shape("text", {
    class: "value", "text-anchor": "middle", x: frame.left + (i + 0.5) * frame.inner / 4,
    y: frame.y(value) + (value < 0 ? 12 : -4),
  }, Number.isInteger(value) ? show(value, 1) : value.toFixed(3).replace("-", "\u2212"))));
  element.replaceChildren(frame.svg, statistics(EXAMPLE[step], step));
}

// A histogram that lies beside the bars and shares their axis, with the normal distribution that
// has the same mean and variance.
function histogram(values, range, height, width) {
  const frame = axes(width, height, range, { left: 8, name: "Histogram of the values" });
  frame.svg.querySelectorAll("text").forEach((text) => text.remove());
  const count = Math.min(40, Math.max(12, Math.round(values.length / 12)));
  const size = (range[1] - range[0]) / count;
  const bins = new Array(count).fill(0);
  for (const value of values) ++bins[clamp((value - range[0]) / size, count)];
  const [mean, variance] = [meanOf(values), varianceOf(values)];
  const bell = (at) => values.length * size * Math.exp(-((at - mean) ** 2) / 2 / variance) /
      Math.sqrt(2 * Math.PI * variance);
  const x = (n) => frame.left + n / Math.max(...bins, bell(mean)) * (frame.inner - 2);
  const thick = (height - 12) / count;
  const rows = bins.map((n, i) => n ? `M${frame.left},${frame.y(range[0] + (i + 1) * size) + 0.5}` +
      `H${Math.max(x(n), frame.left + 1.5)}v${thick - 1}H${frame.left}Z` : "");
  const curve = Array.from({ length: 61 }, (_, i) => range[0] + i / 60 * (range[1] - range[0]))
    .map((at, i) => (i ? "L" : "M") + x(bell(at)).toFixed(1) + "," + frame.y(at).toFixed(1));
  frame.svg.append(shape("path", { class: "bars", d: rows.join("") }),
                   shape("path", { class: "bell", d: curve.join("") }));
  return frame.svg;
}

function drawModelStep(element, seen, step) {
  const values = seen.steps[step];
  const range = rangeOf(step < 2 ? [...seen.steps[0], ...seen.steps[1]] : values,
                        { zero: true, space: 0.14 });
  const wide = element.clientWidth > 420;
  const width = element.clientWidth - (wide ? 110 : 70);
  const marked = chosenNorm().outliers.map((outlier) => outlier.dimension);
  const frame = axes(width, 150, range, { name: `Step ${step + 1} of the model: ${E} dimensions` });
  bars(frame, values, marked);
  const cursor = shape("path", { class: "cursor", d: "" });
  frame.svg.prepend(cursor);
  const row = make("div", { class: "row" }, frame.svg,
                   histogram(values, range, 150, element.clientWidth - width));
  frame.svg.addEventListener("pointermove", (event) => {
    const x = event.clientX - frame.svg.getBoundingClientRect().left - frame.left;
    tellDimension(seen, clamp(x / frame.inner * E, E));
  });
  const { variance } = chosenNorm();
  element.replaceChildren(row, statistics(values, step, [chosenNorm(), { variance }][step]));
  element.dataset.left = frame.left;
  element.dataset.inner = frame.inner;
}

// Writes what happens to one dimension, and marks it in all four steps.
function tellDimension(seen, dimension) {
  const [x, centred, normalized, result] = seen.steps.map((values) => show(values[dimension]));
  const bias = seen.bias[dimension];
  byId("dimension").textContent = `Dimension ${dimension}: ${x} comes in. ` +
    (isChanged(chosenNorm()) ? `Step 2 makes it ${centred}, and step 3 ${normalized}. `
      : `Without the mean it is ${centred}, which is ${normalized} standard deviations. `) +
    "Times the weight and plus the bias: " +
    `${normalized} \u00d7 ${show(seen.weight[dimension])} ${bias < 0 ? "\u2212" : "+"} ` +
    `${show(Math.abs(bias))} = ${result}. Point at a bar to see another dimension.`;
  for (const element of document.querySelectorAll(".step[data-step] .model")) {
    const x = +element.dataset.left + (dimension + 0.5) * element.dataset.inner / E;
    element.querySelector(".cursor").setAttribute("d", `M${x},4V146`);
  }
}

// Says what is special about these numbers, next to each step.
function notesOf(seen) {
  const [, , normalized, result] = seen.steps;
  const { mean, variance, rstd, used_mean, used_rstd } = chosenNorm();
  const deviation = Math.sqrt(variance);
  const size = meanOf(seen.weight.map(Math.abs));
  const moved = Math.abs(mean) / deviation;
  const notes = [
    `Here the standard deviation, the root of the variance, is ${show(deviation)}.`,
    `Here the mean is only ${show(moved, 2)} standard deviations from 0` +
      (moved < 0.1 ? ", so you hardly see it move. The example shows it better." : "."),
    `It is not quite 1: \u03b5 = ${show(EPSILON, 1)}, which guards against a division by 0, makes it ` +
      `variance / (variance + \u03b5) = ${show(variance / (variance + EPSILON), 7)}.`,
    `Here the weights are ${show(size, 3)} on average in size, and the length goes from ` +
      `${show(lengthOf(normalized))} to ${show(lengthOf(result))}.`,
  ];
  if (!isChanged(chosenNorm())) return notes;
  notes[1] = `But this LayerNorm was changed: it subtracts ${show(used_mean)}, not its mean ${show(mean)}.`;
  notes[2] = `But this LayerNorm was changed: it multiplies by ${show(used_rstd)} and not by ` +
    `${show(rstd)}, which is 1 / \u221a(variance + \u03b5).`;
  return notes;
}

function drawSteps(element) {
  const seen = chosenSteps();
  byId("model_head").textContent = `${norms[state.norm].name}, token ${state.token} ` +
    `\u201c${label(tokens[state.token])}\u201d`;
  byId("model_note").textContent = `${E} dimensions; orange: the furthest from the mean. ` +
    "Beside the bars is their histogram, with a normal curve.";
  const notes = notesOf(seen);
  element.querySelectorAll("[data-step]").forEach((row, step) => {
    drawExample(row.querySelector(".example"), step);
    drawModelStep(row.querySelector(".model"), seen, step);
    row.querySelector(".note").textContent = notes[step];
  });
  tellDimension(seen, chosenNorm().outliers[0].dimension);
}
