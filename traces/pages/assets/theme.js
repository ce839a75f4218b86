// The theme: as the system has it, light or dark; remembered where a page may remember.
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
