// A page with an index: one of its traces is open, or the index is; rows can be looked for.
function startIndex() {
  const find = document.getElementById("find"), only = document.getElementById("only");
  if (!find) return;
  const rows = [...document.querySelectorAll(".matrix tr[data-rule]")];
  const found = document.getElementById("found");
  const filter = () => {
    const words = find.value.trim().toUpperCase();
    for (const row of rows) row.hidden = !row.dataset.rule.includes(words) || (only.checked && !("bad" in row.dataset));
    const seen = rows.filter((row) => !row.hidden).length;
    found.textContent = `showing ${grouped(seen)} of ${count(rows.length, "rule")}`;
  };
  find.addEventListener("input", filter);
  only.addEventListener("change", filter);
  document.querySelector(".filters").hidden = false;
  filter();
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
  const box = named?.closest("details");
  if (!box) return;
  box.open = true;
  named.scrollIntoView({ block: "center" });
}
