"""`step`: choosing by number, going back, saving, and that nothing is lost at any end."""

from __future__ import annotations

import io
import json
import shlex
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.places import ROOT

from fencepost.conformance.cli.cli import main
from fencepost.traces.files.trace_file import TraceFile


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def again(self) -> list[str]:
        """The arguments of the command that takes the same steps again."""
        line = next(line for line in self.err.splitlines() if "not saved" in line)
        return shlex.split(line.rpartition("this takes them again: fencepost ")[2])


Run = Callable[..., Ran]


class Script:
    """Lines of a script; `interrupted`: Ctrl-C comes after them."""

    def __init__(self, text: str, *, interrupted: bool) -> None:
        self.text, self.interrupted = text, interrupted

    def isatty(self) -> bool:
        return False

    def __iter__(self) -> Iterator[str]:
        yield from self.text.splitlines(keepends=True)
        if self.interrupted:
            raise KeyboardInterrupt


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `fencepost` with these arguments, and a script."""

    def running(*arguments: str, script: str = "", interrupted: bool = False) -> Ran:
        monkeypatch.setattr("sys.stdin", Script(script, interrupted=interrupted))
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        printed = capsys.readouterr()
        return Ran(int(ended.value.code or 0), printed.out, printed.err)

    return running


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `fencepost step` at a terminal, where this is typed; an exception is a key for it."""

    def running(*lines: str | type[BaseException], arguments: tuple[str, ...] = ()) -> Ran:
        keys: Iterator[str | type[BaseException]] = iter(lines)

        def answer(prompt: str = "") -> str:
            print(prompt, end="")  # noqa: T201  (as `input` does)
            key = next(keys)
            if isinstance(key, str):
                return key
            raise key

        monkeypatch.setattr("sys.stdin", Terminal())
        monkeypatch.setattr("builtins.input", answer)
        with pytest.raises(SystemExit) as ended:
            main(["step", *arguments])
        printed = capsys.readouterr()
        assert [*keys] == []
        return Ran(int(ended.value.code or 0), printed.out, printed.err)

    return running


def events_of(path: Path) -> tuple[object, ...]:
    return TraceFile.read(path).events


def test_a_script_steps_and_sees_answers_rules_and_changes(run: Run) -> None:
    ran = run("step", script="1\n2  # c1 syncs\n6\n3\n")

    assert ran.code == 0
    assert '1  c1 (A)  JoinGroup v9 (member "", instance A) → NONE, generation 1' in ran.out
    assert "[SYNC-COMPLETING-LEADER]" in ran.out
    assert "state                   CompletingRebalance → Stable" in ran.out
    assert "instance A              held by A-1 → held by A-2" in ran.out
    assert (
        "c1 (A)  Heartbeat v4 (member A-1, instance A, generation 1) → FENCED_INSTANCE" in ran.out
    )
    assert ran.err.startswith("4 steps not saved")


def test_what_is_saved_replays_and_opens_as_a_page(run: Run, tmp_path: Path) -> None:
    trace, page = tmp_path / "run.json", tmp_path / "page.html"
    ran = run("step", script=f"1\n2\nsave {trace}\nview {page}\nquit\n")

    assert (ran.code, ran.err) == (0, "")
    assert f"{trace}: 2 steps" in ran.out
    assert "the same verdict" in run("replay", str(trace)).out
    assert "<h1" in page.read_text("utf-8")
    assert events_of(tmp_path / "page.json") == events_of(trace)


def test_back_goes_back_and_what_is_saved_is_the_rest(run: Run, tmp_path: Path) -> None:
    ran = run("step", "-o", str(tmp_path / "a.json"), script="1\n2\n6\nback 2\nb\n2\n")
    other = run("step", "-o", str(tmp_path / "b.json"), script="2\n")

    assert ran.code == other.code == 0
    assert events_of(tmp_path / "a.json") == events_of(tmp_path / "b.json")


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_is_not_saved_is_named_so_that_it_can_be_had_again(
    run: Run, tmp_path: Path, interrupted: bool
) -> None:
    scope = ("--dynamic", "1", "--act", "join", "--act", "restart")
    ran = run("step", *scope, "--take", "1", script="2\n", interrupted=interrupted)
    assert ran.code == (130 if interrupted else 0)
    assert ran.again == ["step", *scope, "--take", "1,2"]

    a, b = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    assert run(*ran.again, "-o", a).code == 0
    assert run("step", *scope, "-o", b, script="1\n2\n", interrupted=interrupted).code == ran.code
    assert events_of(Path(a)) == events_of(Path(b))


def test_an_interrupted_command_does_not_end_the_threads_of_its_caller(run: Run) -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert run("step", script="1\n", interrupted=True).code == 130
        assert thread.is_alive()
    finally:
        done.set()
        thread.join()


