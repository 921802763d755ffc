// The logit lens: what the model would predict after each block.

const lensName = (i) => i === 0 ? "embeddings" : `block ${i - 1}`;

function lensTable() {
  const row = (guesses, i) => make("tr", {}, make("th", { scope: "row" }, lensName(i)),
    ...guesses.map(({ top: [guess], kl, rank }, t) => make("td", {
      style: guess ? ground(blue(Math.exp(guess.logprob))) : null,
      title: guess ? `${percent(Math.exp(guess.logprob))}, KL ${show(kl, 3)}, rank ${rank}`
          : "the logits are not finite",
      onclick: () => choose({ token: t }),
    }, guess ? label(guess) : "\u2013")));
  return table(["", ...tokens.map(label)], DATA.lens.map(row), { class: "lens" });
}

// The table is large, so another choice only marks another column.
function drawLens(element) {
  if (element.dataset.dark !== String(isDark())) element.replaceChildren(lensTable());
  element.dataset.dark = isDark();
  element.querySelectorAll(".on").forEach((cell) => cell.classList.remove("on"));
  const column = element.querySelectorAll(`tr > :nth-child(${state.token + 2})`);
  column.forEach((cell) => cell.classList.add("on"));
  showColumn(element, column[0]);
}

// Scrolls a wide table so that the chosen column is in view.
function showColumn(element, cell) {
  const left = cell.offsetLeft - element.querySelector("tbody th").offsetWidth;
  if (left < element.scrollLeft) element.scrollLeft = left;
  const right = cell.offsetLeft + cell.offsetWidth - element.clientWidth;
  if (right > element.scrollLeft) element.scrollLeft = right;
}

function drawLensList(element) {
  const size = Math.max(...DATA.lens.map((layer) => layer[state.token].top.length));
  element.replaceChildren(table(
    ["after", "KL", "rank", ...Array.from({ length: Math.min(size, 10) }, (_, i) => String(i + 1))],
    DATA.lens.map((layer, i) => {
      const { top, kl, rank } = layer[state.token];
      return make("tr", {}, make("th", { scope: "row" }, lensName(i)),
        make("td", {}, show(kl, 3)), make("td", {}, String(rank)),
        ...top.slice(0, 10).map((guess) => make("td", { class: "guess" }, label(guess) + " ",
          make("small", {}, percent(Math.exp(guess.logprob))))));
    }), { class: "numbers" }));
}
