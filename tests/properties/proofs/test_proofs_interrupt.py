"""Ctrl-C ends a proof at once, and never becomes a verdict."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest
import z3

from fencepost.properties.proofs.proofs import interruptible


@pytest.fixture(autouse=True)
def _as_from_a_terminal() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class _Endless(z3.Solver):  # type: ignore[misc]
    """A query that interrupts this process first, and then has no answer for hours."""

    def check(self, *assumptions: object) -> object:
        numbers = z3.Ints("a b c")
        a, b, c = numbers
        self.set("ctrl_c", False)
        self.add(a * a * a + b * b * b + c * c * c == 42, *(number != 0 for number in numbers))
        os.kill(os.getpid(), signal.SIGINT)
        return super().check(*assumptions)


def test_an_interrupt_ends_the_query_that_runs() -> None:
    with interruptible() as ask, pytest.raises(KeyboardInterrupt):
        ask(_Endless())
    solver = z3.Solver()
    solver.add(z3.Int("a") > 0)
    with interruptible() as ask:
        assert ask(solver) == "sat"


def test_no_query_runs_on_when_an_interrupt_comes_as_its_thread_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Z3 is not safe for two threads: a query that runs on would crash the next one."""

    class Started(threading.Thread):
        def start(self) -> None:
            super().start()
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("concurrent.futures.thread.threading.Thread", Started)
    with interruptible() as ask, pytest.raises(KeyboardInterrupt):
        ask(_Endless())
    assert not [each for each in threading.enumerate() if each.name.startswith("z3")]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_is_lost_in_a_destructor_ends_the_next_query() -> None:
    class Dropped:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    with interruptible() as ask:
        Dropped()
        with pytest.raises(KeyboardInterrupt):
            ask(z3.Solver())


def test_an_ignored_interrupt_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible() as ask:
        signal.raise_signal(signal.SIGINT)
        assert ask(z3.Solver()) == "sat"
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
