"""Commit the user's positions in a transaction of a producer, as the member that the user is now.

A producer of its own begins, holds the offsets, and ends, step by step: it looks its coordinator
up, initialises its epoch, adds the group, sends the offsets, and commits.  Where the offsets are
refused, it aborts, and the user is told the error.  Its connections are its own.

Source: KIP-98 (transactions); KIP-447 (member id, generation and instance id in TxnOffsetCommit, so
that a coordinator can fence who was replaced).
"""

from __future__ import annotations

from itertools import groupby

from msgspec.structs import replace

from fencepost.model.client import committing, links
from fencepost.model.client.client_interface import BOOTSTRAP, Endpoint, Role, Transacted
from fencepost.model.client.client_state import ClientWork, Flight, Stage, Transacting
from fencepost.model.messages.cluster_messages import (
    AddOffsetsRequest,
    ClusterRequest,
    EndTransactionRequest,
    FindCoordinatorResponse,
    FindTransactionCoordinatorRequest,
    InitProducerIdRequest,
    ProducerIdentity,
    TransactionResponse,
)
from fencepost.model.messages.errors import CONCURRENT_TRANSACTIONS, MOVING, Error, kafka_error
from fencepost.model.messages.messages import (
    TxnCommitPartition,
    TxnCommitTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message

FIND, INIT, ADD, END = "FindCoordinator", "InitProducerId", "AddOffsetsToTxn", "EndTxn"
COMMIT = "TxnOffsetCommit"
_MEMBERS_SINCE = 3
_NONE, _MOVED = Error.NONE.value, Error.NOT_COORDINATOR.value
_TIMED_OUT = "REQUEST_TIMED_OUT"
_PASSING = frozenset({*MOVING, CONCURRENT_TRANSACTIONS})


def transact_for_user(work: ClientWork) -> None:
    """Begin a transaction with the user's positions; report at once if that is impossible."""
    state, member = work.state, work.state.membership
    if state.failure is not None:
        work.tell(Transacted(state.failure.code))
        return
    if state.stage is not Stage.RUNNING or member.generation_id < 0:
        work.tell(Transacted(Error.UNKNOWN_MEMBER_ID.name))
        return
    if (current := state.transacting) is not None:
        work.change(transacting=replace(current, waiting=current.waiting + 1))
        return
    offsets = committing.positions(state)
    if not offsets:
        work.tell(Transacted(Error.NONE.name))
        return
    work.change(
        transacting=Transacting(
            producer=ProducerIdentity(f"{work.settings.group_id}-{work.settings.client_id}"),
            offsets=offsets,
            deadline_ms=work.now_ms + work.settings.commit_timeout_ms,
            member_id=member.member_id,
            generation_id=member.generation_id,
        )
    )


def pursue(work: ClientWork) -> None:
    """Send the present transaction's next request."""
    state, current = work.state, work.state.transacting
    if current is None:
        return
    if state.stage is not Stage.RUNNING:
        give_up(work)
        return
    if work.now_ms >= current.deadline_ms:
        _end(work, _TIMED_OUT)
        return
    if current.request_id is not None or work.now_ms < current.backoff.not_before_ms:
        return
    if current.coordinator is None:
        name = current.producer.transactional_id
        _ask(work, BOOTSTRAP, FIND, FindTransactionCoordinatorRequest(name))
    elif current.producer.producer_id < 0:
        name, timeout_ms = current.producer.transactional_id, work.settings.request_timeout_ms
        _ask(work, current.coordinator, INIT, InitProducerIdRequest(name, timeout_ms))
    elif not current.has_group:
        message = AddOffsetsRequest(current.producer, work.settings.group_id)
        _ask(work, current.coordinator, ADD, message)
    elif not current.outcome:
        if (at := state.cluster.coordinator) is not None:
            _ask(work, Endpoint(Role.PRODUCER, *at[1:]), COMMIT, None)
    else:
        is_good = current.outcome == Error.NONE.name
        _ask(work, current.coordinator, END, EndTransactionRequest(current.producer, is_good))


def _ask(work: ClientWork, to: Endpoint, api: str, message: ClusterRequest | None) -> None:
    """Send a request, None: the offsets, as soon as its connection is free."""
    current, link = work.state.transacting, links.idle(work, to)
    if link is None or current is None:
        return
    version, is_old = links.highest_version(work, link, api), COMMIT in dict(work.conduct.highest)
    if version is None or (api == COMMIT and version < _MEMBERS_SINCE and not is_old):
        _end(work, Error.UNSUPPORTED_VERSION.name)
        return
    request_id = work.state.next_id

    def made(version: int) -> Message | ClusterRequest:
        return _offsets(work, current, version) if message is None else message

    if links.ask(work, link, api, made):
        work.change(transacting=replace(current, request_id=request_id))


def _offsets(work: ClientWork, current: Transacting, version: int) -> TxnOffsetCommitRequest:
    names_member = version >= _MEMBERS_SINCE and work.conduct.names_member_in_transaction
    return TxnOffsetCommitRequest(
        transactional_id=current.producer.transactional_id,
        group_id=work.settings.group_id,
        producer_id=current.producer.producer_id,
        producer_epoch=current.producer.epoch,
        generation_id=current.generation_id if names_member else -1,
        member_id=current.member_id if names_member else "",
        group_instance_id=work.settings.group_instance_id if names_member else None,
        topics=tuple(
            TxnCommitTopic(
                name=topic,
                partitions=tuple(
                    TxnCommitPartition(
                        partition_index=partition.partition,
                        committed_offset=offset,
                    )
                    for partition, offset in rows
                ),
            )
            for topic, rows in groupby(current.offsets, lambda row: row[0].topic)
        ),
    )


def give_up(work: ClientWork) -> None:
    """End the present transaction, if any: the consumer fails, or is closed."""
    failure = work.state.failure
    _end(work, _TIMED_OUT if failure is None else failure.code)


def _end(work: ClientWork, error: str) -> None:
    if (current := work.state.transacting) is not None:
        work.change(transacting=None)
        for _ in range(current.waiting):
            work.tell(Transacted(error))


def coordinator_read(work: ClientWork, flight: Flight, answer: FindCoordinatorResponse) -> None:
    """Take the transaction's coordinator, or ask again after a pause."""
    if (current := _current(work, flight)) is None:
        return
    if answer.error_code == _NONE and answer.coordinator is not None:
        at = Endpoint(Role.PRODUCER, *answer.coordinator)
        work.change(transacting=replace(current, coordinator=at, request_id=None))
    elif answer.error_code in _PASSING:
        lost(work, flight)
    else:
        _end(work, kafka_error(answer.error_code))


def answer_read(work: ClientWork, flight: Flight, answer: TransactionResponse) -> None:
    """Take the coordinator's answer: go on, ask again after a pause, or end."""
    if (current := _current(work, flight)) is None:
        return
    code = answer.error_code
    if code in _PASSING:
        if code == _MOVED:
            work.change(transacting=replace(current, coordinator=None))
        lost(work, flight)
    elif code != _NONE:
        _end(work, kafka_error(code))
    elif flight.api == INIT:
        producer = current.producer._replace(producer_id=answer.producer_id, epoch=answer.epoch)
        work.change(transacting=replace(current, producer=producer, request_id=None))
    elif flight.api == ADD:
        work.change(transacting=replace(current, has_group=True, request_id=None))
    else:
        _end(work, current.outcome)


def offsets_read(work: ClientWork, flight: Flight, answer: TxnOffsetCommitResponse) -> None:
    """Take the answer to the offsets: the first error of any partition counts."""
    if (current := _current(work, flight)) is None:
        return
    codes = [row.error_code for topic in answer.topics for row in topic.partitions]
    code = next((each for each in codes if each != _NONE), _NONE)
    if code in _PASSING:
        lost(work, flight)  # the consumer finds out itself where its coordinator is
        return
    ignored = {error.value for error in work.conduct.ignored_in_transaction}
    outcome = Error.NONE.name if code in ignored else kafka_error(code)
    work.change(transacting=replace(current, outcome=outcome, request_id=None))


def _current(work: ClientWork, flight: Flight) -> Transacting | None:
    """Return the transaction that a request was of, if it is still under way."""
    current = work.state.transacting
    is_its = current is not None and current.request_id == flight.correlation_id
    return current if is_its else None


def lost(work: ClientWork, flight: Flight) -> None:
    """Ask again after a pause: there was no answer, or one that passes."""
    if (current := _current(work, flight)) is not None:
        backoff = work.failed(current.backoff)
        work.change(transacting=replace(current, request_id=None, backoff=backoff))
