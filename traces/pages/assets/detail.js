// One step: expected beside observed, what changed, and the rules behind it.
class Detail {
  constructor(root, trace, level) {
    this.root = root;
    this.trace = trace;
    this.level = level;
    this.all = false;
  }

  choose(index) {
    this.chosen = index;
    const { trace, level } = this, step = trace.steps[index];
    const [said, fate] = trace.words(index);
    const box = make("input", { type: "checkbox", onchange: () => this.showAll(box.checked) });
    box.checked = this.all;
    const file = step.file ? `line${step.file.length > 1 ? "s" : ""} ${step.file.join(", ")} of the file’s steps` : "";
    this.root.replaceChildren(
      make("header", null,
        make("p", { class: "where" },
          make("a", { href: trace.link(index) }, `Step ${grouped(index + 1)}`),
          make("span", null, step.until > step.at ? `${grouped(step.at)} to ${ms(step.until)}` : `at ${ms(step.at)}`),
          make("span", null, file),
          make("label", null, box, "all fields")),
        make(level, { class: "text" }, said, fate ? make("span", { class: `fate${step.wrong || step.also ? " wrong" : ""}` }, ` → ${fate}`) : null)),
      ...[this.answer(step, index), this.state(index), this.blamed(index), rulesPart(trace, this.decided(step), this.below()), this.request(step)].filter(Boolean));
    if (index >= trace.data.judged) this.note("The model stopped before this step: after a violation nothing is judged.");
    else if (!step.m && !step.a && !step.ch) this.note(step.kind === "time" ? "No timer fires meanwhile." : "Nothing changes here.");
  }

  // Where a late answer is wrong, the rules are those by which its request was taken in.
  decided(step) {
    return step.wrong && !step.m && step.of !== undefined ? this.trace.steps[step.of] : step;
  }

  // The rule that is broken may have answered in a step before the one that goes wrong.
  blamed(index) {
    const { verdict, wrong } = this.trace.data;
    const here = [null, index, this.trace.steps[index].of];
    if (index !== wrong || here.includes(verdict.decided)) return null;
    const link = make("a", { href: this.trace.link(verdict.decided) }, `step ${grouped(verdict.decided + 1)}`);
    return make("section", { class: "part" }, make(this.below(), null, "Where the answer is due"),
      make("p", null, "Rule ", make("code", null, verdict.rule), " fires in ", link, ". Below is what took the request in."));
  }

  below() {
    return this.level === "h3" ? "h4" : "h5";
  }

  showAll(all) {
    this.all = all;
    this.choose(this.chosen);
    this.root.querySelector("input").focus();
  }

  note(text) {
    this.root.append(make("section", { class: "part" }, make("p", { class: "note" }, text)));
  }

  answer(step, index) {
    if (step.a === undefined) {
      if (step.to === undefined) return null;
      const part = make("p", null, "The request waits; it is answered in ", make("a", { href: this.trace.link(step.to) }, `step ${step.to + 1}`), ".");
      return make("section", { class: "part" }, make(this.below(), null, "Answer"), part);
    }
    const rows = this.trace.data.pool[step.a];
    const differ = rows.filter((row) => !row[3]);
    let shown = this.all ? rows : differ;
    if (!shown.length) shown = rows.filter((row) => /errorCode$/.test(row[0])).slice(0, 3);
    if (!shown.length) shown = rows.slice(0, 3);
    const free = step.free || index >= this.trace.data.judged;
    const verdict = step.wrong ? this.wrong(differ) : free ? "" : differ.length ? this.lesser(differ, step.also) : "As expected.";
    return make("section", { class: "part" }, make(this.below(), null, "Answer"),
      verdict ? make("p", null, verdict) : null,
      table(["field", "expected", "observed"], "fields", shown.map(([name, got, want, same]) => [same && !(step.wrong && step.free) ? "" : "differs",
        cell(name), cell(free && !step.wrong ? "—" : want ?? (step.free ? "nothing yet" : "not there")), cell(got ?? "not there", "got")])),
      this.counted(shown.length, rows.length));
  }

  // An answer that the judge lets pass, since what comes later is graver, or what differs is free.
  lesser(differ, also) {
    const { wrong } = this.trace.data, named = differ.map((row) => row[0]).join(", ");
    const rest = also ? ". This is wrong, too, and not" : ", which is not";
    const words = `${named} ${differ.length === 1 ? "is" : "are"} not the model's${rest} the subject of the verdict`;
    if (wrong === null) return `${words}.`;
    return [`${words}: that is `, make("a", { href: this.trace.link(wrong) }, `step ${grouped(wrong + 1)}`), "."];
  }

  wrong(differ) {
    const { verdict } = this.trace.data;
    if (verdict.wrong === "EARLY" && !differ.length) return `Expected no answer yet; got ${verdict.got}.`;
    if (verdict.wrong === "SILENCE") return `Got ${verdict.got}.`;
    return differ.length ? `Expected ${verdict.expected.join("; or ") || "other bytes"}; got ${verdict.got}.` : `Got ${verdict.got}, which is not a right answer here.`;
  }

  state(index) {
    const [before, after] = this.trace.around(index);
    const changes = this.trace.steps[index].ch || {};
    const names = this.all ? [...new Set([...Object.keys(before), ...Object.keys(after)])] : Object.keys(changes);
    if (!names.length) return null;
    names.sort((a, b) => weight(a) - weight(b) || a.localeCompare(b));
    const total = new Set([...Object.keys(before), ...Object.keys(after)]).size;
    return make("section", { class: "part" }, make(this.below(), null, "State of the group, as the model has it"),
      table(["field", "before", "after"], "fields", names.map((name) => ["",
        cell(name), cell(before[name] ?? "—", "was"), cell(after[name] ?? "gone", name in changes ? "now" : "")])),
      this.counted(names.length, total));
  }

  request(step) {
    if (step.q === undefined || !this.all) return null;
    const rows = this.trace.data.pool[step.q];
    return make("section", { class: "part" }, make(this.below(), null, "Request"),
      table(["field", "value"], "fields", rows.map(([name, value]) => ["", cell(name), cell(value)])));
  }

  counted(shown, all) {
    return shown < all ? make("p", { class: "note" }, `showing ${shown} of ${count(all, "field")}`) : null;
  }
}

function weight(name) {
  const order = ["state", "generation", "epoch", "target epoch", "leader", "protocol", "instance ", "pending ", "member ", "session timer", "join timer", "sync timer"];
  const place = order.findIndex((start) => name.replace(/^group .* · /, "").startsWith(start));
  return place < 0 ? order.length : place;
}

function cell(text, name) {
  return make("td", { class: name }, text);
}

function table(heads, name, rows) {
  return make("table", { class: name },
    make("thead", null, make("tr", null, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", null, rows.map(([kind, ...cells]) => make("tr", { class: kind || null }, cells))));
}