def test_a_run_that_comes_back_is_saved_as_one_that_repeats(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "lasso.json"
    ran = run("step", script=f"1\n2\n3\nlasso {path}\n")
    assert "3 steps, at 0 ms: Stable, generation 1, A-1, as after 2 steps" in ran.out
    assert f"{path}: 3 steps, the last 1 of them for ever" in ran.out
    itf = json.loads(run("convert", str(path), "--to", "itf").out)

    assert itf["loop"] == TraceFile.read(path).loop == len(itf["states"]) - 3
    assert "the same verdict" in run("replay", str(path)).out
    assert "nothing repeats yet" in run("step", script=f"1\nlasso {path}\n").err
    assert "name the file, such as: lasso" in run("step", script="1\n2\n3\nlasso\n").err


def test_a_wrong_line_of_a_script_ends_it_and_loses_nothing(run: Run) -> None:
    for wrong, why in (
        ("99", "there is no choice 99; choose 1 to 7"),
        ("jump", "no command 'jump': give a number, or one of back"),
        ("²", "no command '²'"),
        ("back 5", "can't go back 5; give 1 to 1"),
        ("save", "name the file, such as: save run.json"),
        ("view page", "name the page, such as: view run.html"),
        ("why x", "say of which choice, 1 to 7"),
    ):
        ran = run("step", script=f"1\n{wrong}\n2\n")
        assert ran.code == 64
        assert f"line 2, '{wrong}': {why}" in ran.err
        assert ran.err.startswith("1 step not saved; this takes them again")
    assert "the beginning" in run("step", script="back\n").err
    assert "take a choice first" in run("step", script="save x.json\n").err


def test_steps_before_the_end_of_a_file_are_taken_again(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    run("step", "--take", "1,1", "-o", str(path), script="")
    again = run("step", str(path), script="back 2\n1\n").err.partition("again: ")[2].strip()
    assert again == f"printf '%s\\n' 'back 1' | fencepost step {path}"
    assert run("step", str(path), script="back\n").err.strip().endswith(again)


def test_a_terminal_tells_what_is_wrong_and_goes_on(typed: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    ran = typed("nonsense", "?", "", "1", "group", "path", "why 2", f"s {path}", "q")

    assert (ran.code, ran.err) == (0, "")
    for words in ("no command 'nonsense'", "save FILE", "SYNC-COMPLETING-LEADER", "6,000 ms"):
        assert words in ran.out
    assert path.exists()


def test_at_the_end_a_terminal_offers_to_save(typed: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert f"{path}: 1 step" in typed("1", "q", str(path)).out
    assert typed("1", "q", "").again == ["step", "--take", "1"]
    for key, code in ((KeyboardInterrupt, 130), (EOFError, 0)):
        ran = typed("1", key, "back", "1", key, key)
        assert ran.code == code
        assert ran.out.count("`save FILE` saves; once more ends without") == 2
        assert ran.again == ["step", "--take", "1"]
        assert typed(key).code == code


def test_random_steps_come_first_and_depend_on_the_seed_alone(run: Run, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.json" for number in range(3)]
    for file, seed in zip(files, ("7", "7", "8"), strict=True):
        assert run("step", "--random", "9", "--seed", seed, "-o", str(file)).code == 0

    assert files[0].read_bytes() == files[1].read_bytes()
    assert events_of(files[0]) != events_of(files[2])
    assert len(run("step", "--random", "9").again[-1].split(",")) == 9


def test_it_steps_on_from_a_counterexample(run: Run, tmp_path: Path) -> None:
    run("explore", "--revision", "mutant:kafka-8500", "--report", str(tmp_path))
    trace = str(tmp_path / "static-member-is-mapped.trace.json")
    ran = run("step", trace, script="1\n")

    assert ran.code == 0
    assert ran.out.startswith("mutant:kafka-8500, c1 (A), c2 (A);")
    assert "violates static-member-is-mapped: " in ran.out
    assert ran.again == ["step", trace, "--take", "1"]
    other = run("step", trace, "--revision", "kafka-4")
    assert f"{trace}: kafka-4 does not take its step" in other.out
    assert "violates" not in other.out


def test_a_world_of_check_is_one_to_begin_in(run: Run) -> None:
    ran = run("step", "--question", "zombie", "--revision", "comment-table-1")
    assert "c2 (A)  JoinGroup v9 (member other-1, instance A)" in ran.out
    assert "comment-table-1" in ran.out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--take", "1,9"), "there is no choice 9; choose 1 to 7 (after 1 step)"),
        (("--take", "1,x"), "'x' is no number, such as 2 (after 1 step)"),
        (("--question", "dawn"), "no question 'dawn'"),
        (("--question", "zombie", "--clients", "3"), "--question has its own --clients"),
        (("TRACE", "--clients", "3"), "says who takes part: leave out --clients"),
        (("FINDING",), "no connection of a client of these worlds"),
    ],
)
def test_what_makes_no_sense_is_refused(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    trace = str(tmp_path / "run.json")
    run("step", "--take", "1", "-o", trace)
    finding = str(ROOT / "docs" / "findings" / "parked-sync.json")
    ran = run("step", *({"TRACE": trace, "FINDING": finding}.get(a, a) for a in arguments))

    assert ran.code == 64
    assert why in ran.err


def test_its_trace_becomes_itf_as_any_other(run: Run, tmp_path: Path) -> None:
    trace = str(tmp_path / "run.json")
    run("step", "--random", "12", "--seed", "3", "-o", trace)
    itf = json.loads(run("convert", trace, "--to", "itf").out)

    assert len(itf["states"]) == len(events_of(Path(trace))) + 1
    assert "loop" not in itf
