// The rules that fired, and why the others of their table did not.
const NEAREST = 4;

function rulesPart(trace, step, level) {
  if (!step.m) return null;
  return make("section", { class: "part" }, make(level, null, step.m.length > 1 ? "What the model did" : "Why: the rule that fired"),
    step.m.map((done) => [
      step.m.length > 1 || done.span ? make("p", { class: "note" }, `${done.what}${when(done)}`) : null,
      done.d.map((point) => ruleCard(trace.revision, trace.revision.points[point])),
    ]).flat(2));
}

function when(done) {
  return done.span ? `, some time from ${grouped(done.span[0])} to ${ms(done.span[1])}` : "";
}

function ruleCard(revision, point) {
  const table = revision.tables[point.t], rule = table.rules[point.r];
  const rows = [
    ["when", rule.clauses.join(" and ")],
    ["then", rule.does],
    ["source", rule.source],
  ].filter(([, text]) => text);
  return make("div", { class: "rule" },
    make("p", { class: "id" }, make("code", null, rule.id), make("span", { class: "level" }, rule.level),
      make("span", { class: "is" }, `${table.name}, ${point.r < table.checks ? `check ${point.r + 1}` : "row"}`)),
    rule.because ? make("p", { class: "because" }, rule.because) : null,
    make("dl", null, rows.flatMap(([name, text]) => [make("dt", null, name), make("dd", null, text)])),
    others(table, point));
}

function others(table, point) {
  const rest = [...table.rules.keys()].filter((number) => number !== point.r);
  const order = rest.sort((a, b) => nearness(table, point, b) - nearness(table, point, a) || a - b);
  const list = make("ul", { class: "others" }, order.slice(0, NEAREST).map((number) => other(table, point, number)));
  const box = make("details", null, make("summary", null, `Why not the ${count(rest.length, "other")} of ${table.name}`), list);
  if (order.length > NEAREST) {
    const more = make("button", { type: "button", class: "quiet" }, `Show all ${order.length}`);
    more.addEventListener("click", () => {
      list.append(...order.slice(NEAREST).map((number) => other(table, point, number)));
      more.remove();
    });
    box.append(make("p", { class: "note" }, `showing the nearest ${NEAREST} of ${order.length} `, more));
  }
  return box;
}

// The later in its guard the first false clause is, the nearer a rule was; what a check hid is
// nearest; rows are nearer to a row than checks are, which ask about other things.
function nearness(table, point, number) {
  const clause = point.w[number];
  const alike = number < table.checks === point.r < table.checks ? 1 : 0;
  return clause < 0 ? 3 : alike + clause / table.rules[number].clauses.length;
}

function other(table, point, number) {
  const rule = table.rules[number], clause = point.w[number];
  if (clause < 0) {
    const first = table.rules[point.r].id;
    return make("li", null, make("code", null, rule.id), make("span", { class: "is" }, `not reached: ${first} comes first`));
  }
  const real = rule.asks[clause].map((feature) => `${table.features[feature]} is ${point.v[feature]}`).join(", ");
  return make("li", null, make("code", null, rule.id),
    make("span", null, make("span", { class: "no" }, `✗ ${rule.clauses[clause]}`), make("span", { class: "is" }, ` — ${real}`)));
}
