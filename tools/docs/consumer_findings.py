"""List the defects of Kafka's consumer protocol, and the shortest run that shows each.

The page of each finding is made by `consumer_findings_page`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost.conformance.cases.bridge.bridge_script import BridgeScript, policy
from fencepost.conformance.cases.case_registry import Write
from fencepost.conformance.cases.consumer.consumer_script import (
    FULL,
    SHORT_SESSION,
    ConsumerScript,
)
from fencepost.model.coordinator import Config
from fencepost.model.plans.steps import Ms, Needs, Plan
from fencepost.model.table.table import Level

KAFKA = {
    "consumer-4.0": "4.0.1",
    "consumer-4.1": "4.1.2",
    "consumer-4.2": "4.2.0",
    "consumer-4.3": "4.3.0",
    "consumer-4.3.1": "4.3.1",
    "consumer-4.4": "4.4.0",
}
"""The revision of each release on which the catalogue ran, and the release, the oldest first."""
ALL = tuple(KAFKA)
UP_TO_4_1 = ALL[:2]
SINCE_4_3 = ALL[3:]
UP_TO_4_3_1 = ALL[:-1]
PR, KIP = "pr-23542", "kip-848"


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect of released Kafkas.

    `effect`: what happens, in two sentences.  `affected` and `short`: whom, and a workaround, as in
    a table.  `operators` and `authors`: what they can do.  `has`: the revisions that have it.
    `shows`: a regular expression that the steps of the run match where it is.  `judge`: the
    revision by which the run is judged, which has the right answer; "": none says what is right.
    `target`: on which the trace was recorded.  `kind`: the class of its script, which tells if the
    group has classic members.  `further`: settings beside those of that class.  `is_choice`: a
    coordinator may also do otherwise, and the running model does.
    """

    name: str
    title: str
    effect: str
    affected: str
    short: str
    operators: str
    authors: str
    ticket: str
    has: tuple[str, ...]
    shows: str
    judge: str
    target: str
    write: Write
    config: dict[str, int | None] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    further: Config = field(default_factory=dict)
    kind: type[ConsumerScript] = ConsumerScript
    is_choice: bool = False

    @property
    def is_mixed(self) -> bool:
        """Return True if its group has members of both protocols."""
        return self.kind is BridgeScript

    @property
    def releases(self) -> list[str]:
        """Return the revisions of released Kafkas that have it, the oldest first."""
        return [name for name in ALL if name in self.has]

    def revision_of(self, release: str) -> str:
        """Return the revision of a release that judges the run: that of mixed groups, or itself."""
        return release.replace("consumer-", "mixed-") if self.is_mixed else release

    @property
    def settings(self) -> Config:
        """Return the settings for a target that takes them."""
        return {**self.kind.SETTINGS, **self.further}

    def plan(self) -> Plan:
        """Return the run that shows it."""
        script = self.kind(delayed=False)
        self.write(script)
        needs = Needs((), frozenset(self.features), self.config)
        about = f"{self.title}."
        return Plan(f"consumer/{self.name}", about, (), Level.MUST, tuple(script.steps), needs)


def _lost_answer(s: ConsumerScript) -> None:
    s.join("A1")
    s.join("A1")


def _instance_copy(s: ConsumerScript) -> None:
    s.reconciled("A1", "B1")
    s.release("B1")
    s.join("A1", instance="B")
    s.beat("A1", instance="B")
    s.describe()


def _lost_target(s: ConsumerScript) -> None:
    s.join("m", "n")
    s.beat("m")
    s.join("m", instance="A")
    s.beat("m", instance="A")
    s.beat("n")
    s.describe()


def _idle_newcomer(s: ConsumerScript) -> None:
    s.join("a", "k")
    s.leave("k")
    s.join("m", topics=())
    s.beat("a", "a", "m")
    s.describe()


def _old_instance(s: ConsumerScript) -> None:
    s.join("A1")
    s.join("A1", instance="B")
    s.join("A2")


def _old_instance_gone(s: ConsumerScript) -> None:
    s.join("A1")
    s.join("A1", instance="B")
    s.leave("A1", instance="B")
    s.join("A2")


def _old_instance_loaded(s: ConsumerScript) -> None:
    s.join("A1")
    s.join("A1", instance="B")
    s.restart()
    s.beat("A1", instance="B")
    s.join("A2")


def _hurried_by_failover(s: ConsumerScript) -> None:
    s.join("A1", rebalance=Ms("short rebalance"))
    s.join("B1")
    s.beat("A1")
    s.release("A1")
    s.restart()
    s.pause("short rebalance")
    s.beat("B1")
    s.describe()


