"""Run the simulation for obligations of transactions, which a lying client fails."""

from __future__ import annotations

from support.client_scenarios import instance_of, nth, refused, scenario, seen, settings, simulation

from fencepost.conformance.simulate.simulation import Simulation
from fencepost.model.client.behaviour import Conduct
from fencepost.model.client.client_interface import Records, Transacted
from fencepost.model.messages.cluster_messages import EndTransactionRequest
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import TxnOffsetCommitRequest
from fencepost.model.plans.steps import CommitInTransaction


def _transacted(conduct: Conduct, error: Error | None = None) -> Simulation:
    """A member reads, and commits in a transaction, whose offsets are answered so."""
    sim = simulation(None if error is None else nth("TxnOffsetCommit", refused(error)))
    more = {"auto_commit_ms": None, "heartbeat_interval_ms": 5000}
    sim.start("a", settings("a", conduct, **more))
    sim.run_for(4500)
    assert seen(sim, "a", Records)
    sim.give("a", CommitInTransaction("a"))
    sim.run_for(1000)
    return sim


def _is_refused(conduct: Conduct, error: Error) -> None:
    sim = _transacted(conduct, error)
    assert seen(sim, "a", Transacted) == [Transacted(error.name)]
    ends = [each.request for each in sim.requests_of("a", "EndTxn")]
    assert [end.committed for end in ends if isinstance(end, EndTransactionRequest)] == [False]


@scenario("CLIENT-TRANSACTION-MEMBER")
def offsets_in_a_transaction_name_their_member(conduct: Conduct) -> None:
    sim = _transacted(conduct)
    assert seen(sim, "a", Transacted) == [Transacted(Error.NONE.name)]
    (sent,) = (each.request for each in sim.requests_of("a", "TxnOffsetCommit"))
    assert isinstance(sent, TxnOffsetCommitRequest)
    assert sent.member_id == sim.state_of("a").membership.member_id
    assert sent.generation_id == sim.state_of("a").membership.generation_id
    assert sent.group_instance_id == instance_of("a")
    assert sim.cluster.model.groups["g"].offsets


@scenario("CLIENT-TRANSACTION-NEWEST")
def offsets_in_a_transaction_are_of_a_version_with_members(conduct: Conduct) -> None:
    (sent,) = _transacted(conduct).requests_of("a", "TxnOffsetCommit")
    assert sent.version >= 3


@scenario("CLIENT-TRANSACTION-FENCED")
def a_fenced_transaction_is_aborted(conduct: Conduct) -> None:
    _is_refused(conduct, Error.FENCED_INSTANCE_ID)


@scenario("CLIENT-TRANSACTION-REFUSED")
def a_refused_transaction_is_aborted(conduct: Conduct) -> None:
    for error in (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION):
        _is_refused(conduct, error)
