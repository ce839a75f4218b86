// The viewer of one trace: its parts, and going from step to step.
class Viewer {
  constructor(article, trace, level) {
    this.trace = trace;
    this.index = -1;
    const content = document.getElementById("viewer").content.cloneNode(true);
    this.root = content.querySelector(".viewer");
    for (const heading of this.root.querySelectorAll(".heading")) {
      heading.replaceWith(make(level, null, heading.textContent));
    }
    this.status = this.root.querySelector("[role=status]");
    this.input = this.root.querySelector("input");
    this.input.max = trace.length;
    this.root.querySelector(".of").textContent = `of ${grouped(trace.length)}`;
    this.button("wrong").hidden = trace.wrong === null;
    article.append(content);
    this.lanes = new Lanes(this.root.querySelector(".lanes"), trace, (index) => this.go(index));
    this.list = new List(this.root.querySelector(".steps"), trace);
    this.detail = new Detail(this.root.querySelector(".detail"), trace, level === "h2" ? "h3" : "h4");
    this.forms = new Forms(this.root, trace, (text) => this.say(text));
    this.root.addEventListener("click", (event) => {
      const action = event.target.closest?.("[data-do]")?.dataset.do;
      if (action) this.act(action);
    });
    this.input.addEventListener("change", () => this.go(Number(this.input.value) - 1));
  }

  button(name) {
    return this.root.querySelector(`[data-do=${name}]`);
  }

  say(text) {
    this.status.textContent = text;
  }

  act(action) {
    const places = { first: 0, back: this.index - 1, on: this.index + 1, last: this.trace.length - 1, wrong: this.trace.wrong };
    if (action === "all") this.detail.showAll(!this.detail.all);
    else if (action in places && places[action] !== null) this.go(places[action]);
  }

  // To a step, and to its address: that is what a reader copies.
  go(index) {
    this.show(index);
    history.replaceState(null, "", this.trace.link(this.index));
  }

  show(index) {
    if (!this.trace.length) return;
    const to = Math.max(0, Math.min(this.trace.length - 1, Number.isFinite(index) ? Math.trunc(index) : 0));
    const moved = to !== this.index;
    this.index = to;
    this.input.value = to + 1;
    for (const name of ["first", "back"]) this.button(name).disabled = to === 0;
    for (const name of ["on", "last"]) this.button(name).disabled = to === this.trace.length - 1;
    this.lanes.choose(to);
    this.list.choose(to);
    this.detail.choose(to);
    const [said, fate] = this.trace.words(to);
    const wrong = to === this.trace.wrong ? ". Here it goes wrong" : "";
    if (moved) this.say(`Step ${to + 1} of ${this.trace.length}: ${said}${fate ? `, answered ${fate}` : ""}${wrong}.`);
  }
}
