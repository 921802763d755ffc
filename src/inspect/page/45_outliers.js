// The sentences that sum LayerNorm up, and the outlier dimensions of all normalizations.

const FAR = 4;  // standard deviations

// All outliers, with their normalization n and token t.
const outliers = norms.flatMap((norm, n) => norm.tokens.flatMap((token, t) =>
  token.outliers.map((outlier) => ({ n, t, ...outlier }))));

// Returns how often each value is there, most often first: [value, count].
function countsOf(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

// Returns the outlier that is furthest from the mean.
const furthestOf = (some) =>
  some.reduce((a, b) => Math.abs(b.normalized) > Math.abs(a.normalized) ? b : a);

// What the page opens on: the furthest outlier of a token that has guesses and is not the last one.
function showOutlier() {
  const inside = outliers.filter(({ t }) => t > 0 && t < T - 1);
  const { n, t } = furthestOf(inside.length ? inside : outliers);
  Object.assign(state, { token: t, norm: n });
}

const frequent = countsOf(outliers.map((outlier) => outlier.dimension));

const spread = (values) => `${show(Math.min(...values), 3)} to ${show(Math.max(...values), 3)}`;

function lengthSentences() {
  const here = norms[state.norm].tokens;
  const all = norms.flatMap((norm) => norm.tokens);
  const text = "It takes the length out of a vector and keeps the pattern of its bars. In this text, " +
    `vectors with lengths from ${spread(all.map((t) => t.input_norm))} come in. ` +
    `At the chosen normalization, ${norms[state.norm].name}, they come in with lengths from ` +
    `${spread(here.map((t) => t.input_norm))} and go out with ${spread(here.map((t) => t.output_norm))}.`;
  return here.some(isChanged) ? text + " This LayerNorm was changed, so it need not do that." : text;
}

// Returns sentences about the vectors that have a dimension far from the mean.
function farSentences() {
  const far = outliers.filter(({ normalized }) => Math.abs(normalized) > FAR);
  const vectors = [...new Set(far.map(({ n, t }) => n * T + t))];
  const count = vectors.length;
  const start = `${count || "None"} of the ${norms.length * T} vectors in this text ` +
    `${count > 1 ? "have" : "has"} a dimension more than ${FAR} standard deviations from the mean`;
  if (!count) return start + ". ";
  const [[dimension, often]] = countsOf(far.map((outlier) => outlier.dimension));
  const [[n, there]] = countsOf(vectors.map((vector) => Math.floor(vector / T)));
  return `${start}, most often dimension ${dimension} (in ${often}), and most of all at ` +
    `${norms[n].name} (${there} of them). `;
}

function drawShort(element) {
  const far = furthestOf(outliers);
  element.replaceChildren(
    make("p", {}, make("b", {}, "What LayerNorm does. "), lengthSentences()),
    make("p", {}, make("b", {}, "Where the outliers are. "),
      `${farSentences()}The furthest is dimension ${far.dimension}, ${show(far.normalized, 3)} ` +
      `standard deviations from the mean, at ${norms[far.n].name} `,
      make("button", { class: "link", onclick: () => choose({ norm: far.n, token: far.t }) },
        `of token ${far.t}`), "."));
}

function drawOutliers(element) {
  const { steps, weight, bias } = chosenSteps();
  element.replaceChildren(table(
    ["dimension", "comes in", "deviations", "weight", "bias", "goes out"],
    chosenNorm().outliers.map(({ dimension, value, normalized }) => make("tr", {},
      make("th", { scope: "row" }, String(dimension)),
      ...[value, normalized, weight[dimension], bias[dimension], steps[3][dimension]]
        .map((number) => make("td", {}, show(number, 3))))),
    { class: "numbers" }));
}

// The normalized values of the dimensions that are outliers most often, at the chosen token.
function drawOutlierMap(element) {
  const dimensions = frequent.slice(0, 10).map(([dimension]) => dimension).sort((a, b) => a - b);
  const columns = norms.map((norm, n) => {
    const x = inputOf(n, state.token);
    const { mean, rstd } = norm.tokens[state.token];
    return dimensions.map((dimension) => (x[dimension] - mean) * rstd);
  });
  const most = Math.max(...columns.flat().map(Math.abs));
  const sizes = columns[state.norm].map(Math.abs);
  const first = sizes.indexOf(Math.max(...sizes));
  element.replaceChildren(heatMap({
    names: dimensions.map(String), columns: norms.length, row: first, column: state.norm, height: 20,
    name: "Frequent outliers by normalization", colour: (d, n) => diverging(columns[n][d] / most),
    scale: [show(-most, 2), show(most, 2), (share) => diverging(2 * share - 1)],
    pick: (_, n) => choose({ norm: n }),
    tell: (d, n) => `dimension ${dimensions[d]} at ${norms[n].name}: ${show(columns[n][d], 3)} ` +
      "standard deviations",
  }), make("p", { class: "note" }, `The ${dimensions.length} dimensions that are outliers most often ` +
    "(rows), at this token, from the first normalization (left) to the last. Orange is above the " +
    "mean, blue below."));
}
