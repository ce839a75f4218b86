// The results site works without this: rows can be looked for, two targets chosen, the theme set.
const find = document.getElementById("find"), only = document.getElementById("only");
if (find) {
  const rows = [...document.querySelectorAll("tr[data-name]")];
  const asked = new URLSearchParams(location.search);
  find.value = asked.get("rules") || "";
  only.checked = asked.has("failing");
  const filter = () => {
    const words = find.value.trim().toUpperCase();
    for (const row of rows) row.hidden = !row.dataset.name.toUpperCase().includes(words) || (only.checked && !("bad" in row.dataset));
    for (const part of document.querySelectorAll("tbody[id]")) part.hidden = !part.querySelector("tr[data-name]:not([hidden])");
    const shown = rows.filter((row) => !row.hidden).length;
    document.getElementById("found").textContent = `showing ${shown} of ${rows.length} rules`;
  };
  const keep = () => {
    const said = new URLSearchParams();
    if (find.value) said.set("rules", find.value);
    if (only.checked) said.set("failing", "");
    try {
      history.replaceState(null, "", `${location.pathname}${said.size ? `?${said}` : ""}${location.hash}`);
    } catch {
      // some browsers refuse it for a page from a disk
    }
  };
  for (const input of [find, only]) input.addEventListener("input", () => { filter(); keep(); });
  document.querySelector(".filters").hidden = false;
  filter();
}

const choose = document.getElementById("choose");
if (choose) {
  const [one, other, go] = ["one", "other", "go"].map((id) => document.getElementById(id));
  const lead = () => {
    const pair = document.querySelector(`[data-pair="${CSS.escape(one.value)} ${CSS.escape(other.value)}"]`);
    go.toggleAttribute("hidden", !pair);
    if (pair) go.href = pair.getAttribute("href");
  };
  for (const select of [one, other]) select.addEventListener("change", lead);
  choose.hidden = false;
  lead();
}
