// Elements in few words.  Text is always set as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";

function make(kind, values, ...children) {
  return fill(document.createElement(kind), values, children);
}

function draw(kind, values, ...children) {
  return fill(document.createElementNS(SVG, kind), values, children);
}

function fill(element, values, children) {
  for (const [name, value] of Object.entries(values || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function count(number, word) {
  return `${grouped(number)} ${word}${number === 1 ? "" : "s"}`;
}

function grouped(number) {
  return number.toLocaleString("en");
}

function ms(number) {
  return `${grouped(number)} ms`;
}
