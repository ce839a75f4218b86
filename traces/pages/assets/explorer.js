// Stepping through an exploration.  Symbols in texts become the ids, generations and times of the
// way that was gone: see traces/pages/explorer_page.py.
const explored = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const UNKNOWN = -1, STOPS = -2;
const ADMIN = new Set(["describe", "remove"]); // a client that does these knows no more than before

// A state on the way, and the meaning of its names.
const beginning = () => ({
  state: 0, ids: idsOf(explored.states[0]), offset: 0, epochs: new Map(), now: 0, handed: 0, requests: 0,
  generations: explored.states[0].g, members: explored.states[0].m, choice: null, number: 0, fresh: {},
});

// At the beginning the only ids are those that clients have from elsewhere.
function idsOf(state) {
  const ids = {};
  for (const place of state.f) {
    for (const [, id] of explored.fields[place][1].matchAll(/⟦i:([^⟧]*)⟧/g)) {
      ids[id] = id.replace(".", "-");
    }
  }
  return ids;
}

function choicesOf(place) {
  return explored.states[place.state].e || null;
}

function actionOf(choice) {
  return explored.actions[choice[0]];
}

// The ids that exist from this step on, by their symbols.
function made(place, action) {
  const fresh = {};
  if (action.w) fresh.fresh = place.members?.[action.c] || `${action.w}-${place.handed + 1}`;
  if (action.k === "stranger") fresh.strange = `strange-${place.requests + 1}`;
  return fresh;
}

function after(place, number) {
  const choice = choicesOf(place)[number - 1], action = actionOf(choice), fresh = made(place, action);
  const ids = { ...place.ids, ...fresh }, renamed = {};
  const [shift, ...pairs] = explored.renames[choice[2]];
  for (const [old, name] of pairs) if (old in ids) renamed[name] = ids[old];
  const offset = explored.epochs ? 0 : place.offset - shift, epochs = epochsAfter(place, shift);
  const { g: canonical, m: members } = explored.states[choice[1]];
  return {
    state: choice[1], ids: renamed, offset, epochs, fresh, choice, number,
    now: place.now + (action.k === "tick" ? explored.tick : 0),
    handed: place.handed + (action.w && !place.members?.[action.c] ? 1 : 0),
    requests: place.requests + (action.q || 0),
    generations: canonical.map((one, client) => explored.epochs
      ? clientEpoch(one, epochs, place.generations[client], client === action.c && !ADMIN.has(action.k) ? action.k : null)
      : generation(one, offset, place.generations[client])),
    members: members?.map((id, client) => id ? renamed[id] : memberId(place, fresh, client, action)),
  };
}

// The epochs of the group by their ranks: a step names each by its rank before and after.
function epochsAfter(place, shift) {
  return explored.epochs && shift ? new Map(shift.map(([epoch, rank]) => [rank, epochOf(epoch, place.epochs)])) : place.epochs;
}

// An epoch above all others is as much above the highest.
function epochOf(rank, epochs) {
  if (epochs.has(rank)) return epochs.get(rank);
  const top = Math.max(0, ...epochs.keys());
  return (epochs.get(top) ?? 0) + rank - top;
}

// Of an epoch or id that the group does not know the state has none: the client keeps its own.
function clientEpoch(canonical, epochs, before, act) {
  if (canonical > 0) return epochs.get(canonical) ?? before;
  if (act) return act === "lost-join" ? 0 : canonical;
  return before > 0 ? canonical : before;
}

function memberId(place, fresh, client, action) {
  if (client !== action.c) return place.members[client];
  return action.k === "restart" ? "" : fresh.fresh ?? place.members[client];
}

// All earlier generations are 0, unless a failover may bring one back: the client keeps its own.
function generation(canonical, offset, before) {
  if (canonical < 0) return canonical;
  return canonical > 0 || explored.keeps ? canonical + offset : before;
}

function text(symbols, place, more = {}) {
  const ids = { ...place.ids, ...more };
  return symbols.replace(/⟦(\w):([^⟧]*)⟧/g, (_, kind, name) => {
    if (kind === "i") return ids[name] ?? name;
    if (kind === "g") return String(explored.epochs ? epochOf(Number(name), place.epochs) : Number(name) + place.offset);
    if (kind === "c") return String(place.generations[Number(name)]);
    if (kind === "k") return knowledge(name, place);
    return ms(Number(name) + place.now);
  });
}

// What a client knows, without an id and with one after a join that was lost, a refusal, a release.
function knowledge(texts, place) {
  const [client, ...known] = texts.split("|"), id = place.members[Number(client)];
  return id ? known[1 - place.generations[Number(client)]].replace("§", id) : known[0];
}

