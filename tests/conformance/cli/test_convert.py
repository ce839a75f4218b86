"""`convert` and `shrink`, as users have them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.runs import KAFKA_4, result_of
from support.tcp.over_tcp import serving

from fencepost.conformance.cli.cli import main
from fencepost.conformance.run.replay import rejudge
from fencepost.conformance.runtime.unavailable import EXIT_USAGE
from fencepost.conformance.search.findings.shrink_trace import Shrunk, shrink_trace
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.model.coordinator import Provenance
from fencepost.model.revisions import revisions
from fencepost.traces.files.run_trace import trace_of
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.forms.formats import TRACE_FORMATS

STORY = "HEARTBEAT-INSTANCE-FENCED/zombie"
DRAFT = "comment-table-1"
TARGET = f"model:{DRAFT}"

Ended = tuple[int, str, str]
Run = Callable[..., Ended]


def story(revision: str = DRAFT, judge: str = "kafka-4") -> TraceFile:
    result = result_of(STORY, revision)
    assert result.recording is not None
    provenance = Provenance(f"model:{revision}", f"fencepost-model:{revision}", "0")
    trace = trace_of(
        result.recording, result.verdict, KAFKA_4, provenance, seed=0, tool_version="0"
    )
    return replace(trace, revision=revisions.find(judge).name)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `fencepost ARGUMENTS`: exit code, stdout, stderr."""

    def ended(*arguments: object) -> Ended:
        with pytest.raises(SystemExit) as error:
            main([*map(str, arguments)])
        said = capsys.readouterr()
        assert isinstance(error.value.code, int)
        return error.value.code, said.out, said.err

    return ended


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "story.json"
    story().write(path)
    return path


@pytest.mark.parametrize("form", TRACE_FORMATS)
def test_a_form_goes_to_stdout_and_to_a_file(
    form: str, run: Run, file: Path, tmp_path: Path
) -> None:
    code, out, _ = run("convert", file, "--to", form)
    assert (code, out) == (0, TRACE_FORMATS[form](story()))
    assert run("convert", file, "--to", form, "-o", tmp_path / "out") == (0, "", "")
    assert (tmp_path / "out").read_text(encoding="utf-8") == out


def test_itf_is_read_like_a_trace(run: Run, file: Path, tmp_path: Path) -> None:
    itf = tmp_path / "story.itf.json"
    run("convert", file, "--to", "itf", "-o", itf)
    assert run("convert", itf, "--to", "trace")[1] == file.read_text(encoding="utf-8")


def test_what_is_wrong_with_the_input_is_said(run: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no JSON", encoding="utf-8")
    code, _, said = run("convert", tmp_path / "text", "--to", "itf")
    assert (code, "isn't JSON" in said) == (EXIT_USAGE, True)
    code, _, said = run("convert", file, "--to", "pdf")
    assert (code, "'pdf' is not one of" in said) == (EXIT_USAGE, True)
    code, _, said = run("convert", file, "--to", "csv", "-o", tmp_path / "no" / "folder")
    assert (code, "give -o another file" in said) == (EXIT_USAGE, True)
    code, _, said = run("convert", tmp_path / "nothing", "--to", "itf")
    assert (code, "does not exist" in said) == (EXIT_USAGE, True)


def test_a_failure_gets_smaller_and_is_the_same(run: Run, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.json"
    code, _, said = run("shrink", file, TARGET, "-o", out)
    assert code == 0
    assert "(minimal; " in said
    small, big = TraceFile.read(out), story()
    assert small.plan is not None
    assert big.plan is not None
    assert len(small.plan["steps"]) < len(big.plan["steps"])
    assert (small.verdict.rule, small.verdict.wrong) == (big.verdict.rule, big.verdict.wrong)
    assert small.case == big.case
    assert rejudge(small).same
    assert run("shrink", file, TARGET)[1] == out.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 120.0])
def test_on_a_real_clock_it_ends_when_its_time_is_over(seconds: float) -> None:
    trace = story()

    async def shrunk() -> Shrunk:
        async with serving(TARGET) as address:
            return await shrink_trace(trace, TcpTarget(address, capacity=8), seconds=seconds)

    smaller = asyncio.run(shrunk())
    assert smaller.trace.clock == "real"
    assert smaller.is_minimal is (seconds > 0)
    assert smaller.runs, "in no time, too, it is tried again"
    assert (smaller.steps < smaller.before) is (seconds > 0)
    assert rejudge(smaller.trace).same


def test_what_fails_nowhere_can_t_be_made_smaller(run: Run, file: Path) -> None:
    code, out, said = run("shrink", file, "model")
    assert (code, out) == (EXIT_USAGE, "")
    assert "does not fail on model" in said
    assert TARGET in said
    assert run("shrink", file, "nobody")[0] == EXIT_USAGE


def test_a_trace_without_a_plan_can_t_be_made_smaller(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "explored.json"
    replace(story(), plan=None).write(path)
    for target in ("model", "property:one-live-member-per-instance"):
        code, _, said = run("shrink", path, target)
        assert code == EXIT_USAGE
        assert "plan: is null" in said


@pytest.mark.parametrize(
    ("name", "mutant", "case"),
    [
        (
            "two-clients-are-never-told-one-id",
            "tansu-same-id",
            "LEAVE-MEMBER-BY-INSTANCE/life-of-a-static-member",
        ),
        (
            "one-live-member-per-instance",
            "kafka-8500",
            "JOIN-STATIC-EMPTY-COMPLETING/restart-before-the-leader-assigns",
        ),
    ],
    ids=["of histories", "of groups"],
)
def test_the_smallest_that_breaks_a_property(
    name: str, mutant: str, case: str, run: Run, tmp_path: Path
) -> None:
    assert run("certify", f"mutant:{mutant}", "--case", case, "--report", tmp_path)[0] == 1
    (path,) = (tmp_path / "traces").rglob("*.json")
    out = tmp_path / "small.json"
    code, _, said = run("shrink", path, f"property:{name}", "-o", out)
    assert code == 0, said
    small = TraceFile.read(out)
    assert small.verdict.message.startswith(f"{name}: ")
    assert small.plan is not None
    assert len([step for step in small.plan["steps"] if step["do"] == "ask"]) <= 3
    assert small.provenance["target"] == f"model:mutant:{mutant}"


def test_a_property_that_no_trace_shows_is_said_so(run: Run, file: Path) -> None:
    code, _, said = run("shrink", file, "property:no-such")
    assert (code, "no property 'no-such'" in said) == (EXIT_USAGE, True)
    code, _, said = run("shrink", file, "property:one-live-member-per-instance")
    assert (code, "does not break" in said) == (EXIT_USAGE, True)


def test_json_of_others_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "foreign.itf.json"
    path.write_text(json.dumps({"vars": ["x"], "states": [{"x": 1}, {"x": 2}]}), encoding="utf-8")
    code, _, said = run("convert", path, "--to", "trace")
    assert code == EXIT_USAGE
    assert "$.states[1]: has no `step`, and its variables (x) aren't known" in said
