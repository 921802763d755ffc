// The sentences that sum LayerNorm up, and the outlier dimensions of all normalizations.

// Returns how often each dimension is among the outliers, most often first: [dimension, count].
function frequentOutliers() {
  const counts = new Map();
  for (const norm of norms) {
    for (const { outliers } of norm.tokens) {
      for (const { dimension } of outliers) counts.set(dimension, (counts.get(dimension) ?? 0) + 1);
    }
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

const frequent = frequentOutliers();

const spread = (values) => `${show(Math.min(...values), 3)} to ${show(Math.max(...values), 3)}`;

function farthestOutlier() {
  let best = { size: -1 };
  norms.forEach((norm, n) => norm.tokens.forEach((token, t) => token.outliers.forEach((outlier) => {
    const size = Math.abs(outlier.normalized);
    if (size > best.size) best = { size, n, t, ...outlier };
  })));
  return best;
}

function drawShort(element) {
  const here = norms[state.norm].tokens;
  const all = norms.flatMap((norm) => norm.tokens);
  const far = farthestOutlier();
  const often = frequent.slice(0, 3);
  element.replaceChildren(
    make("p", {}, make("b", {}, "What LayerNorm does. "),
      "It takes the length out of a vector and keeps the pattern of its bars. In this text, vectors " +
      `with lengths from ${spread(all.map((t) => t.input_norm))} come in. At the chosen ` +
      `normalization, ${norms[state.norm].name}, they come in with lengths from ` +
      `${spread(here.map((t) => t.input_norm))} and go out with ` +
      `${spread(here.map((t) => t.output_norm))}.`),
    make("p", {}, make("b", {}, "Where the outliers are. "),
      `A few dimensions are far from the mean again and again. In ${all.length} vectors, the most ` +
      "frequent are " + often.map(([dimension, count]) =>
        `dimension ${dimension} (in ${percent(count / all.length)})`).join(", ") +
      `. The furthest is dimension ${far.dimension}, ${show(far.normalized, 3)} standard deviations ` +
      `from the mean, at ${norms[far.n].name} `,
      make("button", { class: "link", onclick: () => choose({ norm: far.n, token: far.t }) },
        `of token ${far.t}`), "."));
}

function drawOutliers(element) {
  const { outliers } = norms[state.norm].tokens[state.token];
  const { steps, weight, bias } = chosenSteps();
  element.replaceChildren(table(
    ["dimension", "comes in", "deviations", "weight", "bias", "goes out"],
    outliers.map(({ dimension, value, normalized }) => make("tr", {},
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
