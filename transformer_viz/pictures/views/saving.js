// A panel as a file: what stands on its canvas and in its drawing, one over the other.

/** Return a panel as a Blob of "png" or "svg". */
export async function pictureOf(canvas, svg, background, kind) {
  const { width, height } = canvas.getBoundingClientRect();
  const whole = svg.cloneNode(true);
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) whole.setAttribute(name, value);
  whole.style.fontFamily = getComputedStyle(canvas).fontFamily;
  const add = (name, attributes) => {
    const element = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries({ ...attributes, width, height })) element.setAttribute(key, value);
    return element;
  };
  whole.prepend(add("rect", { fill: background }), add("image", { href: canvas.toDataURL() }));
  const text = new Blob([new XMLSerializer().serializeToString(whole)], { type: "image/svg+xml" });
  if (kind === "svg") return text;
  const image = new Image();
  const address = URL.createObjectURL(text);
  image.src = address;
  await image.decode();
  const copy = new OffscreenCanvas(Math.round(width * 2), Math.round(height * 2));
  copy.getContext("2d").drawImage(image, 0, 0, copy.width, copy.height);
  URL.revokeObjectURL(address);
  return copy.convertToBlob({ type: "image/png" });
}

/** Let the browser save a Blob under a name. */
export function save(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
