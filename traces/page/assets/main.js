// What an address means, which trace is open, the keys and the theme.
const data = JSON.parse(document.getElementById("data").textContent);
const articles = [...document.querySelectorAll("article.trace")];
const viewers = new Map();
const place = {}; // where in the index the reader was
let open = null;

function viewer(number) {
  if (!viewers.has(number)) {
    const article = articles[number - 1];
    const level = article.querySelector("h1") ? "h2" : "h3";
    viewers.set(number, new Viewer(article, new Trace(data.traces[number - 1], number, data.revisions), level));
  }
  return viewers.get(number);
}

// Addresses: #step-12 of the first trace, #t3 of the third, #t3-step-12.
function follow() {
  const found = /^#(?:t(\d+))?-?(?:step-(\d+))?$/.exec(location.hash);
  const named = Boolean(found && (found[1] || found[2]));
  const number = named ? Number(found[1] || 1) : articles.length && !data.index ? 1 : null;
  if (number === null || number > articles.length) return close();
  for (const [index, article] of articles.entries()) article.hidden = index !== number - 1;
  for (const link of document.querySelectorAll(".which a")) {
    link.toggleAttribute("aria-current", link.hash === `#t${number}`);
    if (link.hash === `#t${number}`) link.setAttribute("aria-current", "true");
  }
  showIndex(false, place);
  open = viewer(number);
  const start = open.index >= 0 ? open.index : open.trace.wrong ?? 0;
  open.show(found && found[2] ? Number(found[2]) - 1 : start);
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

const themes = ["auto", "light", "dark"];
const button = document.getElementById("theme");

function paint(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.textContent = `Theme: ${theme}`;
}

function remembered() {
  try {
    return localStorage.getItem("fencepost-theme");
  } catch {
    return null; // a page from a disk may have no storage
  }
}

let theme = themes.includes(remembered()) ? remembered() : "auto";
button.hidden = false;
button.addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  paint(theme);
  try {
    localStorage.setItem("fencepost-theme", theme);
  } catch {
    // then it holds for this visit
  }
});
paint(theme);
for (const keys of document.querySelectorAll(".keys")) keys.hidden = articles.length === 0;
startIndex();
window.addEventListener("hashchange", follow);
follow();