def _session_after_failover(s: ConsumerScript) -> None:
    s.join("A1")
    s.release("A1")
    s.pause("group session", minus=True, margins=3)
    s.restart()
    s.pause(margins=4)
    s.describe()


def _full_group(s: ConsumerScript) -> None:
    s.join("A1", "B1")
    s.release("A1")
    s.join("A2")


def _full_group_unknown(s: ConsumerScript) -> None:
    s.join("A1", "c")
    s.remove(("c", None))
    s.join("B1")
    s.beat("c")


def _empty_group(s: ConsumerScript) -> None:
    s.join("m")
    s.leave("m")
    s.describe()


def _assignor(s: ConsumerScript) -> None:
    s.join("A1", server_assignor="uniform")
    s.release("A1")
    s.join("A2", server_assignor="range")


def _tied_assignors(s: ConsumerScript) -> None:
    s.join("m", server_assignor="range")
    s.join("n", server_assignor="uniform")
    s.beat("m", "m", "m")


def _released_commits(s: ConsumerScript) -> None:
    s.join("A1")
    s.release("A1")
    s.commit("A1", epoch=-2)


def _fenced_for_good(s: ConsumerScript) -> None:
    s.join("m", "n")
    s.beat("m", "m")
    s.join("m")


def _classic_not_called(s: BridgeScript) -> None:
    s.mixed()
    s.leave("B1")
    s.classic.beat("A2")
    s.describe()


def _classic_takes_over(s: BridgeScript) -> None:
    s.join("A1", "B1")
    s.classic.join("A2", wait=True)
    s.beat("A1")


def _classic_session(s: BridgeScript) -> None:
    s.join("A1", "B1")
    s.classic.joined("A2")
    s.restart()
    s.outlast_session(beating=("B1",))
    s.classic.beat("A2")


def _slow_classic_member(s: BridgeScript) -> None:
    s.join("A1", "B1")
    s.classic.join("A2", rebalance=Ms("short rebalance"), wait=True)
    s.pause("short rebalance")
    s.classic.beat("A2")


def _handed_on_early(s: BridgeScript) -> None:
    s.classic.stable("A1")
    s.join("B1")
    s.classic.joined("B2")
    s.classic.beat("A1")


def _late_sync(s: BridgeScript) -> None:
    s.join("A1", "B1")
    s.classic.join("A2", rebalance=Ms("short rebalance"), wait=True)
    s.leave("B1")
    s.classic.join("A2", rebalance=Ms("short rebalance"), wait=True)
    s.classic.synced("A2")
    s.join("m")
    s.pause("short rebalance")
    s.classic.beat("A2")


