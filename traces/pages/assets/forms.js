// Copying a trace in another form.  Where a browser forbids it, the text is there to be taken.
class Forms {
  constructor(root, trace, say) {
    this.panel = root.querySelector(".form");
    this.text = this.panel.querySelector("textarea");
    this.say = say;
    const copy = root.querySelector(".copy");
    copy.append(...trace.data.forms.map((form) => make("button", { type: "button", onclick: () => this.take(form) }, form.name)));
    this.panel.querySelector("[data-do=close]").addEventListener("click", () => {
      this.panel.hidden = true;
    });
  }

  async take(form) {
    this.panel.hidden = false;
    this.text.value = form.text;
    this.text.rows = Math.min(14, form.text.split("\n").length + 1);
    let copied = true;
    try {
      await navigator.clipboard.writeText(form.text);
    } catch {
      this.text.select();
      copied = document.execCommand("copy");
    }
    const said = copied ? `Copied: ${form.name}` : `${form.name}: select the text and copy it`;
    this.panel.querySelector("b").textContent = said;
    this.say(said);
  }
}
