from __future__ import annotations

from support.client_story import (
    TOPIC,
    assigned,
    commit,
    ended,
    evidence,
    heartbeat,
    join,
    leave,
    lost,
    revoked,
    run,
    sync,
)

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.requirements.evidence import ConsumerRun

A = run()
COOPERATIVE = run(assignor="cooperative-sticky")


def numbers(of: ConsumerRun, *pieces: object, at: float | None = None) -> set[int]:
    return {number for _, number in evidence(of, *pieces).owned(of, at)}  # type: ignore[arg-type]


def test_an_eager_assignment_is_all_that_a_user_has() -> None:
    assert numbers(A, assigned(A, 10, 0, 1), assigned(A, 20, 1)) == {1}
    assert numbers(A, assigned(A, 10, 0, 1), revoked(A, 20, 0, 1)) == set()
    assert numbers(A, assigned(A, 10, 0, 1), lost(A, 20, 0), at=15) == {0, 1}
    assert numbers(A, assigned(A, 10, 0), ended(A, 20)) == set()


def test_a_cooperative_assignment_is_what_is_new() -> None:
    of = COOPERATIVE
    assert numbers(of, assigned(of, 10, 0), assigned(of, 20, 1)) == {0, 1}
    assert numbers(of, assigned(of, 10, 0, 1), revoked(of, 15, 1), assigned(of, 20)) == {0}


def test_a_list_with_what_a_user_has_is_a_whole_one() -> None:
    of = COOPERATIVE
    assert numbers(of, assigned(of, 10, 0, 1), assigned(of, 20, 1)) == {1}


def test_what_a_library_tells_nobody_is_read_from_the_sync() -> None:
    answered, again = sync(A, 10, gets=(0, 1)), sync(A, 30, gets=(1,))
    refused = sync(A, 20, error=Code.REBALANCE_IN_PROGRESS)
    assert numbers(A, answered, refused) == {0, 1}
    assert numbers(A, answered, refused, again) == {1}
    assert numbers(A, answered, again, at=25) == {0, 1}
    assert numbers(A, refused) == set()
    assert numbers(A, answered, assigned(A, 40)) == set()


def test_the_error_of_an_answer_is_its_first() -> None:
    assert commit(A, 10, error=Code.FENCED_INSTANCE_ID).error == 82
    assert leave(A, 10).went_well
    assert join(A, 10, lost="lose").error is None
    assert heartbeat(A, 10, error=Code.UNKNOWN_MEMBER_ID).is_answered(Code.UNKNOWN_MEMBER_ID)


def test_a_run_is_found_by_name_and_number() -> None:
    again = run(number=2)
    found = evidence(A, again)
    assert found.run_of("a") == again
    assert found.run_of("a", 1) == A
    assert found.run_of("b") is None
    assert found.partitions == {TOPIC: 2}