function fieldsOf(place) {
  return new Map(explored.states[place.state].f.map((number) => explored.fields[number].map((one) => text(one, place))));
}

function summary(place) {
  const known = fieldsOf(place), state = known.get("state");
  if (state === "absent") return "no group";
  return explored.epochs ? `${state}, epoch ${known.get("epoch")}` : `${state}, generation ${known.get("generation")}`;
}

let way = [beginning()];
let typed = "";
const all = at("all");
const isWide = matchMedia("(min-width: 901px)").matches;
const here = () => way[way.length - 1];

// To the run of these choices, as far as there are such.
function goTo(numbers) {
  let shared = 0;
  while (shared < numbers.length && shared + 1 < way.length && way[shared + 1].number === numbers[shared]) shared += 1;
  way = way.slice(0, shared + 1);
  for (const number of numbers.slice(shared)) {
    const choice = choicesOf(here())?.[number - 1];
    if (!choice || choice[1] < 0) break;
    way.push(after(here(), number));
  }
  show();
}

const numbersOf = (places) => places.slice(1).map((place) => place.number);
const addressOf = (places) => `#${numbersOf(places).join(".")}`;
const numbersIn = (hash) => hash.slice(1).split(".").filter(Boolean).map(Number);

// A choice is an entry of the browser's history, so that its own Back goes back, too.
function take(number) {
  const choice = choicesOf(here())?.[number - 1];
  if (!choice) return;
  if (choice[1] < 0) {
    say(choice[1] === STOPS ? "The machine stops there." : "This page does not know what comes after that.");
    return;
  }
  visit([...numbersOf(way), number]);
}

function back() {
  if (way.length > 1) visit(numbersOf(way).slice(0, -1));
}

function visit(numbers) {
  history.pushState(null, "", `#${numbers.join(".")}`);
  arrive(numbers);
}

function arrive(numbers) {
  goTo(numbers);
  at("next-title").focus({ preventScroll: true });
}

function say(words) {
  at("typed").textContent = words;
}

function words(place, choice, more) {
  const action = actionOf(choice), who = action.c < 0 ? null : explored.clients[action.c];
  const did = text(action.d, place, more);
  const answers = choice[1] === STOPS ? `the machine stops: ${action.a}` : text(action.a, place, more);
  return { who, did, answers, rules: action.r };
}

function faultsOf(choice, place, more, later) {
  return choice.slice(3).map((number) => {
    const [id, sentence, expected] = explored.faults[number];
    return { id, expected, sentence: text(sentence, place, { ...later, ...place.ids, ...more }) };
  });
}

// The same state is another one where time passed, or where its names mean other ids.
function changesNothing(choice) {
  if (choice[1] !== here().state || actionOf(choice).k === "tick") return false;
  const [shift, ...pairs] = explored.renames[choice[2]];
  const isSame = Array.isArray(shift) ? shift.every(([epoch, rank]) => epoch === rank) : shift === 0;
  return isSame && pairs.every(([old, name]) => old === name);
}

function choiceItem(choice, number) {
  const place = here(), fresh = made(place, actionOf(choice));
  const { who, did, answers, rules } = words(place, choice, fresh);
  const faults = faultsOf(choice, place, fresh, {});
  const stops = choice[1] === STOPS;
  return make("li", null, make("button", { type: "button", "aria-disabled": choice[1] < 0, onclick: () => take(number) },
    make("span", { class: "n" }, String(number)),
    make("span", { class: "what" },
      who ? make("span", { class: "who" }, `${who} `) : null, did,
      answers ? make("span", { class: stops || /^[A-Z_]{5,}/.test(answers) && !answers.startsWith("NONE") ? "error" : null }, ` → ${answers}`) : null,
      faults.map((fault) => make("span", { class: fault.expected ? "expected" : "violates" }, ` violates ${fault.id}${fault.expected ? ", as expected" : ""}`)),
      rules.length ? make("span", { class: "rules" }, rules.join(", ")) : null,
      changesNothing(choice) ? make("span", { class: "loops" }, "nothing changes") : choice[1] === UNKNOWN ? make("span", { class: "loops" }, "beyond this page") : null)));
}

function showChoices() {
  const choices = choicesOf(here());
  if (choices && choices.length) at("choices").replaceChildren(...choices.map((choice, index) => choiceItem(choice, index + 1)));
  else at("choices").replaceChildren(make("li", { class: "end" }, choices ? "Nothing can happen any more." : "This page does not know what may happen here: it is cut off. The command below goes on from here."));
}

