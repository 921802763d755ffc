// Elements, colours and the kinds of figures that several sections use: bars, lines, heat maps.

// Makes an element: make("p", { class: "note" }, "text", child). Texts stay texts: no data of the
// page is ever read as HTML.
function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// Returns a function from a place, 0 to 1, to [red, green, blue]. It looks up 257 colours, because a
// page has half a million cells.
function scaleOf(...stops) {
  const colours = Array.from({ length: 257 }, (_, place) => {
    const at = place / 256 * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    return [0, 2, 4].map((i) => {
      const [a, b] = [stops[low], stops[low + 1]].map((hex) => parseInt(hex.slice(i, i + 2), 16));
      return Math.round(a + (at - low) * (b - a));
    });
  });
  return (place) => colours[Math.round(256 * Math.min(Math.max(place || 0, 0), 1))];
}

const viridis = scaleOf("440154", "482878", "3e4989", "31688e", "26828e", "1f9e89", "35b779",
                        "6ece58", "b5de2b", "fde725");
const onLight = scaleOf("08306b", "2f79b9", "a9cfe8", "f7f5f0", "fbc98f", "dd7a1b", "7f3003");
const onDark = scaleOf("cfe6ff", "5aa5ea", "275a8c", "20242b", "87501b", "e08a33", "ffdcb0");
// From blue (-1) to orange (1).
const diverging = (share) => (isDark() ? onDark : onLight)((share + 1) / 2);
const orange = (share) => diverging(share);
const blue = (share) => diverging(-share);

// Returns a style for text on a coloured ground.
function ground(colour) {
  const light = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] > 128;
  return `background: rgb(${colour}); color: ${light ? "#15181c" : "#ffffff"}`;
}

// Returns about `count` round numbers from low to high.
function ticksOf(low, high, count = 4) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; ++i) ticks.push(+(i * step).toPrecision(6));
  return ticks;
}

// Returns ticks of a logarithmic axis from 10 ** low to 10 ** high.
function powersOf(low, high) {
  const ticks = [];
  const factors = high - low < 2 ? [1, 2, 5] : [1];
  for (let power = Math.floor(low); power <= high; power += Math.ceil((high - low) / 6)) {
    ticks.push(...factors.map((factor) => +(factor * 10 ** power).toPrecision(3)));
  }
  return ticks.filter((tick) => tick >= 10 ** low && tick <= 10 ** high);
}

// Returns the svg element of a figure and its scales, with lines and numbers at the ticks.
// range = [low, high]; log: whether the axis is logarithmic.
function axes(width, height, range, { left = 44, bottom = 4, log = false, name = "" } = {}) {
  const [low, high] = log ? range.map(Math.log10) : range;
  const to = (value) => log ? Math.log10(Math.max(value, range[0])) : value;
  const y = (value) => height - bottom - (to(value) - low) / (high - low || 1) * (height - bottom - 8);
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
                            "aria-label": name });
  const ticks = log ? powersOf(low, high) : ticksOf(low, high, height / 36);
  for (const tick of ticks) {
    const at = y(tick);
    svg.append(shape("path", { class: tick === 0 && !log ? "zero" : "grid",
                              d: `M${left},${at}H${width}` }),
               shape("text", { x: left - 6, y: at + 3.5, "text-anchor": "end" },
                    String(tick).replace("-", "\u2212")));
  }
  return { svg, y, left, inner: width - left };
}

const rectangle = (x, y, width, zero) => `M${x},${zero}V${y}H${x + width}V${zero}Z`;

// Draws values as vertical bars; those in `marked` are emphasized and have their number.
function bars(frame, values, marked = []) {
  const width = frame.inner / values.length;
  const gap = width > 4 ? width * 0.2 : 0;
  const zero = frame.y(0);
  const one = (i) => rectangle(frame.left + i * width + gap / 2, frame.y(values[i]), width - gap, zero);
  const plain = values.map((_, i) => i).filter((i) => !marked.includes(i));
  frame.svg.append(shape("path", { class: "bars", d: plain.map(one).join("") }),
                   shape("path", { class: "bars marked", d: marked.map(one).join("") }));
  const taken = [];
  for (const i of marked) {
    const middle = (i + 0.5) * width;
    const x = frame.left + Math.min(Math.max(middle, 10), frame.inner - 10);
    const side = values[i] < 0 ? 11 : -3;
    if (taken.some(([at, s]) => s === side && Math.abs(at - x) < 22)) continue;
    taken.push([x, side]);
    const y = Math.min(Math.max(frame.y(values[i]) + side, 9), +frame.svg.getAttribute("height") - 1);
    frame.svg.append(shape("text", { class: "mark", x, y, "text-anchor": "middle" }, String(i)));
  }
}

