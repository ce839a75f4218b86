// What is drawn in the lanes, from back to front.
function marks(trace, place, view, chosen) {
  const seen = (span) => span.from <= view.to && (span.to ?? trace.length) >= view.from;
  const visible = (row) => row >= view.first - 1 && row <= view.last + 1;
  const { lanes } = trace;
  const at = [...Array(view.to - view.from + 1).keys()].map((offset) => view.from + offset);
  const rowed = at.filter((index) => trace.steps[index].row !== undefined);
  const parked = trace.parked || (trace.parked = findParked(trace));
  return [
    defs(),
    ...columns(trace, place, at, chosen),
    ...threads(trace, place, view),
    ...lanes.bars.filter((bar) => seen(bar) && visible(bar.row)).flatMap((bar) => hold(bar, trace, place, view)),
    ...lanes.timers.filter((timer) => timer.row >= 0 && seen(timer) && visible(timer.row)).flatMap((timer) => timerMark(timer, trace, place, view)),
    ...parked.filter((span) => seen(span) && visible(span.row)).map((span) => wait(span, trace, place)),
    ...lanes.bars.filter((bar) => bar.ends && bar.to >= view.from && bar.to <= view.to && visible(bar.row)).flatMap((bar) => ending(bar, trace, place)),
    ...rowed.flatMap((index) => exchange(trace.steps[index], index, place, view)),
    coordinator(trace, place, view, at, seen, chosen),
  ];
}

function defs() {
  const tip = (id, name) => draw("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, draw("path", { d: "M0 0L8 4L0 8z", class: name }));
  const stripes = (id, name) => draw("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, draw("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: name }));
  return draw("defs", null, tip("tip", "tip"), tip("tip-soft", "tip-soft"), tip("tip-bad", "tip-bad"), stripes("parked", "stripe"), stripes("beyond", "stripe-soft"));
}

function findParked(trace) {
  return trace.steps.flatMap((step, index) => (step.to > index ? [{ row: step.row, from: index, to: step.to }] : []));
}

function box(x, y, width, height, name, more) {
  return draw("rect", { x, y, width: Math.max(0, width), height, class: name, ...more });
}

function words(x, y, said, name, more) {
  return draw("text", { x, y, class: name, ...more }, said);
}

function line(x1, y1, x2, y2, name) {
  return draw("line", { x1, y1, x2, y2, class: name });
}

function columns(trace, place, at, chosen) {
  const found = [];
  for (const index of at) {
    const x = place.x[index], width = place.x[index + 1] - x;
    if (trace.steps[index].kind === "time") found.push(box(x, place.top, width, place.height, "passing"));
    if (index >= trace.data.judged) found.push(box(x, place.top, width, place.height, "beyond"));
    if (index === trace.wrong) found.push(box(x, place.top, width, place.height, "column wrong"));
    else if (index === chosen) found.push(box(x, place.top, width, place.height, "column"));
    if (index === chosen) found.push(box(x + 1, -4, width - 2, place.height + 8, index === trace.wrong ? "edge wrong" : "edge"));
  }
  return found;
}

function threads(trace, place, view) {
  const found = [], left = place.x[view.from], right = place.x[view.to + 1];
  for (let row = view.first; row <= view.last; row += 1) {
    const first = row === 0 || trace.lanes.rows[row - 1].lane !== trace.lanes.rows[row].lane;
    const y = place.at(row);
    if (first) found.push(line(left, y, right, y, row === 0 ? "rule-line" : "lane-line"));
    found.push(line(left, y + 29, right, y + 29, "thread"));
  }
  return found;
}

function span(thing, trace, place) {
  const to = thing.to ?? Math.min(trace.data.judged, trace.length) - 1;
  const left = place.middle(thing.from);
  const right = thing.to === null ? place.x[to + 1] : place.middle(to);
  return [left, Math.max(left + 6, right)];
}

function hold(bar, trace, place, view) {
  const [left, right] = span(bar, trace, place);
  const y = place.at(bar.row) + 19, odd = bar.row % 2 ? " odd" : "";
  const sticky = Math.min(Math.max(left, view.left) + 8, right - 8);
  const found = [box(left, y, right - left, 18, `hold${odd}`, { rx: 4 })];
  found[0].append(draw("title", null, `${bar.label}: ${bar.id}`));
  const room = (right - sticky) / LETTER;
  if (room > 3) found.push(words(sticky, y + 13, clip(bar.label, room), "hold-text"));
  return found;
}

function clip(said, letters) {
  return said.length <= letters ? said : `${said.slice(0, Math.max(1, Math.floor(letters) - 1))}…`;
}

function timerMark(timer, trace, place, view, height) {
  const y = height ?? place.at(timer.row) + 45;
  const [left, right] = span(timer, trace, place);
  const found = [line(left, y, right, y, "timer")];
  found[0].append(draw("title", null, timer.label));
  for (const index of within(timer.set, view)) found.push(draw("circle", { cx: place.middle(index), cy: y, r: 2.4, class: "timer-dot" }));
  if (timer.fired) {
    found.push(draw("path", { d: `M${right} ${y - 5}l5 5l-5 5l-5-5z`, class: "timer-dot" }));
    found.push(words(right + 8, y + 4, "fires", "halo dim"));
  }
  return found;
}