FINDINGS = (
    Finding(
        name="lost-answer",
        title="A static member is refused by itself",
        effect="The answer to a static member's join is lost, and the client sends the join again "
        "with the same member id. The coordinator takes the member for a second process of its "
        "instance and answers UNRELEASED_INSTANCE_ID until the session ends.",
        affected="static members",
        short="restart after a session",
        operators="Start the process again after one session timeout, with an outer loop. Raise "
        "an alarm for UNRELEASED_INSTANCE_ID: after it, Java and librdkafka poll nothing and look "
        "healthy. The same answer comes after FENCED_MEMBER_EPOCH, since a client then joins with "
        "its old id.",
        authors="Don't treat UNRELEASED_INSTANCE_ID as fatal after a join that may have been "
        "accepted. Try again until one session timeout is over.",
        ticket="apache/kafka#23542 (open)",
        has=ALL,
        shows=r"2\. A1 [^\n]*→ UNRELEASED_INSTANCE_ID",
        judge=PR,
        target="kafka:4.4.0",
        write=_lost_answer,
    ),
    Finding(
        name="instance-copy",
        title="A member that takes a released instance leaves partitions without an owner",
        effect="A member joins again with the instance id of another member, which is released. It "
        "becomes a copy of that member; its own partitions have no owner until the next epoch, "
        "even if a new target is made with this join, and the group is shown as Stable.",
        affected="members that change their instance id",
        short="never change an instance id",
        operators="Give each process one instance id for its whole life. If partitions have no "
        "owner, let any member join or leave: the next epoch assigns them.",
        authors="Use a new member id for each new instance id. Compare the partitions of a "
        "description with those of the topics; the state of the group doesn't show the loss.",
        ticket="none known; apache/kafka#23542 (open) refuses the join",
        has=(*ALL, KIP),
        shows=r"Describe [^\n]*g Stable[^\n]*\[A1: epoch \d, assigned t-2, t-3, target t-2, t-3\]",
        judge=PR,
        target="kafka:4.4.0",
        write=_instance_copy,
    ),
    Finding(
        name="lost-target",
        title="A member that changes its instance while partitions move loses its target",
        effect="A member has partitions to give up and joins again with an instance id that nobody "
        "has. It gets no partitions; a description shows its target, and the group is shown as "
        "Stable until the next epoch.",
        affected="members that change their instance id",
        short="never change an instance id",
        operators="Set the instance id before the first join, and never later. If a member stays "
        "without its target, let any member join or leave: the next epoch assigns the partitions.",
        authors="Use a new member id for each new instance id, also when a dynamic member becomes "
        "static.",
        ticket="none known; apache/kafka#23542 (open) refuses the join",
        has=ALL,
        shows=r"Describe [^\n]*m: epoch \d, assigned nothing, target t-",
        judge=KIP,
        target="kafka:4.4.0",
        write=_lost_target,
    ),
    Finding(
        name="idle-newcomer",
        title="A newcomer that subscribes to nothing takes partitions from the others",
        effect="A member leaves, and a member that subscribes to nothing joins before anybody else "
        "sends a heartbeat. The new target gives it partitions of the others' topics; from 4.2.0 "
        "on it is never assigned them, so that they have no owner until the next epoch. If its id "
        "comes first in the order of a hash, the new target is empty, and every member loses all "
        "of its partitions.",
        affected="consumers without a subscription",
        short="subscribe before the first poll",
        operators="If partitions have no owner, let any member join or leave: the next epoch "
        "assigns them.",
        authors="Send the first heartbeat only when there is a subscription.",
        ticket="none known",
        has=(*ALL, PR, KIP),
        shows=r"Describe [^\n]*g Stable[^\n]*m: epoch \d, assigned [^;\]]*, target t-",
        judge="",
        target="kafka:4.4.0",
        write=_idle_newcomer,
    ),
    Finding(
        name="old-instance",
        title="The instance id that a member had before stays taken",
        effect="A static member joins again with another instance id. The coordinator keeps the "
        "entry of the old one: a process with it gets UNRELEASED_INSTANCE_ID while the member "
        "lives.",
        affected="members that change their instance id",
        short="upgrade to 4.4.0",
        operators="Upgrade to 4.4.0. Before that, remove the member, not the old instance, and "
        "then restart the broker if the old instance is still refused.",
        authors="Use a new member id for each new instance id.",
        ticket="KAFKA-20747",
        has=UP_TO_4_3_1,
        shows=r"2\. A1 [^\n]*→ NONE[^\n]*\n3\. A2 [^\n]*→ UNRELEASED_INSTANCE_ID",
        judge="consumer-4.4",
        target="kafka:4.3.1",
        write=_old_instance,
    ),
    Finding(
        name="old-instance-gone",
        title="The old instance id of a member that left can't be used any more",
        effect="A static member joins again with another instance id and leaves. A process with "
        "the old instance id gets UNKNOWN_MEMBER_ID, and an administrator can't remove the entry, "
        "since its member is gone.",
        affected="members that change their instance id",
        short="upgrade to 4.4.0",
        operators="Upgrade to 4.4.0. Before that, choose a new instance id for the process; a "
        "restart of the broker frees the old one only if the log has nothing of the old member.",
        authors="Don't join again without end: UNKNOWN_MEMBER_ID for a first join is this fault.",
        ticket="KAFKA-20747",
        has=UP_TO_4_3_1,
        shows=r"2\. A1 [^\n]*→ NONE[^\n]*\n3\. [^\n]*\n4\. A2 [^\n]*→ UNKNOWN_MEMBER_ID",
        judge="consumer-4.4",
        target="kafka:4.3.1",
        write=_old_instance_gone,
    ),
    Finding(
        name="old-instance-loaded",
        title="A failover brings back the old instance id of a member",
        effect="A static member joins again with another instance id, and the broker restarts. The "
        "new coordinator reads the entry of the old instance from the log and refuses processes "
        "with it.",
        affected="members that change their instance id",
        short="upgrade to 4.4.0",
        operators="Upgrade to 4.4.0: it reads logs that older releases wrote without the old "
        "entries.",
        authors="Use a new member id for each new instance id.",
        ticket="KAFKA-20747",
        has=UP_TO_4_3_1,
        shows=r"2\. A1 [^\n]*→ NONE[^\n]*\n[\s\S]*\n\d\. A2 [^\n]*→ UNRELEASED_INSTANCE_ID",
        judge="consumer-4.4",
        target="kafka:4.3.1",
        write=_old_instance_loaded,
        features=("restart",),
    ),
    Finding(
        name="hurried-by-failover",
        title="A failover removes a released member before its session ends",
        effect="A member with partitions to give up is released, and the coordinator fails over. "
        "The new coordinator starts the rebalance timeout of the released member and removes it "
        "when this ends, though its session still runs.",
        affected="restarts of members during a rebalance",
        short="rebalance timeout of a session",
        operators="Set the rebalance timeout of the clients (`max.poll.interval.ms` in Java) to "
        "the group's session timeout or more.",
        authors="Give partitions up before you send -2.",
        ticket="KAFKA-20641 (open)",
        has=(*ALL, PR),
        shows=r"Describe [^\n]*\[B1: ",
        judge=KIP,
        target="kafka:4.4.0",
        write=_hurried_by_failover,
        features=("restart",),
    ),
    Finding(
        name="session-after-failover",
        title="A failover gives a released member a new session",
        effect="A member is released, and the coordinator fails over shortly before its session "
        "ends. Its session starts anew with its full length, so that the other members get its "
        "partitions later.",
        affected="restarts of brokers",
        short="short session timeout",
        operators="Expect up to two session timeouts without an owner if a broker restarts "
        "meanwhile. An administrator can remove the instance at once.",
        authors="Nothing: all sessions start anew at a failover, and the coordinator stores no "
        "times.",
        ticket="none known",
        has=(*ALL, PR, KIP),
        shows=r"Describe [^\n]*\[A1: epoch -2",
        judge="",
        target="kafka:4.4.0",
        write=_session_after_failover,
        features=("restart",),
    ),
    Finding(
        name="full-group",
        title="A full group refuses the restart of a static member",
        effect="A group has `group.consumer.max.size` members, and one of them is released. Its "
        "next process gets GROUP_MAX_SIZE_REACHED, since the coordinator checks the size before it "
        "looks at the instance id.",
        affected="full groups",
        short="raise the limit",
        operators="Set `group.consumer.max.size` above the number of members, or upgrade to 4.4.0.",
        authors="Treat GROUP_MAX_SIZE_REACHED of a static member as temporary for one session "
        "timeout.",
        ticket="KAFKA-20601",
        has=UP_TO_4_3_1,
        shows=r"A2 [^\n]*→ GROUP_MAX_SIZE_REACHED",
        judge="consumer-4.4",
        target="kafka:4.3.1",
        write=_full_group,
        config={**FULL},
    ),
    Finding(
        name="full-group-unknown",
        title="A removed member of a full group hears that the group is full",
        effect="A member is removed, and another one takes the last place. The removed member's "
        "heartbeat gets GROUP_MAX_SIZE_REACHED instead of UNKNOWN_MEMBER_ID, so it doesn't learn "
        "that it must give up its partitions.",
        affected="full groups",
        short="raise the limit",
        operators="Set `group.consumer.max.size` above the number of members.",
        authors="Give up all partitions at GROUP_MAX_SIZE_REACHED for a heartbeat, as at "
        "UNKNOWN_MEMBER_ID.",
        ticket="none known; KAFKA-20601 is about mapped instances alone",
        has=(*ALL, PR),
        shows=r"5\. c [^\n]*→ GROUP_MAX_SIZE_REACHED",
        judge=KIP,
        target="kafka:4.4.0",
        write=_full_group_unknown,
        config={**FULL},
    ),
    Finding(
        name="empty-group",
        title="An empty group never has a target of its epoch",
        effect="The last member leaves, and the group is Empty. Its assignment epoch stays one "
        "below its group epoch, and the first member after it waits for the assignment interval.",
        affected="tools that wait for an assignment",
        short="ignore Empty groups",
        operators="Compare both epochs only if the group has members, or upgrade to 4.4.0.",
        authors="Expect that the first answer after a group was empty has no partitions yet.",
        ticket="KAFKA-20442",
        has=(*UP_TO_4_3_1, KIP),
        shows=r"Describe [^\n]*g Empty, epoch (\d), target of epoch (?!\1)",
        judge="consumer-4.4",
        target="kafka:4.3.1",
        write=_empty_group,
    ),
    Finding(
        name="another-assignor",
        title="Another assignor has no effect until the next epoch",
        effect="A member returns, or sends a heartbeat, with another server assignor, and the "
        "group prefers it from then on. The coordinator makes no new target, so the assignment "
        "stays that of the old assignor.",
        affected="groups that change `group.remote.assignor`",
        short="let a member leave",
        operators="After such a change, let one member leave for good and join again, or upgrade "
        "to 4.4.0.",
        authors="Nothing.",
        ticket="KAFKA-20434",
        has=(*UP_TO_4_3_1, KIP),
        shows=r"1\. A1 [^\n]*→ NONE, epoch (\d),[\s\S]*\n3\. A2 [^\n]*→ NONE, epoch \1,",
        judge="consumer-4.4",
        target="kafka:4.3.1",
        write=_assignor,
    ),
    Finding(
        name="tied-assignors",
        title="Two members ask for two assignors, and each heartbeat raises the epoch",
        effect="One member asks for `range`, one for `uniform`, and nobody else for any. Each "
        "heartbeat of the first raises the group epoch and makes a new target, also if it names no "
        "assignor, so that the group is never Stable for long.",
        affected="groups with two values of `group.remote.assignor`",
        short="one assignor for all",
        operators="Give all members of a group the same `group.remote.assignor`. Of "
        "two members, change both at once.",
        authors="Nothing: at each heartbeat the coordinator counts without the sender and with it, "
        "and of two assignors with one member each it prefers another one each time.",
        ticket="none known; KAFKA-20434 made the epoch depend on the assignor",
        has=(*ALL[-1:], PR),
        shows=r"4\. m [^\n]*→ NONE, epoch (\d)[^\n]*\n5\. m [^\n]*→ NONE, epoch (?!\1)",
        judge=KIP,
        target="kafka:4.4.0",
        write=_tied_assignors,
        is_choice=True,
    ),
    Finding(
        name="released-commits",
        title="A released member commits offsets with epoch -2",
        effect="A process sends -2 and then commits with epoch -2. The coordinator stores the "
        "offsets, because it compares only whether both epochs are equal; with its last real epoch "
        "the process would be refused.",
        affected="processes that closed",
        short="commit before closing",
        operators="End a process after it closed its consumer.",
        authors="Commit before -2, and never afterwards.",
        ticket="none known",
        has=(*ALL, PR),
        shows=r"3\. A1 OffsetCommit [^\n]*→ [^\n]*NONE",
        judge=KIP,
        target="kafka:4.4.0",
        write=_released_commits,
    ),
    Finding(
        name="fenced-for-good",
        title="A fenced member can't join again with its id",
        effect="A member hears FENCED_MEMBER_EPOCH and joins again with its member id and epoch 0, "
        "as KIP-848 demands. The coordinator compares epoch 0 as any other one and answers "
        "FENCED_MEMBER_EPOCH until the session ends.",
        affected="members that were fenced",
        short="upgrade to 4.2.0",
        operators="Upgrade to 4.2.0 or later. Static members that send their instance id are still "
        "[refused by themselves](lost-answer.md).",
        authors="Use a new member id if the second join is fenced, too.",
        ticket="KAFKA-19233",
        has=UP_TO_4_1,
        shows=r"5\. m [^\n]*→ FENCED_MEMBER_EPOCH",
        judge="consumer-4.2",
        target="kafka:4.1.2",
        write=_fenced_for_good,
    ),
    Finding(
        name="classic-not-called",
        title="Classic members don't hear that the last other member left",
        effect="The migration policy is `upgrade`, so a group of classic members alone stays a "
        "consumer group. If its last member of the consumer protocol leaves, the heartbeats of "
        "the classic ones are answered NONE, and its partitions have no owner until a member "
        "joins.",
        affected="migrations with the policy `upgrade`",
        short="policy `bidirectional`",
        operators="Set `group.consumer.migration.policy` to `bidirectional` until all members "
        "have the consumer protocol. If partitions have no owner, restart one member: its join "
        "makes the next target.",
        authors="Nothing: all answers to the classic members look right.",
        ticket="none known; before 4.3 such a heartbeat is answered REBALANCE_IN_PROGRESS",
        has=SINCE_4_3,
        shows=r"A2 Heartbeat [^\n]*→ NONE",
        judge="mixed-4.2",
        target="kafka:4.4.0",
        write=_classic_not_called,
        config={**policy("upgrade")},
        kind=BridgeScript,
    ),
    Finding(
        name="classic-takes-over",
        title="A classic process takes the instance of a live consumer",
        effect="During a migration a process of the classic protocol joins with the instance id of "
        "a live member of the consumer protocol. It replaces that member at once, which then hears "
        "FENCED_INSTANCE_ID; a newcomer of the consumer protocol would be refused.",
        affected="migrations of static members",
        short="one process for each instance id",
        operators="End the old process before you start the new one with its instance id, in both "
        "directions of a migration.",
        authors="Treat FENCED_INSTANCE_ID as final, and don't take the instance back.",
        ticket="none known",
        has=ALL,
        shows=r"A2 JoinGroup [^\n]*→ NONE[\s\S]*\n\d+\. A1 [^\n]*→ FENCED_INSTANCE_ID",
        judge="",
        target="kafka:4.4.0",
        write=_classic_takes_over,
        kind=BridgeScript,
    ),
    Finding(
        name="handed-on-early",
        title="A downgrade gives partitions to a second member before the first gives them up",
        effect="A group moves partitions from a classic member to its last member of the consumer "
        "protocol, and a classic process takes the place of that one. The group becomes classic "
        "with the target as its assignment: the newcomer gets the partitions with its SyncGroup, "
        "while the first member reads them until its next heartbeat.",
        affected="migrations back to the classic protocol",
        short="migrate back in a Stable group",
        operators="Before you start the last process with the classic protocol, wait until the "
        "group is Stable. Otherwise some records are read twice.",
        authors="At ILLEGAL_GENERATION stop reading before anything else, and take the partitions "
        "for lost.",
        ticket="none known",
        has=ALL,
        shows=r"B2 SyncGroup [^\n]*→ NONE, assignment of t-[^\n]*\n\d\. A1 Heartbeat",
        judge="",
        target="kafka:4.4.0",
        write=_handed_on_early,
        kind=BridgeScript,
    ),
    Finding(
        name="late-sync",
        title="A member is removed for a sync of before a downgrade",
        effect="A classic process joins a consumer group, and the group becomes classic before "
        "it syncs. It joins and syncs in the classic group; if that becomes a consumer group again "
        "within the rebalance timeout, the process is removed when this ends.",
        affected="migrations back and forth",
        short="wait a rebalance timeout",
        operators="After a group became classic, wait for the longest rebalance timeout "
        "(`max.poll.interval.ms` in Java) before you start a process with the consumer protocol.",
        authors="At UNKNOWN_MEMBER_ID join again, with a new member id.",
        ticket="none known",
        has=ALL,
        shows=r"A2 SyncGroup [^\n]*→ NONE[^\n]*\n[\s\S]*A2 Heartbeat [^\n]*→ UNKNOWN_MEMBER_ID",
        judge="",
        target="kafka:4.4.0",
        write=_late_sync,
        kind=BridgeScript,
    ),
    Finding(
        name="classic-session",
        title="A failover replaces the session timeout of a classic member by the group's",
        effect="A group of the consumer protocol has a member of the classic one, with a longer "
        "session timeout than the group's. After a failover the member is removed when the group's "
        "session timeout is over.",
        affected="migrations of static members",
        short="long session timeout of the group",
        operators="During a migration, set `group.consumer.session.timeout.ms` to the longest "
        "session timeout of the classic members.",
        authors="Send heartbeats as often as 45 s, the usual session timeout of groups, needs.",
        ticket="none known",
        has=ALL,
        shows=r"A2 Heartbeat [^\n]*→ UNKNOWN_MEMBER_ID",
        judge="",
        target="kafka:4.4.0",
        write=_classic_session,
        features=("restart",),
        further=SHORT_SESSION,
        kind=BridgeScript,
    ),
    Finding(
        name="slow-classic-member",
        title="A static classic member that is slow to rebalance is removed",
        effect="A group of the consumer protocol has a static member of the classic one, which "
        "joins and doesn't sync within its rebalance timeout. It is removed, while a classic group "
        "keeps its static members.",
        affected="migrations of static members",
        short="raise the rebalance timeout",
        operators="During a migration, set the rebalance timeout (`max.poll.interval.ms` in Java) "
        "above the time that a process needs for a rebalance.",
        authors="Send SyncGroup at once after each answer to JoinGroup.",
        ticket="none known",
        has=ALL,
        shows=r"A2 Heartbeat [^\n]*→ UNKNOWN_MEMBER_ID",
        judge="",
        target="kafka:4.4.0",
        write=_slow_classic_member,
        kind=BridgeScript,
    ),
)
"""The gravest first."""
