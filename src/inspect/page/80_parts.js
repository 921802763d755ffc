// What makes up a logit, and the feed-forward layers.

// Makes rows of a name, a bar to the left or to the right, and a number.
function shares(rows, name) {
  const most = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-9);
  return make("div", { class: "shares", role: "img", "aria-label": name },
    ...rows.flatMap(([text, value, on]) => [
      make("span", on ? { class: "on" } : {}, text),
      make("span", { class: "share" }, make("i", {
        class: value < 0 ? "against" : "for",
        style: `width: ${50 * Math.abs(value) / most}%; ${value < 0 ? "right" : "left"}: 50%`,
      })), make("span", {}, show(value, 3))]));
}

function drawParts(element) {
  const of = DATA.contributions[state.token];
  const rows = [["wte (the token)", of.wte], ["wpe (its position)", of.wpe]];
  of.attn.forEach((value, i) => rows.push([`attention ${i}`, value, i === chosenLayer()],
                                          [`MLP ${i}`, of.mlp[i], i === chosenLayer()]));
  rows.push(["ln_f bias", of.ln_f_bias]);
  const changes = of.changes ?? 0;
  const sum = changes + sumOf(rows.map(([, value]) => value));
  if (Math.abs(changes) > 1e-3) rows.push(["change of the stream", changes]);
  element.replaceChildren(
    make("h3", {}, `After \u201c${label(tokens[state.token])}\u201d: \u201c${label(of)}\u201d`),
    shares(rows, "Contributions to the logit"),
    make("p", { class: "stats" }, make("span", {}, "sum ", make("b", {}, show(sum, 5))), " ",
      make("span", {}, "logit ", make("b", {}, show(of.logit, 5)))));
}

function drawPartsHeads(element) {
  const of = DATA.contributions[state.token];
  const layer = chosenLayer();
  const rows = of.heads[layer].map((value, head) => [`head ${head}`, value, head === state.head]);
  rows.push([DATA.changes?.length ? "bias and changes" : "bias", of.attn_bias[layer]]);
  element.replaceChildren(make("h3", {}, `Attention ${layer}, by head`),
    shares(rows, `Contributions of attention ${layer} by head`),
    make("p", { class: "stats" }, make("span", {}, "sum ",
      make("b", {}, show(sumOf(rows.map(([, value]) => value)), 4))), " ",
      make("span", {}, `attention ${layer} `, make("b", {}, show(of.attn[layer], 4)))));
}

function drawNeurons(element) {
  element.replaceChildren(table(["", "active", "largest neurons: number, and value"],
    DATA.mlps.map((layer, i) => {
      const { active_share, largest } = layer[state.token];
      return make("tr", i === chosenLayer() ? { class: "on" } : {},
        make("th", { scope: "row" }, `MLP ${i}`), make("td", {}, percent(active_share)),
        make("td", { class: "guess" }, ...largest.flatMap(({ neuron, value }) =>
          [`${neuron} `, make("small", {}, show(value, 3)), "  "])));
    }), { class: "numbers" }));
}
