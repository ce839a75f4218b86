// A page with an index: one of its traces is open, or the index is; rules, cases and sentences can be
// looked for.  What is looked for is in the address, so that it can be sent to others.
function startIndex() {
  const find = document.getElementById("find"), only = document.getElementById("only");
  if (!find) return;
  const rows = [...document.querySelectorAll(".matrix tr[data-rule]")];
  const cases = [...document.querySelectorAll(".reasons .cases > li")];
  const found = document.getElementById("found"), said = data.said || {};
  const lower = (text) => text.toLowerCase();
  const ofCase = new Map(cases.map((item) => [item, lower(`${item.querySelector("code").textContent} ${said[item.id] || ""}`)]));
  const ofRow = new Map(rows.map((row) => [row, lower([row.dataset.rule, ...[...row.querySelectorAll("a[data-case]")].map((link) => `${link.title} ${said[link.dataset.case] || ""}`)].join(" "))]));
  const closed = new Map();
  const filter = () => {
    const words = lower(find.value.trim());
    for (const row of rows) row.hidden = !ofRow.get(row).includes(words) || (only.checked && !("bad" in row.dataset));
    for (const item of cases) item.hidden = !ofCase.get(item).includes(words);
    hideEmpty(words !== "", closed);
    const seen = rows.filter((row) => !row.hidden).length;
    const bad = cases.filter((item) => !item.hidden).length;
    found.textContent = `showing ${grouped(seen)} of ${count(rows.length, "rule")}, ${grouped(bad)} of ${count(cases.length, "case")} that did not pass`;
  };
  const asked = new URLSearchParams(location.search);
  find.value = asked.get("find") || "";
  only.checked = asked.has("only");
  for (const field of [find, only]) {
    field.addEventListener("input", () => {
      filter();
      remember(find.value.trim(), only.checked);
    });
  }
  document.querySelector(".filters").hidden = false;
  filter();
}

// Headings and groups in which nothing is left are hidden; groups with a hit are open meanwhile.
function hideEmpty(searching, closed) {
  const left = (box, what) => box.querySelector(`${what}:not([hidden])`) !== null;
  for (const box of document.querySelectorAll(".reasons details")) {
    if (!closed.has(box)) closed.set(box, !box.open);
    box.open = searching ? left(box, ".cases > li") : !closed.get(box);
    if (!searching) closed.delete(box);
  }
  for (const item of document.querySelectorAll(".reasons > ul > li")) item.hidden = !left(item, ".cases > li");
  for (const box of document.querySelectorAll(".reasons .rest")) box.hidden = !left(box, ".cases > li");
  for (const list of document.querySelectorAll(".reasons > ul")) {
    list.hidden = !left(list, ".cases > li");
    list.previousElementSibling.hidden = list.hidden;
  }
  for (const part of document.querySelectorAll(".matrix tbody")) part.hidden = !left(part, "tr[data-rule]");
}

// The search in the address; a page of a disk may not be allowed to change its own.
function remember(words, only) {
  const asked = new URLSearchParams();
  if (words) asked.set("find", words);
  if (only) asked.set("only", "");
  const query = asked.toString();
  try {
    history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
  } catch {
    // then it holds for this visit
  }
}

// The index is left for a trace and found again where it was.
function showIndex(shown, back) {
  const index = document.getElementById("index");
  if (!index) return;
  if (!shown && !index.hidden) back.top = window.scrollY;
  const returns = shown && index.hidden;
  index.hidden = !shown;
  document.getElementById("back").hidden = shown;
  if (returns) window.scrollTo(0, back.top || 0);
  else if (!shown) window.scrollTo(0, 0);
}

// What an address names inside a closed list is opened.
function reveal() {
  const named = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  const inner = named?.querySelector(":scope > details");
  if (inner) inner.open = true;
  const box = named?.closest("details");
  if (!box) return;
  for (let outer = box; outer; outer = outer.parentElement.closest("details")) outer.open = true;
  named.scrollIntoView({ block: "center" });
}
