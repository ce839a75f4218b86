// A trace as its page asks for it: steps with their words, and the state behind any of them.
class Trace {
  constructor(data, start, revisions) {
    this.data = data;
    this.start = start;
    this.steps = data.steps;
    this.lanes = data.lanes;
    this.wrong = data.wrong;
    this.revision = revisions[data.revision];
    this.kept = [{}];
  }

  get length() {
    return this.steps.length;
  }

  link(index) {
    return `#${this.start}step-${index + 1}`;
  }

  words(index) {
    const line = this.data.lines[index];
    const text = line.slice(line.indexOf(". ") + 2).replace(/ {3}← (also )?wrong$/, "");
    const arrow = text.lastIndexOf(" → ");
    return arrow < 0 ? [text, ""] : [text.slice(0, arrow), text.slice(arrow + 3)];
  }

  // The fields of the state before and after a step.  Every hundredth state is kept.
  around(index) {
    const step = this.steps[index], before = changed(this.stateBefore(index), step.was);
    return [before, changed(before, step.ch)];
  }

  stateBefore(index) {
    const every = 100;
    let place = Math.min(Math.floor(index / every), this.kept.length - 1);
    let state = this.kept[place];
    for (let at = place * every; at < index; at += 1) {
      state = changed(changed(state, this.steps[at].was), this.steps[at].ch);
      if ((at + 1) % every === 0 && this.kept.length === (at + 1) / every) this.kept.push(state);
    }
    return state;
  }
}

function changed(state, changes) {
  if (!changes) return state;
  const after = { ...state };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete after[name];
    else after[name] = value;
  }
  return after;
}
