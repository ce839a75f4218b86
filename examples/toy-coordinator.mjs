// A toy group coordinator behind adapter protocol 1, for Node 18 or later, without dependencies.
//
// It follows the classic protocol except for two mistakes that it makes ON PURPOSE, both of which
// real coordinators have made:
//   (a) a second join with "" and a mapped instance id gets the SAME member id, so that the process
//       that held the instance before is never fenced;
//   (b) a leave with a mapped instance id and a wrong member id evicts the live holder.
// Run `fencepost certify "exec:node examples/toy-coordinator.mjs"` to see what comes of it.
import { createInterface } from "node:readline";

const NONE = 0, UNKNOWN_SERVER_ERROR = -1, ILLEGAL_GENERATION = 22, INCONSISTENT_GROUP_PROTOCOL = 23,
  INVALID_GROUP_ID = 24, UNKNOWN_MEMBER_ID = 25, INVALID_SESSION_TIMEOUT = 26, REBALANCE_IN_PROGRESS = 27,
  MEMBER_ID_REQUIRED = 79, GROUP_MAX_SIZE_REACHED = 81, FENCED_INSTANCE_ID = 82;
const APIS = { JoinGroup: [5, 9], SyncGroup: [3, 5], Heartbeat: [3, 4], LeaveGroup: [3, 5] };
const DEFAULTS = {
  "group.initial.rebalance.delay.ms": 3000, "group.min.session.timeout.ms": 6000,
  "group.max.session.timeout.ms": 1800000, "group.max.size": null,
};
const NEW_MEMBER_MS = 300000;

// --- The world: what `reset` forgets. -----------------------------------------------------------
let config, now, groups, timers, open, seen, answers, ids;
function reset(settings) {
  config = { ...DEFAULTS, ...settings };
  now = 0; ids = 0; answers = [];
  groups = new Map(); timers = new Map(); open = new Map(); seen = new Set();
}
reset({});

