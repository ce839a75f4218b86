// Groups, members and their timers; no adapter.  Bytes stay the base64 that they came as.

export const APIS: Record<string, [lowest: number, highest: number]> = {
  JoinGroup: [0, 9], SyncGroup: [0, 5], Heartbeat: [0, 4], LeaveGroup: [0, 5], OffsetCommit: [2, 9], OffsetFetch: [1, 7],
};

export interface Settings {
  "group.initial.rebalance.delay.ms": number;
  "group.min.session.timeout.ms": number;
  "group.max.session.timeout.ms": number;
  "group.max.size": number | null;
}
export const DEFAULTS: Settings = {
  "group.initial.rebalance.delay.ms": 3000, "group.min.session.timeout.ms": 6000,
  "group.max.session.timeout.ms": 1800000, "group.max.size": null,
};

export interface Request {
  id: string; connection: string; clientId: string; api: string; version: number; body: Body;
}
/** All that requests can say; a version lacks some of it. */
interface Body {
  groupId: string; memberId: string; groupInstanceId?: string | null; generationId: number;
  sessionTimeoutMs: number; rebalanceTimeoutMs?: number; protocolType?: string | null; protocolName?: string | null;
  protocols: Protocol[]; assignments: { memberId: string; assignment: string }[];
  members: { memberId: string; groupInstanceId: string | null }[];
  generationIdOrMemberEpoch: number; topics: Topic[] | null;
}
interface Protocol { name: string; metadata: string }
interface Topic { name: string; partitions: Committed[]; partitionIndexes: number[] }
interface Committed {
  partitionIndex: number; committedOffset: number; committedLeaderEpoch?: number; committedMetadata: string | null;
}

const Code = {
  UNKNOWN_SERVER_ERROR: -1, NONE: 0, NOT_COORDINATOR: 16, ILLEGAL_GENERATION: 22, INCONSISTENT_GROUP_PROTOCOL: 23,
  INVALID_GROUP_ID: 24, UNKNOWN_MEMBER_ID: 25, INVALID_SESSION_TIMEOUT: 26, REBALANCE_IN_PROGRESS: 27,
  GROUP_ID_NOT_FOUND: 69, MEMBER_ID_REQUIRED: 79, GROUP_MAX_SIZE_REACHED: 81, FENCED_INSTANCE_ID: 82,
} as const;

const NEW_MEMBER_MS = 300000; // who has never completed a join has this long

type State = "Empty" | "Preparing" | "Completing" | "Stable";

class Timer {
  at: number;
  fire: () => void;
  constructor(at: number, fire: () => void) { this.at = at; this.fire = fire; }
}

class Member {
  id: string;
  readonly instance: string | null;
  session = 0; rebalance = 0; protocols: Protocol[] = [];
  assignment = "";
  join: Request | null = null; // parked
  sync: Request | null = null; // parked
  isNew = true; owesSync = false;
  timer?: Timer;
  constructor(id: string, instance: string | null) { this.id = id; this.instance = instance; }
  take({ body }: Request): void {
    this.session = body.sessionTimeoutMs;
    this.rebalance = body.rebalanceTimeoutMs ?? body.sessionTimeoutMs;
    this.protocols = body.protocols;
  }
  offer = (name: string): Protocol | undefined => this.protocols.find((p) => p.name === name);
}

class Group {
  state: State = "Empty";
  generation = 0;
  protocolType = ""; protocol = ""; leader = "";
  members: Member[] = []; // in the order in which they came
  pending = new Map<string, Timer>();
  timer?: Timer; // the end of the join phase
  syncTimer?: Timer;
  delay: { left: number; somebodyCame: boolean } | null = null;

