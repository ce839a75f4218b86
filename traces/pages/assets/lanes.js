// The swim lanes, drawn for what can be seen: while one scrolls, what comes into view is drawn.
const MARGIN = 240;

class Lanes {
  constructor(root, trace, choose) {
    this.trace = trace;
    this.place = new Geometry(trace);
    this.scroll = root.querySelector(".scroll");
    this.labels = root.querySelector(".labels");
    this.space = root.querySelector(".space");
    this.shown = root.querySelector(".shown");
    this.chosen = 0;
    this.svg = draw("svg", { role: "img", "aria-label": "Swim lanes; the list of steps says the same in words." });
    this.space.style.width = `${this.place.width}px`;
    this.space.style.height = `${this.place.height}px`;
    this.space.append(this.svg);
    this.label();
    root.querySelector(".legend").append(...legend(trace));
    this.svg.addEventListener("click", (event) => {
      const box = this.space.getBoundingClientRect();
      choose(this.place.index(event.clientX - box.left));
    });
    this.scroll.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(this.scroll);
  }

  label() {
    const { place, trace } = this;
    const top = make("div", { class: "fixed" }, make("div", { class: "lane" }, "time"));
    top.style.height = `${place.top}px`;
    top.firstChild.style.top = "3px";
    (place.groups.length ? place.groups : [""]).forEach((group) => {
      const name = place.groups.length > 1 ? `coordinator, ${group}` : "coordinator";
      const label = make("div", { class: "lane" }, name);
      label.style.top = `${place.group(group) + 5}px`;
      top.append(label);
    });
    const rest = make("div");
    rest.style.height = `${place.height - place.top}px`;
    trace.lanes.rows.forEach((row, index) => {
      const first = index === 0 || trace.lanes.rows[index - 1].lane !== row.lane;
      const alone = row.lane === row.who || row.lane === `dynamic ${row.who}`;
      if (first) {
        const label = make("div", { class: "lane" }, row.lane);
        label.style.top = `${index * ROW + 5}px`;
        rest.append(label);
      }
      if (!alone) {
        const who = make("div", { class: "who" }, row.who);
        who.style.top = `${index * ROW + 24}px`;
        rest.append(who);
      }
    });
    this.labels.append(top, rest);
  }

  later() {
    if (this.waits) return;
    this.waits = requestAnimationFrame(() => {
      this.waits = 0;
      this.redraw();
    });
  }

  choose(index) {
    this.chosen = index;
    const { place, scroll } = this;
    const wide = scroll.clientWidth - this.labels.offsetWidth;
    const left = place.x[index], right = place.x[index + 1];
    if (left < scroll.scrollLeft + 20 || right > scroll.scrollLeft + wide - 20) {
      scroll.scrollLeft = Math.max(0, left - wide / 3);
    }
    const row = this.trace.steps[index].row;
    if (row !== undefined) {
      const y = place.at(row), high = scroll.clientHeight;
      if (y < scroll.scrollTop + place.top || y + ROW > scroll.scrollTop + high) {
        scroll.scrollTop = Math.max(0, y - place.top - (high - place.top) / 2 + ROW / 2);
      }
    }
    this.redraw();
  }

  redraw() {
    const { place, scroll, trace, svg } = this;
    if (!trace.length) return;
    const wide = scroll.clientWidth - this.labels.offsetWidth;
    const from = place.index(Math.max(0, scroll.scrollLeft - MARGIN));
    const to = place.index(Math.min(place.width - 1, scroll.scrollLeft + wide + MARGIN));
    const high = scroll.clientHeight;
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW));
    const last = Math.min(trace.lanes.rows.length - 1, Math.ceil((scroll.scrollTop + high - place.top) / ROW));
    const view = { from, to, first, last, left: scroll.scrollLeft, right: scroll.scrollLeft + wide, top: scroll.scrollTop };
    const x = place.x[from], width = place.x[to + 1] - x;
    svg.style.left = `${x}px`;
    svg.style.top = "0";
    svg.setAttribute("width", width);
    svg.setAttribute("height", place.height);
    svg.setAttribute("viewBox", `${x} 0 ${width} ${place.height}`);
    svg.replaceChildren(...marks(trace, place, view, this.chosen));
    this.tell(view, wide);
  }

  tell(view, wide) {
    const { place, trace, scroll } = this;
    const one = place.index(scroll.scrollLeft) + 1;
    const end = place.index(Math.min(place.width - 1, scroll.scrollLeft + wide)) + 1;
    const rows = trace.lanes.rows.length;
    const seen = view.last - view.first + 1;
    const lanes = seen < rows ? `, ${seen} of ${count(rows, "lane")}` : "";
    this.shown.textContent = `showing ${grouped(end - one + 1)} of ${count(trace.length, "step")} (${grouped(one)} to ${grouped(end)})${lanes}`;
  }
}

function legend(trace) {
  const counted = trace.lanes.phases.some((phase) => phase.counts === "epoch");
  const states = counted
    ? { empty: "Empty", preparing: "Assigning", completing: "Reconciling", stable: "Stable" }
    : { empty: "Empty", preparing: "PreparingRebalance", completing: "CompletingRebalance", stable: "Stable" };
  const words = { ...states, hold: "a member id", parked: "waits for its answer", timer: "timer", cut: "fenced" };
  return Object.entries(words).map(([name, word]) => make("span", { class: `l-${name}` }, word));
}
