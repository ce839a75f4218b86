"""Many processes: what becomes of those that raise, die, or are interrupted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.systems import Cell, Dying, Grid, Raising, Wide

from fencepost.properties.explorer import explorer
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.workers.processes import WorkerLostError

BIG = 72
PATIENCE_S = 120
"""A grid of this size has levels wide enough for two processes."""
JOBS = pytest.mark.parametrize("jobs", [1, 2])


class Unpicklable(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


@JOBS
@pytest.mark.parametrize("where", [(0, 0), (37, 37)])
def test_what_a_system_raises_is_raised_with_its_state(jobs: int, where: Cell) -> None:
    with pytest.raises(ZeroDivisionError, match="oh") as caught:
        explore(Raising(BIG, where, ZeroDivisionError("oh")), jobs=jobs)
    assert any(repr(where) in note for note in caught.value.__notes__)
    assert not multiprocessing.active_children()


def test_an_exception_that_cannot_leave_its_process_is_told() -> None:
    with pytest.raises(RuntimeError, match="Unpicklable: ab") as caught:
        explore(Raising(BIG, (37, 37), Unpicklable("a", "b")), jobs=2)
    assert any("(37, 37)" in note for note in caught.value.__notes__)


def test_of_two_that_raise_the_first_in_the_order_is_told() -> None:
    class Both(Grid):
        def successors(self, state: Cell) -> Any:
            if state in {(50, 22), (22, 50)}:
                raise ValueError(str(state))
            return super().successors(state)

    for jobs in (1, 2):
        with pytest.raises(ValueError, match=r"\(50, 22\)"):
            explore(Both(BIG), jobs=jobs)


def test_states_that_cannot_be_pickled_are_named() -> None:
    class Local:
        def initial(self) -> Any:
            return range(200)

        def successors(self, state: Any) -> Any:
            if isinstance(state, int):
                yield "wrap", lambda: state

    with pytest.raises(Exception, match="pickle"):
        explore(Local(), jobs=2)


def test_a_worker_that_dies_is_missed() -> None:
    with pytest.raises(WorkerLostError, match=r"exit code 7"):
        explore(Dying(BIG, (37, 37)), jobs=2)
    assert not multiprocessing.active_children()


class Stuck(Wide):
    """In a worker, does something else in the first states, and never ends in the others."""

    def __init__(self, first: Callable[[], object]) -> None:
        super().__init__(1_000)
        self.first = first
        self.home = os.getpid()

    def successors(self, state: int) -> Iterator[tuple[int, int]]:
        if os.getpid() != self.home:
            if state > 20:
                signal.pause()
            self.first()
        return super().successors(state)


def test_a_worker_that_dies_is_missed_while_others_never_end() -> None:
    with pytest.raises(WorkerLostError, match="exit code 7"):
        explore(Stuck(lambda: os._exit(7)), jobs=2)
    assert not multiprocessing.active_children()


def test_a_worker_that_just_leaves_is_missed() -> None:
    class Leaving(Wide):
        def successors(self, state: int) -> Iterator[tuple[int, int]]:
            if state:
                os._exit(0)
            return super().successors(state)

    with pytest.raises(WorkerLostError, match="must not"):
        explore(Leaving(1_000), jobs=2)


def test_a_failure_while_filing_ends_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> object:
        assert multiprocessing.active_children()
        raise KeyboardInterrupt

    monkeypatch.setattr(explorer, "_received", interrupted)

    def failing() -> None:
        raise ValueError("so that there is a message")

    with pytest.raises(KeyboardInterrupt):
        explore(Stuck(failing), jobs=2)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path: Path, number: signal.Signals) -> None:
    """The workers hold the write end of a pipe: it is closed once all of them are gone."""
    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, signal, sys
            from fencepost.properties.explorer.explorer import explore

            class Endless:
                def initial(self):
                    return range(10_000)

                def successors(self, state):
                    if os.getpid() != home:
                        os.write(held, b"x")
                    return [("add", state + 10_000)]

            # As from a terminal, even if these tests run where SIGINT is ignored.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            home, held = os.getpid(), int(sys.argv[1])
            explore(Endless(), jobs=2)
            """
        ),
        "utf-8",
    )
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, str(script), str(writer)],
        pass_fds=[writer],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    os.close(writer)
    patience = threading.Timer(PATIENCE_S, process.kill)
    patience.start()
    with process, os.fdopen(reader, "rb", buffering=0) as pipe:
        assert pipe.read(1) == b"x"
        process.send_signal(number)
        while pipe.read(4096):
            pass
        assert process.wait() == -number
    patience.cancel()
