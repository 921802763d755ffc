// Connects the figures with what they depend on, and shows the page.

const beginning = tokens.slice(0, 60).map((token) => token.text ?? label(token) + " ").join("").trim();
document.title = "gpt2 inspect: " + [...beginning.replace(/\s+/g, " ")].slice(0, 60).join("");
byId("facts").textContent = `${DATA.model}: ${L} layers, ${H} heads, ${E} dimensions, ` +
  `${T} token${T > 1 ? "s" : ""}` + (T > 1 ? `, loss ${show(DATA.loss)}` : "") +
  (T > 1 && other ? `; loss of ${other.name}: ${show(other.loss)}` : "") +
  (DATA.changes?.length ? `; changed: ${DATA.changes.join(", ")}` : "");
listen();
panel("text", ["token"], drawText);
panel("guess", ["token"], drawGuess);
panel("short", ["norm"], drawShort);
panel("steps", ["token", "norm"], drawSteps);
panel("outliers", ["token", "norm"], drawOutliers);
panel("outlier_map", ["token", "norm"], drawOutlierMap);
panel("maps", ["token", "norm"], drawMaps);
panel("stream", ["token", "norm"], drawStream);
panel("strongest", [], drawStrongest);
panel("heads", [], drawHeads);
panel("head", ["token", "layer", "head"], drawHead);
panel("lens", ["token"], drawLens);
panel("lens_list", ["token"], drawLensList);
panel("parts", ["token", "layer"], drawParts);
panel("parts_heads", ["token", "layer", "head"], drawPartsHeads);
panel("neurons", ["token", "layer"], drawNeurons);
showOutlier();
readHash();
drawAll();