// The part of a sorted list that can be seen.
function within(list, view) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < view.from) low = middle + 1;
    else high = middle;
  }
  const found = [];
  while (low < list.length && list[low] <= view.to) found.push(list[low++]);
  return found;
}

function wait(thing, trace, place) {
  const left = place.up(thing.from), right = place.down(thing.to);
  const mark = box(left, place.at(thing.row) + 38, right - left, 5, "parked", { rx: 2 });
  mark.append(draw("title", null, `waits from step ${thing.from + 1} to step ${thing.to + 1}`));
  return mark;
}

function ending(bar, trace, place) {
  const x = span(bar, trace, place)[1], y = place.at(bar.row) + 20;
  if (bar.ends !== "fenced") {
    return [line(x, y - 3, x, y + 21, "end"), words(x + 6, y + 13, bar.ends, "halo dim")];
  }
  const found = [draw("path", { d: `M${x} ${y - 9}l-4 9l8 9l-8 9l4 9`, class: "cut" })];
  found.push(words(x + 9, y + 13, "fenced", "halo bad"));
  const next = trace.lanes.bars.find((other) => other.from === bar.to && other !== bar && trace.lanes.rows[other.row].lane === trace.lanes.rows[bar.row].lane);
  if (next && next.row !== bar.row) {
    const down = next.row > bar.row, from = down ? y + 27 : y - 9, to = place.at(next.row) + (down ? 20 : 38);
    found.push(line(x, from, place.middle(next.from), to, "handed"));
  }
  return found;
}

function exchange(step, index, place, view) {
  const y = place.at(step.row), top = Math.max(place.top, view.top + place.top), found = [];
  if (step.kind === "drop") {
    const x = place.middle(index);
    found.push(draw("path", { d: `M${x - 6} ${y + 23}l12 12m0-12l-12 12`, class: "drop" }), words(place.x[index] + 6, y + 12, "drops", "halo bad"));
    return found;
  }
  if (step.kind === "ask") {
    found.push(line(place.up(index), y + 20, place.up(index), top + 1, "arrow"));
    found.push(words(place.up(index) + 5, y + 13, place.asked(step), "halo"));
  }
  if (step.err) {
    const error = step.err !== "NONE";
    found.push(line(place.down(index), top, place.down(index), y + 19, `arrow ${error ? "error" : "answer"}`));
    found.push(words(place.down(index) - 1, y + 56, step.err, error ? "halo bad" : "halo dim", { "text-anchor": "end" }));
  } else if (step.wrong) {
    found.push(words(place.x[index] + 6, y + 56, "no answer", "halo bad"));
  }
  return found;
}

// The coordinator stays in sight: it is drawn where the view begins, over all else.
function coordinator(trace, place, view, at, seen, chosen) {
  const left = place.x[view.from], right = place.x[view.to + 1];
  const found = [box(left, 0, right - left, place.top, "backing")];
  let before = view.from > 0 ? trace.steps[view.from - 1].at : -1;
  let free = left;
  for (const index of at) {
    const step = trace.steps[index], x = place.x[index];
    if (index === trace.wrong || index === chosen) found.push(box(x, 0, place.x[index + 1] - x, place.top, `column${index === trace.wrong ? " wrong" : ""}`));
    const said = step.kind === "time" ? `+${ms(step.until - step.at)}` : step.at === before ? "" : ms(step.at);
    if (said && x + 6 >= free) {
      found.push(words(x + 6, 16, said, "time"));
      free = x + said.length * LETTER + 12;
    }
    before = step.kind === "time" ? -1 : step.at;
    if (NOBODYS[step.kind]) found.push(words(place.middle(index), RULER + 46, NOBODYS[step.kind], "bad", { "text-anchor": "middle" }));
  }
  found.push(line(left, RULER - 1, right, RULER - 1, "rule-line"));
  for (const phase of trace.lanes.phases.filter(seen)) found.push(...band(phase, trace, place, view));
  for (const timer of trace.lanes.timers.filter((each) => each.row < 0 && seen(each))) {
    found.push(...timerMark(timer, trace, place, view, place.group(timer.group) + (timer.label.startsWith("join") ? 34 : 43)));
    const [x, end] = span(timer, trace, place), start = Math.max(x, view.left) + 6;
    if ((end - start) / LETTER > timer.label.length) found.push(words(start, place.group(timer.group) + 38, timer.label, "halo dim"));
  }
  found.push(line(left, place.top, right, place.top, "lane-line"));
  return draw("g", { transform: `translate(0 ${view.top})` }, ...found);
}

function band(phase, trace, place, view) {
  const [left, right] = span(phase, trace, place), y = place.group(phase.group) + 4;
  const found = [box(left, y, right - left, 20, phase.state, { rx: 3 })];
  found[0].append(draw("title", null, `${phase.state}, ${phase.counts} ${phase.generation}`));
  const sticky = Math.min(Math.max(left, view.left) + 7, right - 4), room = (right - sticky) / LETTER;
  const full = `${phase.state} · ${phase.counts} ${phase.generation}`;
  const said = room >= full.length ? full : room >= 14 ? clip(`${phase.state.length > 10 ? `${phase.state.slice(0, 9)}…` : phase.state} · ${phase.counts[0]}${phase.generation}`, room) : room > 2.5 ? `${phase.counts[0]}${phase.generation}` : "";
  if (said) found.push(words(sticky, y + 14, said, "phase-text"));
  return found;
}
