// The time line of an audit: what is clicked is shown below its lane; arrows go from mark to mark.
function startTimes() {
  const times = document.getElementById("times");
  if (!times) return;
  const rows = new Map();
  for (const group of document.querySelectorAll("#rebalances > details")) {
    rows.set(group.dataset.lane, [...group.querySelectorAll(".rebalances > li")]);
  }
  const panel = make("div", { class: "chosen", role: "region", "aria-label": "Chosen in the time line" });
  const nearest = (lane, x) => {
    const far = (mark) => {
      const box = mark.getBoundingClientRect();
      return Math.max(box.left - x, x - box.right, 0);
    };
    const marks = [...lane.querySelectorAll("[data-column]")].filter(visible);
    const mark = marks.sort((a, b) => far(a) - far(b))[0];
    return mark && far(mark) <= 14 ? mark : null;
  };
  let chosen = null;
  const close = () => {
    panel.remove();
    chosen.removeAttribute("aria-expanded");
    chosen.focus();
  };
  const choose = (mark) => {
    const lane = mark.closest(".lane"), lines = mark.querySelector("title").textContent.split("\n");
    const button = make("button", { type: "button", class: "quiet", onclick: close }, "Close");
    const says = `${lane.querySelector(".name").textContent}, ${lines[0]}`;
    panel.replaceChildren(make("div", { class: "top-line" }, make("h3", { tabindex: -1 }, says), button));
    if ("column" in mark.dataset) {
      panel.append(...chosenRows(mark, rows, times));
    } else {
      const list = lines.slice(1).map((line) => make("li", {}, line));
      if (list.length) panel.append(make("ul", { class: "points" }, list));
      panel.append(make("p", {}, make("a", { href: mark.getAttribute("href") }, "All of them")));
    }
    chosen?.removeAttribute("aria-expanded");
    chosen = mark;
    chosen.setAttribute("aria-expanded", "true");
    lane.after(panel);
    panel.querySelector("h3").focus({ preventScroll: true });
    panel.scrollIntoView({ block: "nearest" });
  };
  times.addEventListener("click", (event) => {
    const lane = event.target.closest(".bars");
    const mark = event.target.closest(".bars a") || (lane && nearest(lane.parentElement, event.clientX));
    if (!mark) return;
    event.preventDefault();
    choose(mark);
  });
  times.addEventListener("keydown", (event) => {
    const mark = event.target.closest?.(".bars a");
    if (event.key === "Escape" && panel.isConnected) close();
    if (!mark) return;
    if (event.key === "Enter" || event.key === " ") choose(mark);
    else if (!go(mark, event.key, times)) return;
    event.preventDefault();
  });
  roam(times);
}

const visible = (mark) => mark.getClientRects().length > 0;

// The rebalances of a mark: copies of the rows below, open if they are few.
function chosenRows(mark, rows, times) {
  const { lane } = mark.closest(".lane").dataset, { columns } = mark.closest(".bars").dataset;
  const { from, span } = times.dataset;
  const column = (row) => Math.min(Math.floor(((row.dataset.at - from) * columns) / span), columns - 1);
  const all = lane === "0" ? [...rows.values()].flat() : rows.get(lane) || [];
  const inside = all.filter((row) => column(row) === Number(mark.dataset.column));
  inside.sort((a, b) => a.dataset.at - b.dataset.at);
  const some = inside.slice(0, 40).map((row) => {
    const copy = row.cloneNode(true);
    copy.removeAttribute("id");
    copy.firstElementChild.open = inside.length < 3;
    if (lane === "0") copy.querySelector(".when").after(make("span", { class: "of" }, ` ${row.closest("[data-name]").dataset.name}`));
    return copy;
  });
  const more = inside.length - some.length;
  const says = some.length ? `and ${grouped(more)} more in the list below` : "The page has no room for these; the JSON has more.";
  return [make("ul", { class: "rebalances" }, some), more || !some.length ? make("p", { class: "note" }, says) : ""];
}

// One mark of the time line can be reached by Tab; arrows go to the others.
function roam(times) {
  for (const mark of times.querySelectorAll(".bars a")) {
    mark.setAttribute("tabindex", "-1");
    mark.setAttribute("role", "button");
  }
  const first = [...times.querySelectorAll(".bars a")].find(visible);
  first?.setAttribute("tabindex", "0");
}

function go(mark, key, times) {
  const middle = (each) => each.getBoundingClientRect().left + each.getBoundingClientRect().width / 2;
  const bars = [...times.querySelectorAll(".bars")].filter((each) => visible(each) && each.querySelector("a"));
  const at = bars.indexOf(mark.closest(".bars"));
  const marks = (n) => [...(bars[n]?.querySelectorAll("a") || [])];
  const row = marks(at).sort((a, b) => middle(a) - middle(b)), n = row.indexOf(mark), here = middle(mark);
  const near = (all) => all.length && all.reduce((a, b) => (Math.abs(middle(b) - here) < Math.abs(middle(a) - here) ? b : a));
  const targets = { ArrowLeft: row[n - 1], ArrowRight: row[n + 1], Home: row[0], End: row.at(-1), ArrowUp: near(marks(at - 1)), ArrowDown: near(marks(at + 1)) };
  if (!(key in targets)) return false;
  const next = targets[key] || mark;
  mark.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
  return true;
}

startTimes();