  member = (id: string): Member | undefined => this.members.find((m) => m.id === id);
  holder = (instance: string): Member | undefined => this.members.find((m) => m.instance === instance);
  parked = (): Member[] => this.members.filter((m) => m.join);
  longest = (): number => Math.max(0, ...this.members.map((m) => m.rebalance));
  isShared = (name: string): boolean => this.members.every((m) => m.offer(name));
  roster = (version: number): object[] => this.members.map((m) => ({
    memberId: m.id,
    ...(version >= 5 && { groupInstanceId: m.instance }),
    metadata: m.offer(this.protocol)?.metadata ?? "",
  }));
  /** Each member votes for the first of its protocols that all have. */
  vote(): string {
    const votes = new Map<string, number>();
    for (const m of this.members) {
      const choice = m.protocols.find((p) => this.isShared(p.name));
      if (choice) votes.set(choice.name, (votes.get(choice.name) ?? 0) + 1);
    }
    return [...votes].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
  }
  /** Who comes with an instance of another is fenced, before anything else is looked at. */
  validate(memberId: string, instance: string | null): number {
    if (instance !== null) {
      const holder = this.holder(instance);
      if (!holder) return Code.UNKNOWN_MEMBER_ID;
      if (holder.id !== memberId) return Code.FENCED_INSTANCE_ID;
    }
    return this.member(memberId) ? Code.NONE : Code.UNKNOWN_MEMBER_ID;
  }
}

/** What survives a failover. */
interface Stored {
  generation: number; protocolType: string; protocol: string; leader: string;
  members: { id: string; instance: string | null; session: number; rebalance: number; protocols: Protocol[]; assignment: string }[];
}

export class Coordinator {
  readonly settings: Settings;
  private now = 0;
  private ids = 0;
  private groups = new Map<string, Group>();
  private stored = new Map<string, Stored>();
  private offsets = new Map<string, Committed>();
  private timers = new Set<Timer>();
  private open = new Map<string, Request>();
  private answers: object[] = [];

  constructor(settings: Settings) { this.settings = settings; }

  // --- What the adapter calls.