// Draws one line for each series; the chosen one is bold, with a dot at one of its items. x(i) is
// the place of item i.
function lines(frame, series, chosen, at) {
  const step = frame.inner / series[0].length;
  const x = (i) => frame.left + (i + 0.5) * step;
  const path = (values) => values.map((v, i) => (i ? "L" : "M") + x(i).toFixed(1) + "," +
      frame.y(v).toFixed(1)).join("");
  const others = series.filter((_, i) => i !== chosen).map(path).join("");
  frame.svg.append(shape("path", { class: "line thin", d: others }));
  frame.svg.append(shape("path", { class: "line", d: path(series[chosen]) }));
  frame.svg.append(shape("circle", { class: "dot", cx: x(at), cy: frame.y(series[chosen][at]), r: 4 }));
}

// Returns the min and the max of many numbers, with some space around them.
function rangeOf(values, { zero = false, log = false, space = 0.06 } = {}) {
  let [low, high] = zero ? [0, 0] : [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value) || (log && value <= 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0.1, 1];
  if (log) return [low / 1.2, high * 1.2];
  const more = high > low ? (high - low) * space : 0.5;
  return [low - (low < 0 || !zero ? more : 0), high + more];
}

// Makes a canvas with one pixel for each cell; the style enlarges it. colour(row, column) is
// [red, green, blue], or null for no cell.
function cells(rows, columns, colour) {
  const canvas = make("canvas", { width: columns, height: rows });
  const image = new ImageData(columns, rows);
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      const rgb = colour(row, column);
      if (!rgb) continue;
      const at = 4 * (row * columns + column);
      image.data.set(rgb, at);
      image.data[at + 3] = 255;
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// Makes a heat map with marks at the chosen row and column. A click calls pick(row, column).
// tell(row, column) returns the text of the line under the map. scale = [low, high, colours] is the
// legend, where colours(0) belongs to low and colours(1) to high. `below` is the labels of the columns.
function heatMap({ names, columns, colour, row, column, pick, tell, name, scale, height = 15, below }) {
  const rows = names.length;
  const canvas = cells(rows, columns, colour);
  const legend = make("p", { class: "scale" }, scale[0],
                      cells(1, 40, (_, i) => scale[2](i / 39)), scale[1]);
  const readout = make("p", { class: "readout" }, tell(row, column));
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [clamp((event.clientY - box.top) / box.height * rows, rows),
            clamp((event.clientX - box.left) / box.width * columns, columns)];
  };
  const share = (value, of) => 100 * value / of + "%";
  const field = make("div", {
    class: "field", role: "img", "aria-label": name + ". " + readout.textContent,
    style: `height: ${Math.max(rows * height, 60)}px`,
    onclick: (event) => pick(...place(event)),
    onpointermove: (event) => { readout.textContent = tell(...place(event)); },
    onpointerleave: () => { readout.textContent = tell(row, column); },
  }, canvas,
  make("i", { style: `top: ${share(row, rows)}; height: ${share(1, rows)}; width: 100%` }),
  make("i", { style: `left: ${share(column, columns)}; width: ${share(1, columns)}; height: 100%` }));
  return make("div", { class: "heat" }, make("div", { class: "map" }, labels(names, row, height), field),
    below ?? "", make("div", { class: "under" }, readout, legend));
}

// Returns the labels of rows or columns of a size. If they are small, only some have a label: the
// chosen one, and others that leave it room.
function labels(names, chosen, size, kind = "labels") {
  const every = Math.ceil(10 / size);
  const fits = (i) => i === chosen || (i % every === 0 && Math.abs(i - chosen) >= every);
  return make("div", { class: kind, "aria-hidden": "true" }, ...names.map((text, i) =>
    make("span", i === chosen ? { class: "on" } : {}, fits(i) ? text : "")));
}

function table(head, rows, attributes = {}) {
  return make("table", attributes,
    make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows));
}
