// Mean, variance and length of all normalizations and tokens, and the growth of the residual stream.

const QUANTITIES = [
  { key: "mean", title: "Mean, before", log: false },
  { key: "variance", title: "Variance, before", log: true },
  { key: "input_norm", title: "Length, before", log: true },
  { key: "output_norm", title: "Length, after", log: true },
];
if (norms[0].tokens[0].distance !== undefined) {
  QUANTITIES.push({ key: "distance", title: `Distance to ${other.name}`, log: false });
  byId("maps_note").hidden = false;
}

// Appends a line chart over the normalizations or updates, with their names at some places, to a
// figure that is on the page already.
function profile(figure, names, series, at, { log = false, name, range }) {
  range ??= rangeOf(series.flat(), { log });
  const frame = axes(figure.clientWidth, 150, range, { log, bottom: 22, name });
  lines(frame, series, state.token, at);
  const step = frame.inner / names.length;
  const every = Math.ceil(names.length * 62 / frame.inner);
  names.forEach((text, i) => {
    if (i % every) return;
    frame.svg.append(shape("text", { x: frame.left + (i + 0.5) * step, y: 146,
                                    "text-anchor": "middle" }, text));
  });
  figure.append(frame.svg);
}

// How a quantity becomes a colour: the place of a value from 0 to 1, and the colour of a place.
function colouring(range, log) {
  if (log) return [(v) => Math.log(v / range[0]) / Math.log(range[1] / range[0]), viridis, range];
  const size = Math.max(...range.map(Math.abs)) || 1;
  if (range[0] >= 0) return [(v) => v / size, viridis, [0, size]];
  return [(v) => (1 + Math.sign(v) * Math.sqrt(Math.abs(v) / size)) / 2,
          (place) => diverging(2 * place - 1), [-size, size]];
}

function drawMaps(element) {
  const lengths = norms.flatMap((norm) => norm.tokens.flatMap((t) => [t.input_norm, t.output_norm]));
  const names = norms.map((norm) => norm.name);
  element.replaceChildren();
  for (const { key, title, log } of QUANTITIES) {
    const value = (n, t) => norms[n].tokens[t][key];
    // Both lengths have one scale, so that their colours and lines can be compared.
    const range = rangeOf(key.endsWith("norm") ? lengths : norms.flatMap((_, n) =>
      tokens.map((_, t) => value(n, t))), { log, space: 0 });
    const [place, colour, ends] = colouring(range, log);
    const figure = make("figure", { "data-key": key }, make("figcaption", {}, title),
      heatMap({
        names, columns: T, row: state.norm, column: state.token, name: title,
        colour: (n, t) => colour(place(value(n, t))),
        scale: [...ends.map((end) => show(end, 2)), colour],
        pick: (n, t) => choose({ norm: n, token: t }),
        tell: (n, t) => `${names[n]}, token ${t} \u201c${label(tokens[t])}\u201d: ${show(value(n, t))}`,
      }));
    element.append(figure);
    profile(figure, names, tokens.map((_, t) => norms.map((_, n) => value(n, t))), state.norm,
            { log, range: log ? range : rangeOf(range), name: title + " by normalization" });
  }
}

const updateNames = DATA.updates.map((update) => update.name.replace("h.", ""));

function drawStream(element) {
  const values = (key) => tokens.map((_, t) => DATA.updates.map((update) => update.tokens[t][key]));
  // The stream after an update is the input of the normalization after it.
  const after = tokens.map((_, t) => DATA.updates.map((_, u) => norms[u + 1].tokens[t].input_norm));
  const figures = [
    ["Length of the stream", after, true], ["Length of what is added", values("added_norm"), true],
    ["Growth", values("growth"), true], ["Cosine", values("cosine"), false],
  ];
  const at = Math.min(state.norm, 2 * L - 1);
  element.replaceChildren();
  for (const [title, series, log] of figures) {
    const figure = make("figure", {}, make("figcaption", {}, title, make("span", {},
      ` ${show(series[state.token][at])} after ${DATA.updates[at].name}`)));
    element.append(figure);
    profile(figure, updateNames, series, at, { log, name: title });
  }
}