  handle(request: Request): void {
    this.open.set(request.id, request);
    switch (request.api) {
      case "JoinGroup": return this.joinGroup(request);
      case "SyncGroup": return this.syncGroup(request);
      case "Heartbeat": return this.heartbeat(request);
      case "LeaveGroup": return this.leaveGroup(request);
      case "OffsetCommit": return this.offsetCommit(request);
      case "OffsetFetch": return this.offsetFetch(request);
    }
  }
  /** Fires each timer at its own deadline, one at the very end included. */
  advance(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const next = [...this.timers].sort((a, b) => a.at - b.at)[0];
      if (!next || next.at > end) break;
      this.timers.delete(next);
      this.now = next.at;
      next.fire();
    }
    this.now = end;
  }
  /** What waits is told to look for another coordinator; the new one has what was stored. */
  failOver(): string[] {
    for (const g of this.groups.values()) {
      for (const m of g.members) {
        if (m.join) this.answerJoin(m.join, Code.NOT_COORDINATOR, m.id);
        if (m.sync) this.answerSync(m.sync, Code.NOT_COORDINATOR);
      }
    }
    this.groups.clear();
    this.timers.clear();
    for (const [id, { members, ...fields }] of this.stored) {
      const g = Object.assign(new Group(), fields, { state: members.length > 0 ? "Stable" : "Empty" });
      for (const row of members) {
        const m = Object.assign(new Member(row.id, row.instance), row, { isNew: false });
        g.members.push(m);
        this.startSession(g, m);
      }
      this.groups.set(id, g);
    }
    const lost = this.openRequests();
    this.open.clear();
    return lost;
  }
  openRequests(): string[] { return [...this.open.keys()]; }
  takeAnswers(): object[] { return this.answers.splice(0); }

  // --- Answers.  A field is there exactly when the version of the request has it.

  private answer(to: Request, body: object): void {
    if (this.open.delete(to.id)) this.answers.push({ id: to.id, at_ms: this.now, body });
  }
  private answerJoin(to: Request, errorCode: number, memberId = to.body.memberId): void {
    this.answer(to, {
      errorCode, generationId: -1,
      ...(to.version >= 7 && { protocolType: null }),
      protocolName: to.version >= 7 ? null : "",
      leader: "",
      ...(to.version >= 9 && { skipAssignment: false }),
      memberId, members: [],
    });
  }
  private answerJoined(to: Request, g: Group, m: Member, told: { members: boolean; leader?: string; skip?: boolean }): void {
    this.answer(to, {
      errorCode: Code.NONE, generationId: g.generation,
      ...(to.version >= 7 && { protocolType: g.protocolType }),
      protocolName: g.protocol,
      leader: told.leader ?? g.leader,
      ...(to.version >= 9 && { skipAssignment: told.skip ?? false }),
      memberId: m.id, members: told.members ? g.roster(to.version) : [],
    });
  }
  private answerSync(to: Request, errorCode: number, g?: Group, assignment = ""): void {
    const [protocolType, protocolName] = g ? [g.protocolType, g.protocol] : [null, null];
    this.answer(to, { errorCode, ...(to.version >= 5 && { protocolType, protocolName }), assignment });
  }

  // --- Timers and members.

  private after(ms: number, fire: () => void): Timer {
    const timer = new Timer(this.now + ms, fire);
    this.timers.add(timer);
    return timer;
  }
  private stop(timer: Timer | undefined): void { if (timer) this.timers.delete(timer); }
  private startSession(g: Group, m: Member, ms = m.session): void {
    this.stop(m.timer);
    m.timer = this.after(ms, () => { if (m.isNew || !(m.join || m.sync)) this.remove(g, m); });
  }
  private newId(prefix: string): string { return `${prefix}-${++this.ids}`; }

  private add(g: Group, id: string, request: Request): void {
    const m = new Member(id, request.body.groupInstanceId ?? null);
    m.take(request);
    if (g.members.length === 0) Object.assign(g, { protocolType: request.body.protocolType, leader: id });
    g.members.push(m);
    if (g.delay) g.delay.somebodyCame = true;
    this.startSession(g, m, NEW_MEMBER_MS);
    this.park(g, m, request);
  }
  private forget(g: Group, m: Member): void {
    g.members = g.members.filter((other) => other !== m);
    this.stop(m.timer);
    if (m.join) this.answerJoin(m.join, Code.UNKNOWN_MEMBER_ID, "");
    if (m.sync) this.answerSync(m.sync, Code.UNKNOWN_MEMBER_ID);
    if (g.leader === m.id) g.leader = g.members[0]?.id ?? "";
  }
  private remove(g: Group, m: Member): void {
    this.forget(g, m);
    if (g.state === "Completing" || g.state === "Stable") this.rebalance(g);
    this.tryComplete(g);
  }
  private forgetPending(g: Group, id: string): void {
    this.stop(g.pending.get(id));
    g.pending.delete(id);
    this.tryComplete(g);
  }
  private store(id: string, g: Group): void {
    const { generation, protocolType, protocol, leader } = g;
    const members = g.members.map(({ id, instance, session, rebalance, protocols, assignment }) => (
      { id, instance, session, rebalance, protocols, assignment }));
    this.stored.set(id, { generation, protocolType, protocol, leader, members });
  }
  private storeGroup(g: Group): void {
    for (const [id, other] of this.groups) if (other === g) this.store(id, g);
  }

  // --- The rebalance.

  private park(g: Group, m: Member, request: Request): void {
    m.join = request; // an earlier one of this member is superseded
    this.rebalance(g);
    this.tryComplete(g);
  }
  private rebalance(g: Group): void {
    if (g.state === "Preparing") return;
    for (const m of g.members) {
      if (g.state === "Completing") m.assignment = "";
      if (!m.sync) continue;
      this.answerSync(m.sync, Code.REBALANCE_IN_PROGRESS);
      m.sync = null;
      this.startSession(g, m);
    }
    const initial = this.settings["group.initial.rebalance.delay.ms"];
    g.delay = g.state === "Empty" ? { left: Math.max(g.longest() - initial, 0), somebodyCame: false } : null;
    g.state = "Preparing";
    this.stop(g.syncTimer);
    g.timer = this.after(g.delay ? initial : g.longest(), () => this.joinPhaseEnds(g));
  }
  private tryComplete(g: Group): void {
    if (g.state === "Preparing" && !g.delay && g.pending.size === 0 && g.members.every((m) => m.join)) this.complete(g);
  }
  private joinPhaseEnds(g: Group): void {
    if (g.delay?.somebodyCame && g.delay.left > 0) {
      const more = Math.min(this.settings["group.initial.rebalance.delay.ms"], g.delay.left);
      g.delay = { left: g.delay.left - more, somebodyCame: false };
      g.timer = this.after(more, () => this.joinPhaseEnds(g));
    } else this.complete(g);
  }
  private complete(g: Group): void {
    this.stop(g.timer);
    g.delay = null;
    for (const m of g.members) if (!m.join && m.instance === null) this.forget(g, m); // static ones are kept
    const parked = g.parked();
    if (g.members.length > 0 && parked.length === 0) {
      g.timer = this.after(g.longest(), () => this.complete(g));
      return;
    }
    g.generation += 1;
    if (g.members.length === 0) {
      Object.assign(g, { state: "Empty", leader: "", protocol: "" });
      this.storeGroup(g);
      return;
    }
    g.state = "Completing";
    g.protocol = g.vote();
    if (!g.member(g.leader)?.join) g.leader = parked[0]!.id;
    for (const m of g.members) {
      m.owesSync = false; // of an earlier generation
      this.startSession(g, m);
    }
    for (const m of parked) {
      const request = m.join!;
      Object.assign(m, { join: null, isNew: false, owesSync: true });
      this.answerJoined(request, g, m, { members: m.id === g.leader });
    }
    g.syncTimer = this.after(g.longest(), () => {
      for (const m of g.members) if (m.owesSync) this.remove(g, m);
    });
  }

  // --- The requests: checks in the protocol's order.

  private joinGroup(request: Request): void {
    const { version, clientId, body } = request;
    const { groupId, memberId, sessionTimeoutMs, groupInstanceId: instance = null } = body;
    const refuse = (code: number, id = memberId): void => this.answerJoin(request, code, id);
    if (!groupId) return refuse(Code.INVALID_GROUP_ID);
    if (sessionTimeoutMs < this.settings["group.min.session.timeout.ms"]
      || sessionTimeoutMs > this.settings["group.max.session.timeout.ms"]) return refuse(Code.INVALID_SESSION_TIMEOUT);
    let g = this.groups.get(groupId);
    if (!g) {
      if (memberId !== "") return refuse(Code.UNKNOWN_MEMBER_ID);
      this.groups.set(groupId, g = new Group());
    }
    const isKnown = g.member(memberId);
    const caller = memberId === "" && instance !== null ? g.holder(instance) : isKnown;
    if (this.isFull(g, caller)) {
      refuse(Code.GROUP_MAX_SIZE_REACHED, "");
      if (g.pending.has(memberId)) this.forgetPending(g, memberId);
      else if (isKnown) this.remove(g, isKnown);
      return;
    }
    const shares = g.state === "Empty"
      ? body.protocolType !== "" && body.protocols.length > 0
      : body.protocolType === g.protocolType && body.protocols.some((p) => g.isShared(p.name));
    if (!shares) return refuse(Code.INCONSISTENT_GROUP_PROTOCOL);

    if (memberId === "") {
      if (instance !== null) return caller ? this.replace(g, caller, request) : this.add(g, this.newId(instance), request);
      const id = this.newId(clientId);
      if (version < 4) return this.add(g, id, request);
      g.pending.set(id, this.after(sessionTimeoutMs, () => this.forgetPending(g, id)));
      return refuse(Code.MEMBER_ID_REQUIRED, id);
    }
    if (g.pending.has(memberId)) {
      if (instance !== null) return refuse(Code.UNKNOWN_SERVER_ERROR, "");
      this.stop(g.pending.get(memberId));
      g.pending.delete(memberId);
      return this.add(g, memberId, request);
    }
    const code = g.validate(memberId, instance);
    return code === Code.NONE ? this.rejoin(g, caller!, request) : refuse(code);
  }
  private isFull(g: Group, caller: Member | undefined): boolean {
    const limit = this.settings["group.max.size"];
    if (limit === null || g.state === "Empty") return false;
    if (g.state === "Preparing") return !caller?.join && g.parked().length >= limit;
    return !caller && g.members.length >= limit;
  }
  /** A member that is known comes again. */
  private rejoin(g: Group, m: Member, request: Request): void {
    const offered = (protocols: Protocol[]): string => JSON.stringify(protocols.map((p) => [p.name, p.metadata]));
    const isSame = offered(m.protocols) === offered(request.body.protocols);
    const leads = g.leader === m.id;
    if (isSame && (g.state === "Completing" || (g.state === "Stable" && !leads))) {
      return this.answerJoined(request, g, m, { members: leads });
    }
    m.take(request);
    this.park(g, m, request);
  }
  /** A new process of a static member takes the place of the old one, under a new member id. */
  private replace(g: Group, m: Member, request: Request): void {
    const oldLeader = g.leader, leads = g.leader === m.id;
    if (m.join) this.answerJoin(m.join, Code.FENCED_INSTANCE_ID, m.id);
    if (m.sync) this.answerSync(m.sync, Code.FENCED_INSTANCE_ID);
    Object.assign(m, { id: this.newId(m.instance!), join: null, sync: null, owesSync: false });
    if (leads) g.leader = m.id;
    m.take(request);
    this.startSession(g, m, m.isNew ? NEW_MEMBER_MS : m.session);
    if (g.state !== "Stable" || g.vote() !== g.protocol) return this.park(g, m, request);
    this.storeGroup(g);
    if (request.version < 9) return this.answerJoined(request, g, m, { members: false, leader: oldLeader });
    return this.answerJoined(request, g, m, { members: leads, skip: leads });
  }
  /** What SyncGroup and Heartbeat check alike. */
  private check({ body }: Request, g: Group | undefined): number {
    if (!body.groupId) return Code.INVALID_GROUP_ID;
    if (!g) return Code.UNKNOWN_MEMBER_ID;
    const code = g.validate(body.memberId, body.groupInstanceId ?? null);
    return code === Code.NONE && body.generationId !== g.generation ? Code.ILLEGAL_GENERATION : code;
  }
  private syncGroup(request: Request): void {
    const { version, body } = request;
    const refuse = (code: number): void => this.answerSync(request, code);
    if (version >= 5 && (body.protocolType === null || body.protocolName === null)) {
      return refuse(Code.INCONSISTENT_GROUP_PROTOCOL);
    }
    const g = this.groups.get(body.groupId);
    const code = this.check(request, g);
    if (code !== Code.NONE || !g) return refuse(code);
    if (version >= 5 && (body.protocolType !== g.protocolType || body.protocolName !== g.protocol)) {
      return refuse(Code.INCONSISTENT_GROUP_PROTOCOL);
    }
    if (g.state === "Preparing") return refuse(Code.REBALANCE_IN_PROGRESS);
    const caller = g.member(body.memberId)!;
    caller.owesSync = false;
    if (g.state === "Stable") {
      this.startSession(g, caller);
      return this.answerSync(request, Code.NONE, g, caller.assignment);
    }
    caller.sync = request;
    if (caller.id !== g.leader) return;
    g.state = "Stable";
    for (const m of g.members) m.assignment = body.assignments.findLast((a) => a.memberId === m.id)?.assignment ?? "";
    this.store(body.groupId, g); // then, not before, anybody is told
    for (const m of g.members) {
      if (!m.sync) continue;
      this.answerSync(m.sync, Code.NONE, g, m.assignment);
      m.sync = null;
      this.startSession(g, m);
    }
  }
  private heartbeat(request: Request): void {
    const g = this.groups.get(request.body.groupId);
    let errorCode = this.check(request, g);
    if (errorCode === Code.NONE && g) {
      this.startSession(g, g.member(request.body.memberId)!);
      if (g.state === "Preparing") errorCode = Code.REBALANCE_IN_PROGRESS;
    }
    this.answer(request, { errorCode });
  }
  private leaveGroup(request: Request): void {
    const { version, body: { groupId, memberId, members } } = request;
    const g = this.groups.get(groupId);
    if (version < 3) {
      return this.answer(request, { errorCode: groupId ? this.leave(g, memberId, null) : Code.INVALID_GROUP_ID });
    }
    const rows = groupId ? members.map(({ memberId, groupInstanceId }) => (
      { memberId, groupInstanceId, errorCode: this.leave(g, memberId, groupInstanceId) })) : [];
    this.answer(request, { errorCode: groupId ? Code.NONE : Code.INVALID_GROUP_ID, members: rows });
  }
  private leave(g: Group | undefined, memberId: string, instance: string | null): number {
    if (!g) return Code.UNKNOWN_MEMBER_ID;
    if (g.pending.has(memberId)) {
      this.forgetPending(g, memberId);
      return Code.NONE;
    }
    const byInstance = memberId === "" && instance !== null;
    const code = byInstance ? Code.NONE : g.validate(memberId, instance);
    const leaver = byInstance ? g.holder(instance) : g.member(memberId);
    if (code !== Code.NONE || !leaver) return code || Code.UNKNOWN_MEMBER_ID;
    this.remove(g, leaver);
    return Code.NONE;
  }
  private offsetCommit(request: Request): void {
    const { groupId, topics } = request.body;
    const errorCode = this.mayCommit(request);
    this.answer(request, {
      topics: topics!.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map((row) => {
          if (errorCode === Code.NONE) this.offsets.set(JSON.stringify([groupId, name, row.partitionIndex]), row);
          return { partitionIndex: row.partitionIndex, errorCode };
        }),
      })),
    });
  }
  /** Without a generation anybody may while the group has no members. */
  private mayCommit({ version, body }: Request): number {
    const g = this.groups.get(body.groupId), generation = body.generationIdOrMemberEpoch;
    const instance = body.groupInstanceId ?? null;
    if (!g && generation >= 0) return version >= 9 ? Code.GROUP_ID_NOT_FOUND : Code.ILLEGAL_GENERATION;
    if (!g) this.groups.set(body.groupId, new Group());
    if (!g || (generation < 0 && g.state === "Empty")) return Code.NONE;
    if (generation < 0 && body.memberId === "" && instance === null) return Code.UNKNOWN_MEMBER_ID;
    const code = g.validate(body.memberId, instance);
    if (code !== Code.NONE) return code;
    if (generation !== g.generation) return Code.ILLEGAL_GENERATION;
    if (g.state === "Completing") return Code.REBALANCE_IN_PROGRESS;
    this.startSession(g, g.member(body.memberId)!);
    return Code.NONE;
  }
  /** Anybody may read.  Topics that are null ask for all. */
  private offsetFetch(request: Request): void {
    const { version, body: { groupId, topics } } = request;
    const all = [...this.offsets.keys()].map((key): [string, string, number] => JSON.parse(key))
      .filter(([group]) => group === groupId)
      .map(([, name, index]) => ({ name, partitionIndexes: [index] }));
    this.answer(request, {
      topics: (topics ?? all).map(({ name, partitionIndexes }) => ({
        name,
        partitions: partitionIndexes.map((partitionIndex) => {
          const found = this.offsets.get(JSON.stringify([groupId, name, partitionIndex]));
          return {
            partitionIndex,
            committedOffset: found?.committedOffset ?? -1,
            ...(version >= 5 && { committedLeaderEpoch: found?.committedLeaderEpoch ?? -1 }),
            metadata: found ? found.committedMetadata : "",
            errorCode: Code.NONE,
          };
        }),
      })),
      ...(version >= 2 && { errorCode: Code.NONE }),
    });
  }
}