const after = (key, ms, fire) => timers.set(key, { at: now + ms, fire });
function advance(ms) {
  const end = now + ms;
  for (;;) {
    const due = [...timers].filter(([, t]) => t.at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
    if (!due) break;
    timers.delete(due[0]);
    now = due[1].at;
    due[1].fire();
  }
  now = end;
}

function answer(request, body) {
  open.delete(request.id);
  answers.push({ id: request.id, at_ms: now, body });
}

// --- Answers. A field is there exactly when its version has it. ----------------------------------
function answerJoin(request, memberId, errorCode, group, { leader, members = [], skip = false } = {}) {
  const v = request.version, ok = errorCode === NONE;
  answer(request, {
    errorCode,
    generationId: ok ? group.generation : -1,
    ...(v >= 7 && { protocolType: ok ? group.type : null }),
    protocolName: ok ? group.protocol : v >= 7 ? null : "",
    leader: ok ? leader ?? group.leader : "",
    ...(v >= 9 && { skipAssignment: skip }),
    memberId,
    members,
  });
}
function answerSync(request, errorCode, group, assignment = "") {
  const names = errorCode === NONE ? [group.type, group.protocol] : [null, null];
  answer(request, {
    errorCode,
    ...(request.version >= 5 && { protocolType: names[0], protocolName: names[1] }),
    assignment,
  });
}
const roster = (g) => [...g.members.values()].map((m) => ({
  memberId: m.id, groupInstanceId: m.instance, metadata: offer(m, g.protocol)?.metadata ?? "",
}));
const offer = (m, name) => m.protocols.find((p) => p.name === name);

// --- Members and their timers. -------------------------------------------------------------------
function startSession(g, m, ms = m.session) {
  after(`${g.id}/${m.id}/session`, ms, () => {
    if (m.isNew) remove(g, m);
    else if (!m.join && !m.sync) remove(g, m);
  });
}
function update(m, { sessionTimeoutMs, rebalanceTimeoutMs, protocols }) {
  Object.assign(m, { session: sessionTimeoutMs, rebalance: rebalanceTimeoutMs, protocols });
}
function add(g, id, request) {
  const m = { id, instance: request.body.groupInstanceId, isNew: true, assignment: "", owesSync: false };
  update(m, request.body);
  if (g.members.size === 0) g.type = request.body.protocolType;
  g.members.set(id, m);
  if (m.instance !== null) g.instances.set(m.instance, id);
  g.leader ??= id;
  if (g.delay) g.delay.somebodyCame = true;
  startSession(g, m, NEW_MEMBER_MS);
  park(g, m, request);
}
function remove(g, m) {
  g.members.delete(m.id);
  if (m.instance !== null) g.instances.delete(m.instance);
  timers.delete(`${g.id}/${m.id}/session`);
  if (m.join) answerJoin(m.join, "", UNKNOWN_MEMBER_ID);
  if (m.sync) answerSync(m.sync, UNKNOWN_MEMBER_ID);
  if (g.leader === m.id) g.leader = g.members.keys().next().value ?? null;
  settle(g);
}
/** After somebody left: Stable and Completing rebalance, Preparing may complete. */
function settle(g) {
  if (g.state === "Completing" || g.state === "Stable") rebalance(g);
  tryComplete(g);
}
function park(g, m, request) {
  m.join = request; // an earlier parked join of this member is superseded
  rebalance(g);
  tryComplete(g);
}

// --- The rebalance. ------------------------------------------------------------------------------
const members = (g) => [...g.members.values()];
const longest = (g) => Math.max(0, ...members(g).map((m) => m.rebalance));
function rebalance(g) {
  if (g.state === "Preparing") return;
  if (g.state === "Completing") {
    for (const m of members(g)) {
      m.assignment = "";
      if (!m.sync) continue;
      answerSync(m.sync, REBALANCE_IN_PROGRESS);
      m.sync = null;
      startSession(g, m);
    }
  }
  const initial = config["group.initial.rebalance.delay.ms"];
  g.delay = g.state === "Empty" ? { left: Math.max(longest(g) - initial, 0), somebodyCame: false } : null;
  g.state = "Preparing";
  timers.delete(`${g.id}/sync`);
  after(`${g.id}/join`, g.delay ? initial : longest(g), () => joinTimeout(g));
}
function tryComplete(g) {
  if (g.state !== "Preparing" || g.delay) return;
  if (g.pending.size === 0 && members(g).every((m) => m.join)) complete(g);
}
function joinTimeout(g) {
  if (g.delay?.somebodyCame && g.delay.left > 0) {
    const more = Math.min(config["group.initial.rebalance.delay.ms"], g.delay.left);
    g.delay = { left: g.delay.left - more, somebodyCame: false };
    after(`${g.id}/join`, more, () => joinTimeout(g));
  } else complete(g);
}
function complete(g) {
  timers.delete(`${g.id}/join`);
  g.delay = null;
  for (const m of members(g)) {
    if (m.join || m.instance !== null) continue; // absent static members are kept
    g.members.delete(m.id);
    timers.delete(`${g.id}/${m.id}/session`);
  }
  const parked = members(g).filter((m) => m.join);
  if (g.members.size > 0 && parked.length === 0) {
    after(`${g.id}/join`, longest(g), () => complete(g));
    return;
  }
  g.generation += 1;
  if (g.members.size === 0) {
    Object.assign(g, { state: "Empty", leader: null, protocol: null });
    return;
  }
  g.state = "Completing";
  g.protocol = vote(g);
  if (!parked.some((m) => m.id === g.leader)) g.leader = parked[0].id;
  for (const m of members(g)) startSession(g, m);
  for (const m of parked) {
    const request = m.join;
    Object.assign(m, { join: null, isNew: false, owesSync: true });
    answerJoin(request, m.id, NONE, g, { members: m.id === g.leader ? roster(g) : [] });
  }
  after(`${g.id}/sync`, longest(g), () => syncTimeout(g));
}
function syncTimeout(g) {
  for (const m of members(g)) if (m.owesSync) remove(g, m);
}
function vote(g) {
  const all = members(g), votes = new Map();
  for (const m of all) {
    const choice = m.protocols.find((p) => all.every((other) => offer(other, p.name)));
    if (choice) votes.set(choice.name, (votes.get(choice.name) ?? 0) + 1);
  }
  return [...votes].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
}

// --- The four requests, checks in the protocol's order. ------------------------------------------
function joinGroup(request) {
  const { groupId, memberId, groupInstanceId: instance, sessionTimeoutMs, protocolType, protocols } = request.body;
  const refuse = (errorCode, id = memberId) => answerJoin(request, id, errorCode);
  if (!groupId) return refuse(INVALID_GROUP_ID);
  if (sessionTimeoutMs < config["group.min.session.timeout.ms"]
    || sessionTimeoutMs > config["group.max.session.timeout.ms"]) return refuse(INVALID_SESSION_TIMEOUT);
  if (!groups.has(groupId)) {
    if (memberId !== "") return refuse(UNKNOWN_MEMBER_ID);
    groups.set(groupId, {
      id: groupId, state: "Empty", generation: 0, leader: null, type: null, protocol: null, delay: null,
      members: new Map(), instances: new Map(), pending: new Set(),
    });
  }
  const g = groups.get(groupId);
  const callerId = memberId === "" && instance !== null ? g.instances.get(instance) : memberId;
  if (isFull(g, g.members.get(callerId))) {
    if (g.members.has(callerId)) remove(g, g.members.get(callerId));
    return refuse(GROUP_MAX_SIZE_REACHED, "");
  }
  const fits = g.members.size === 0
    ? protocolType !== "" && protocols.length > 0
    : protocolType === g.type && protocols.some((p) => members(g).every((m) => offer(m, p.name)));
  if (!fits) return refuse(INCONSISTENT_GROUP_PROTOCOL);

  if (memberId === "") {
    if (instance === null) {
      const id = `${request.clientId}-${++ids}`;
      g.pending.add(id);
      after(`${g.id}/${id}/session`, sessionTimeoutMs, () => { g.pending.delete(id); tryComplete(g); });
      return refuse(MEMBER_ID_REQUIRED, id);
    }
    if (!g.instances.has(instance)) return add(g, `${instance}-${++ids}`, request);
    return rejoin(g, g.members.get(callerId), request);
  }
  if (g.pending.has(memberId)) {
    if (instance !== null) return refuse(UNKNOWN_SERVER_ERROR, "");
    g.pending.delete(memberId);
    return add(g, memberId, request);
  }
  const error = validate(g, memberId, instance);
  if (error !== NONE) return refuse(error);

  const m = g.members.get(memberId);
  const isSame = JSON.stringify(m.protocols.map((p) => [p.name, p.metadata]))
    === JSON.stringify(protocols.map((p) => [p.name, p.metadata]));
  const isLeader = g.leader === memberId;
  if (isSame && (g.state === "Completing" || (g.state === "Stable" && !isLeader))) {
    return answerJoin(request, memberId, NONE, g, { members: isLeader ? roster(g) : [] });
  }
  update(m, request.body);
  return park(g, m, request);
}
/** MISTAKE (a): the restarted process should get a new member id, and the old one be fenced. */
function rejoin(g, m, request) {
  update(m, request.body);
  startSession(g, m);
  if (g.state !== "Stable" || vote(g) !== g.protocol) return park(g, m, request);
  const skip = request.version >= 9 && g.leader === m.id;
  return answerJoin(request, m.id, NONE, g, { skip, members: skip ? roster(g) : [] });
}
function isFull(g, caller) {
  const limit = config["group.max.size"];
  if (limit === null || g.state === "Empty") return false;
  if (g.state === "Preparing") return !caller?.join && members(g).filter((m) => m.join).length >= limit;
  return !caller && g.members.size >= limit;
}
function validate(g, memberId, instance) {
  if (instance !== null) {
    if (!g.instances.has(instance)) return UNKNOWN_MEMBER_ID;
    if (g.instances.get(instance) !== memberId) return FENCED_INSTANCE_ID;
  }
  return g.members.has(memberId) ? NONE : UNKNOWN_MEMBER_ID;
}
/** What SyncGroup and Heartbeat check alike. */
function check(g, { groupId, memberId, groupInstanceId, generationId }) {
  if (!groupId) return INVALID_GROUP_ID;
  if (!g) return UNKNOWN_MEMBER_ID;
  const error = validate(g, memberId, groupInstanceId);
  return error === NONE && generationId !== g.generation ? ILLEGAL_GENERATION : error;
}

function syncGroup(request) {
  const { memberId, protocolType, protocolName, assignments } = request.body;
  const g = groups.get(request.body.groupId);
  if (protocolType === null || protocolName === null) return answerSync(request, INCONSISTENT_GROUP_PROTOCOL);
  const error = check(g, request.body);
  if (error !== NONE) return answerSync(request, error);
  if (request.version >= 5 && (protocolType !== g.type || protocolName !== g.protocol)) {
    return answerSync(request, INCONSISTENT_GROUP_PROTOCOL);
  }
  if (g.state === "Preparing") return answerSync(request, REBALANCE_IN_PROGRESS);
  const caller = g.members.get(memberId);
  caller.owesSync = false;
  if (g.state === "Stable") {
    startSession(g, caller);
    return answerSync(request, NONE, g, caller.assignment);
  }
  caller.sync = request;
  if (memberId !== g.leader) return undefined;
  g.state = "Stable";
  for (const m of members(g)) {
    m.assignment = assignments.find((a) => a.memberId === m.id)?.assignment ?? "";
    if (!m.sync) continue;
    answerSync(m.sync, NONE, g, m.assignment);
    m.sync = null;
    startSession(g, m);
  }
  return undefined;
}

function heartbeat(request) {
  const g = groups.get(request.body.groupId);
  let errorCode = check(g, request.body);
  if (errorCode === NONE) {
    startSession(g, g.members.get(request.body.memberId));
    if (g.state === "Preparing") errorCode = REBALANCE_IN_PROGRESS;
  }
  answer(request, { errorCode });
}

function leaveGroup(request) {
  const { groupId, members: rows } = request.body;
  if (!groupId) return answer(request, { errorCode: INVALID_GROUP_ID, members: [] });
  const g = groups.get(groupId);
  const outcome = rows.map(({ memberId, groupInstanceId }) => ({
    memberId, groupInstanceId, errorCode: g ? leave(g, memberId, groupInstanceId) : UNKNOWN_MEMBER_ID,
  }));
  return answer(request, { errorCode: NONE, members: outcome });
}
function leave(g, memberId, instance) {
  if (g.pending.delete(memberId)) {
    timers.delete(`${g.id}/${memberId}/session`);
    tryComplete(g);
    return NONE;
  }
  // MISTAKE (b): a member id that is given should be compared with the holder's.
  const m = g.members.get(instance === null ? memberId : g.instances.get(instance));
  if (!m) return UNKNOWN_MEMBER_ID;
  remove(g, m);
  return NONE;
}

// --- Adapter protocol 1: one JSON object per line in, one out. -----------------------------------
const REQUESTS = { JoinGroup: joinGroup, SyncGroup: syncGroup, Heartbeat: heartbeat, LeaveGroup: leaveGroup };
function send(request) {
  const { id, connection, api, version } = request;
  if (!(version >= APIS[api]?.[0] && version <= APIS[api][1])) return { unsupported: `${api} version ${version}` };
  if (seen.has(id)) return { error: "this request id was used before", context: { id } };
  if ([...open.values()].includes(connection)) {
    return { error: "this connection has an open request", context: { id, connection } };
  }
  seen.add(id);
  open.set(id, connection);
  REQUESTS[api](request);
  return { answers: answers.splice(0) };
}
const COMMANDS = {
  hello: () => ({
    protocol: 1, implementation: "toy-coordinator", version: "1", clock: "virtual", apis: APIS, features: [],
  }),
  reset(command) {
    const unknown = Object.keys(command.config).find((key) => !(key in DEFAULTS));
    if (unknown) return { unsupported: unknown };
    const dropped = [...open.keys()];
    reset(command.config);
    return { ok: true, config, dropped };
  },
  send,
  advance({ ms }) {
    advance(ms);
    return { answers: answers.splice(0) };
  },
  disconnect: () => ({ unsupported: "disconnect" }),
  restart: () => ({ unsupported: "restart" }),
  bye: () => ({ ok: true }),
};

for await (const line of createInterface({ input: process.stdin })) {
  let command, reply;
  try {
    command = JSON.parse(line);
    const run = Object.hasOwn(COMMANDS, command.cmd) && COMMANDS[command.cmd];
    reply = run ? run(command) : { error: "no such command", context: { cmd: command.cmd ?? null } };
  } catch (error) {
    reply = { error: String(error), context: { line: line.slice(0, 200) } };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
  if (command?.cmd === "bye") break;
}
