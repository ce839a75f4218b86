// Where everything is in the lanes: a column for each step, as wide as its words; a row for each
// process, the coordinator above them all.
const RULER = 24, GROUP = 52, ROW = 60, LETTER = 6.3, LEAST = 54;
const SHORT = {
  JoinGroup: "Join", SyncGroup: "Sync", Heartbeat: "Heartbeat", LeaveGroup: "Leave",
  OffsetCommit: "Commit", OffsetFetch: "Fetch", DescribeGroups: "Describe", ListGroups: "List",
  DeleteGroups: "Delete", TxnOffsetCommit: "Txn commit", OffsetDelete: "Delete offsets",
};
const NOBODYS = {
  restart: "failover", "move-coordinator": "move", "delete-topics": "topics deleted",
};

class Geometry {
  constructor(trace) {
    this.trace = trace;
    this.groups = trace.lanes.groups;
    this.top = RULER + GROUP * Math.max(1, this.groups.length);
    this.height = this.top + ROW * trace.lanes.rows.length;
    this.x = new Float64Array(trace.length + 1);
    trace.steps.forEach((step, index) => {
      this.x[index + 1] = this.x[index] + this.columnWidth(step);
    });
    this.width = this.x[trace.length];
  }

  columnWidth(step) {
    const words = [this.asked(step), this.told(step)];
    if (step.kind === "time") words.push(`+${ms(step.until - step.at)}`);
    if (NOBODYS[step.kind]) words.push(NOBODYS[step.kind]);
    return Math.max(LEAST, ...words.map((word) => word.length * LETTER + 38));
  }

  asked(step) {
    if (step.kind !== "ask") return step.kind === "drop" ? "drops" : "";
    return `${SHORT[step.api] || step.api} v${step.v}`;
  }

  told(step) {
    return step.err || "";
  }

  at(y) {
    return this.top + y * ROW;
  }

  group(name) {
    return RULER + GROUP * Math.max(0, this.groups.indexOf(name));
  }

  // The index of the step under x.
  index(x) {
    let low = 0, high = this.trace.length;
    while (low < high - 1) {
      const middle = (low + high) >> 1;
      if (this.x[middle] <= x) low = middle;
      else high = middle;
    }
    return low;
  }

  // A request goes up on the left of its column, an answer comes down on the right.
  up(index) {
    return this.x[index] + 13;
  }

  down(index) {
    return this.x[index + 1] - 13;
  }

  middle(index) {
    return (this.x[index] + this.x[index + 1]) / 2;
  }
}