function showState() {
  const place = here(), before = way.length > 1 ? fieldsOf(way[way.length - 2]) : new Map(), known = fieldsOf(place);
  const rows = [];
  for (const name of new Set([...known.keys(), ...before.keys()])) {
    const [owner, brought] = name.split(": ");
    const isNew = explored.brought.includes(brought) && !(before.has(owner) && known.has(owner));
    const changed = way.length > 1 && !isNew && before.get(name) !== known.get(name);
    if ((!known.has(name) && isNew) || !(changed || all.checked)) continue;
    const was = changed ? before.get(name) ?? "—" : "";
    rows.push([changed ? "changed" : "", name, was, known.get(name) ?? "gone"]);
  }
  const table = make("table", { class: "fields" },
    make("thead", null, make("tr", null, ["field", "before", "now"].map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", null, rows.map(([kind, name, was, now]) => make("tr", { class: kind || null },
      make("td", null, name), make("td", { class: was && was !== "—" ? "was" : null }, was), make("td", { class: "now" }, now)))));
  at("state").replaceChildren(rows.length ? table : make("p", { class: "note" }, "Nothing changes."));
}

function showStep() {
  const place = here();
  if (way.length === 1) {
    at("why").hidden = true;
    at("faults").replaceChildren();
    at("step").textContent = "The beginning.";
    return;
  }
  const last = way[way.length - 2];
  const { who, did, answers, rules } = words(last, place.choice, place.fresh);
  at("step").textContent = `${who ? `${who} ` : ""}${did}${answers ? ` → ${answers}` : ""}`;
  at("faults").replaceChildren(...faultsOf(place.choice, last, place.fresh, place.ids).map((fault) =>
    make("p", { class: fault.expected ? "expects" : "violates" }, `violates ${fault.id}${fault.expected ? ", as expected" : ""}: ${fault.sentence}`)));
  at("why").hidden = !rules.length;
  at("rules").replaceChildren(...[...new Set(rules)].map((id) => ruleCard(explored.rules[id])));
}

function ruleCard(rule) {
  const rows = [["when", rule.clauses.join(" and ")], ["then", rule.does], ["source", rule.source]].filter(([, one]) => one);
  return make("div", { class: "rule" },
    make("p", { class: "id" }, make("code", null, rule.id), make("span", { class: "level" }, rule.level)),
    rule.because ? make("p", { class: "because" }, rule.because) : null,
    make("dl", null, rows.flatMap(([name, one]) => [make("dt", null, name), make("dd", null, one)])));
}

function showPath() {
  const steps = way.slice(1).map((place, index) => {
    const { who, did, answers } = words(way[index], place.choice, place.fresh);
    const current = index + 2 === way.length ? "step" : null;
    return make("li", null, make("a", { href: addressOf(way.slice(0, index + 2)), "aria-current": current }, `${who ? `${who} ` : ""}${did}`), answers ? ` → ${answers}` : null);
  });
  at("path").replaceChildren(...(steps.length ? steps : [make("li", { class: "note" }, "nothing yet")]));
  const numbers = numbersOf(way);
  at("command").textContent = `${explored.command}${numbers.length ? ` --take ${numbers.join(",")}` : ""} -o run.json`;
}

function show() {
  const place = here(), steps = way.length - 1;
  typed = "";
  say("");
  at("now").textContent = `${count(steps, "step")}, at ${ms(place.now)}: ${summary(place)}`;
  for (const name of ["start", "back"]) document.querySelector(`[data-do=${name}]`).disabled = !steps;
  showChoices();
  showStep();
  showState();
  showPath();
  at("status").textContent = `${at("step").textContent} ${at("now").textContent}.`;
}

// A number is taken at once where no choice has a longer one that begins with it.
function type(digit) {
  const most = (choicesOf(here()) || []).length, next = Number(typed + digit) ? typed + digit : "";
  typed = Number(next) <= most ? next : "";
  if (!typed) say(`There are ${count(most, "choice")}.`);
  else if (Number(typed) * 10 > most) takeTyped();
  else say(`Choice ${typed}: Enter takes it.`);
}

function takeTyped() {
  const number = Number(typed);
  typed = "";
  take(number);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (/^[0-9]$/.test(event.key)) type(event.key);
  else if (event.key === "Enter" && typed) takeTyped();
  else if (event.key === "ArrowLeft" && !event.target.closest("[tabindex='0']")) back();
  else if (event.key === "Home") visit([]);
  else return;
  event.preventDefault();
});
document.querySelector("[data-do=start]").addEventListener("click", () => visit([]));
document.querySelector("[data-do=back]").addEventListener("click", back);
addEventListener("hashchange", () => arrive(numbersIn(location.hash)));
all.addEventListener("change", showState);
all.checked = at("why").open = isWide;
at("explorer").hidden = false;
goTo(numbersIn(location.hash));
