// The list of steps: only the lines that can be seen are there.
const LINE = 32;

class List {
  constructor(root, trace) {
    this.trace = trace;
    this.scroll = root.querySelector(".scroll");
    this.ol = root.querySelector("ol");
    this.shown = root.querySelector(".shown");
    this.chosen = 0;
    this.ol.style.height = `${trace.length * LINE}px`;
    const latest = trace.steps.reduce((most, step) => Math.max(most, step.at), 0);
    this.ol.style.setProperty("--n", `${grouped(trace.length).length * 0.62 + 1}em`);
    this.ol.style.setProperty("--at", `${ms(latest).length * 0.58 + 0.6}em`);
    this.scroll.addEventListener("scroll", () => this.redraw(), { passive: true });
    new ResizeObserver(() => this.redraw()).observe(this.scroll);
  }

  choose(index) {
    this.chosen = index;
    const { scroll } = this, y = index * LINE;
    if (y < scroll.scrollTop || y + LINE > scroll.scrollTop + scroll.clientHeight) {
      scroll.scrollTop = Math.max(0, y - scroll.clientHeight / 2);
    }
    this.redraw();
  }

  redraw() {
    const { scroll, trace } = this;
    const first = Math.max(0, Math.floor(scroll.scrollTop / LINE) - 4);
    const last = Math.min(trace.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / LINE) + 4);
    const focused = this.ol.contains(document.activeElement) ? document.activeElement.hash : null;
    this.ol.replaceChildren(...[...Array(Math.max(0, last - first)).keys()].map((offset) => this.line(first + offset)));
    if (focused) this.ol.querySelector(`a[href="${focused}"]`)?.focus({ preventScroll: true });
    const one = Math.floor(scroll.scrollTop / LINE) + 1;
    const end = Math.min(trace.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / LINE));
    this.shown.textContent = `showing ${grouped(Math.max(0, end - one + 1))} of ${grouped(trace.length)}`;
  }

  line(index) {
    const step = this.trace.steps[index];
    const [said, fate] = this.trace.words(index);
    const error = step.wrong || step.also || (step.err && step.err !== "NONE");
    const item = make("li", { value: index + 1, class: `${step.kind}${index === this.trace.wrong ? " wrong" : step.also ? " also" : ""}` },
      make("a", { href: this.trace.link(index), "aria-current": index === this.chosen ? "step" : null },
        make("span", { class: "n" }, grouped(index + 1)),
        make("span", { class: "at" }, ms(step.at)),
        make("span", { class: "said" }, said),
        make("span", { class: `out${error ? " error" : ""}` }, step.err || fate)));
    item.style.top = `${index * LINE}px`;
    return item;
  }
}
