// What an address means, which trace is open, and the keys.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const data = read("data");
const articles = [...document.querySelectorAll("article.trace")];
const viewers = new Map();
const place = {}; // where in the index the reader was
let open = null;

function viewer(number) {
  if (!viewers.has(number)) {
    const article = articles[number - 1];
    const level = article.querySelector("h1") ? "h2" : "h3";
    const trace = read(`data-${number}`), start = number === 1 && !data.index ? "" : `${trace.key}-`;
    viewers.set(number, new Viewer(article, new Trace(trace, start, data.revisions), level));
  }
  return viewers.get(number);
}

// Addresses: #KEY of a trace, #KEY-step-12; #step-12 of the first on a page without an index.  Any
// other is the index's; where there is none, the first trace's.
function addressed() {
  const named = location.hash.slice(1), [, start, step] = /^(.*?)-?step-(\d+)$/.exec(named) || [];
  for (const [index, trace] of (data.traces || []).entries()) {
    if (trace.key === named) return [index + 1];
    if (trace.key === start) return [index + 1, step];
  }
  return data.index || !articles.length ? [null] : [1, start === "" ? step : undefined];
}

function follow() {
  const [number, step] = addressed();
  if (number === null) return close();
  for (const [index, article] of articles.entries()) article.hidden = index !== number - 1;
  for (const link of document.querySelectorAll(".which a")) {
    const here = link.hash === `#${data.traces[number - 1].key}`;
    link.toggleAttribute("aria-current", here);
    if (here) link.setAttribute("aria-current", "true");
  }
  showIndex(false, place);
  open = viewer(number);
  const start = open.index >= 0 ? open.index : open.trace.wrong ?? open.trace.data.shown ?? 0;
  open.show(step ? Number(step) - 1 : start);
}

function close() {
  open = null;
  for (const article of articles) article.hidden = true;
  showIndex(true, place);
  reveal();
}

const KEYS = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", d: "wrong", a: "all" };

document.addEventListener("keydown", (event) => {
  const busy = event.target.closest?.("input, textarea, select, .lanes .scroll");
  const plain = !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
  const typing = busy && !(busy.type === "checkbox");
  if (!open || !plain || !(event.key in KEYS)) return;
  if (typing && !(busy.matches(".scroll") && !event.key.startsWith("Arrow"))) return;
  event.preventDefault();
  open.act(KEYS[event.key]);
});

for (const keys of document.querySelectorAll(".keys")) keys.hidden = articles.length === 0;
startIndex();
window.addEventListener("hashchange", follow);
follow();
