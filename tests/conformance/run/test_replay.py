"""Replay: the same verdict where nothing changed, another where something did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.findings import FOLDER
from support.runs import KAFKA_4, result_of

from fencepost.conformance.cli.cli import main
from fencepost.conformance.run.replay import rejudge, replay_trace
from fencepost.conformance.targets.in_process import InProcessTarget, ModelCoordinator
from fencepost.model.coordinator import Config, Provenance, Reset
from fencepost.model.plans.plan_order import DELAY
from fencepost.properties.departures.known_departures import DEPARTURES, departed
from fencepost.traces.files.run_trace import trace_of
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.forms.formats import TRACE_FORMATS

STORY = "HEARTBEAT-INSTANCE-FENCED/zombie"
DRAFT = "comment-table-1"


def trace(revision: str) -> TraceFile:
    """The story, run on a revision and judged by kafka-4."""
    result = result_of(STORY, revision)
    assert result.recording is not None
    return trace_of(
        result.recording,
        result.verdict,
        KAFKA_4,
        Provenance(f"model:{revision}", f"fencepost-model:{revision}", "0"),
        seed=0,
        tool_version="0",
    )


@pytest.fixture
def violated(tmp_path: Path) -> Path:
    path = tmp_path / "violated.json"
    trace(DRAFT).write(path)
    return path


@pytest.fixture
def replayed(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs `fencepost replay ARGUMENTS`: exit code, stdout, stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["replay", *map(str, arguments)])
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, said.out, said.err

    return run


Replayed = Callable[..., tuple[int, str, str]]


def test_a_rule_named_by_a_narrower_lag_than_the_files_is_the_same_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded = trace(DRAFT)
    verdict = recorded.judge()
    assert verdict.violation is not None
    right, *_ = verdict.violation.allowed
    later = replace(right, rule="JOIN-LEADER-STABLE")
    both = replace(verdict, violation=replace(verdict.violation, allowed=(later, right)))
    monkeypatch.setattr(TraceFile, "judge", lambda _: both)

    assert rejudge(recorded).same
    named = replace(recorded.verdict, rule="JOIN-PENDING")
    assert not rejudge(replace(recorded, verdict=named)).same


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The file with something changed in it."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_violation_stays_one(violated: Path, replayed: Replayed) -> None:
    assert json.loads(violated.read_text(encoding="utf-8"))["verdict"]["outcome"] == "violated"
    code, out, _ = replayed(violated)
    assert code == 0
    assert out.startswith("the same verdict: violated\n")
    code, out, _ = replayed(violated, "--json")
    document = json.loads(out)
    assert (code, document["same"]) == (0, True)
    assert document["today"]["rule"] == "JOIN-STATIC-EMPTY-STABLE"
    assert document["today"] == document["recorded"]


def test_the_sentence_of_today_is_that_of_this_replay(violated: Path, replayed: Replayed) -> None:
    code, alike, _ = replayed(violated)
    assert code == 0
    first, second = alike.splitlines()
    assert first == "the same verdict: violated"
    assert second.startswith("recorded and today: violated. B2's JoinGroup v9 (step 9) should have")
    said = json.loads(violated.read_text(encoding="utf-8"))["verdict"]["message"]
    changed(violated, lambda document: document["verdict"].update(message="So we said then."))
    code, out, _ = replayed(violated)
    assert (code, out) == (
        0,
        (
            "the same verdict: violated\n"
            f"recorded: violated. So we said then.\ntoday:    violated. {said}\n"
        ),
    )
    document = json.loads(replayed(violated, "--json")[1])
    assert document["message"] == said
    assert document["recorded_message"] == "So we said then."


def test_what_holds_stays_so(tmp_path: Path, replayed: Replayed) -> None:
    path = tmp_path / "holds.json"
    trace("kafka-4").write(path)
    assert replayed(path)[0] == 0
    assert replayed(path, "model:kafka-4")[0] == 0
    assert replayed(path, f"model:{DRAFT}")[0] == 1


def test_an_itf_file_is_replayed_like_a_trace(
    violated: Path, replayed: Replayed, tmp_path: Path
) -> None:
    itf = tmp_path / "violated.itf.json"
    itf.write_text(TRACE_FORMATS["itf"](TraceFile.read(violated)), encoding="utf-8")
    for words in ((), (f"model:{DRAFT}",), ("model:kafka-4",)):
        assert replayed(itf, *words) == replayed(violated, *words)


def test_the_plan_on_another_target(violated: Path, replayed: Replayed) -> None:
    code, out, _ = replayed(violated, "model:kafka-4")
    assert code == 1
    assert "recorded: violated" in out
    assert "today:    holds" in out
    assert out.startswith("another verdict: holds, recorded violated\n")


def test_the_plan_on_the_same_target(violated: Path, replayed: Replayed) -> None:
    code, out, _ = replayed(violated, f"model:{DRAFT}", "--json")
    assert (code, json.loads(out)["same"]) == (0, True)


def test_a_run_that_breaks_the_recorded_rule_as_well_has_the_same_verdict() -> None:
    recorded = TraceFile.read(FOLDER / "protocol-twice.json")
    revision = departed(KAFKA_4, [DEPARTURES["protocol-twice"]])
    replayed = asyncio.run(replay_trace(recorded, InProcessTarget("departed", revision, "0")))
    assert recorded.verdict.rule == "JOIN-PHASE-ALL-JOINED"
    assert "(rule JOIN-MEMBER-PREPARING, MUST" in replayed.today.message
    assert replayed.same


@pytest.mark.parametrize("delay_ms", [0, 1234])
def test_the_plan_has_the_initial_delay_that_was_recorded(
    delay_ms: int, violated: Path, replayed: Replayed, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = TraceFile.read(violated)
    config = {**recorded.config, DELAY: delay_ms}
    replace(recorded, config=config).write(violated)
    delays: list[int | None] = []
    reset = ModelCoordinator.reset

    def noted(self: ModelCoordinator, settings: Config) -> Reset:
        answer = reset(self, settings)
        delays.append(answer.config[DELAY])
        return answer

    monkeypatch.setattr(ModelCoordinator, "reset", noted)
    replayed(violated, "model:kafka-4")
    assert delays[-1] == delay_ms


def test_evidence_that_was_tampered_with(violated: Path, replayed: Replayed) -> None:
    right = trace("kafka-4").to_json()["steps"]

    def correct(document: dict[str, Any]) -> None:
        wrong = document["verdict"]["request"]
        (step,) = [s for s in document["steps"] if s["do"] == "answer" and s["id"] == wrong]
        (fixed,) = [s for s in right if s["do"] == "answer" and s["id"] == wrong]
        assert step["body"] != fixed["body"]
        step["body"] = fixed["body"]
        document["steps"] = document["steps"][: document["steps"].index(step) + 1]

    code, out, _ = replayed(changed(violated, correct))
    assert code == 1
    assert "today:    holds" in out


def test_a_verdict_that_was_tampered_with(violated: Path, replayed: Replayed) -> None:
    def blame(document: dict[str, Any]) -> None:
        document["verdict"]["rule"] = "JOIN-STATIC-EMPTY-NEW"

    assert replayed(changed(violated, blame))[0] == 1


def test_what_was_unknown_is_not_decided_by_judging_it_again(
    tmp_path: Path, replayed: Replayed
) -> None:
    path = tmp_path / "unknown.json"
    held = trace("kafka-4")
    replace(held, verdict=replace(held.verdict, outcome="unknown")).write(path)
    assert replayed(path)[0] == 0


def test_a_trace_without_a_plan_has_nothing_to_run(violated: Path, replayed: Replayed) -> None:
    changed(violated, lambda document: document.update(plan=None))
    assert replayed(violated)[0] == 0
    code, out, err = replayed(violated, "model:kafka-4")
    assert (code, out) == (64, "")
    assert "plan: is null" in err
    assert "replay it without a target" in err


def test_a_plan_of_another_kind(violated: Path, replayed: Replayed) -> None:
    def spoil(document: dict[str, Any]) -> None:
        document["plan"]["steps"][2] = {"do": "dance"}

    code, _, err = replayed(changed(violated, spoil), "model:kafka-4")
    assert code == 64
    assert "dance" in err


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"format": ', "line 1, column 12"),
        ("[]", "$"),
        ('{"format": "something else"}', "$"),
        ("", "line 1, column 1"),
    ],
)
def test_a_broken_file(text: str, place: str, tmp_path: Path, replayed: Replayed) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")
    code, out, err = replayed(path)
    assert (code, out) == (64, "")
    assert f"{path}: {place}" in err
    assert "Traceback" not in err


def test_a_broken_step(violated: Path, replayed: Replayed) -> None:
    def spoil(document: dict[str, Any]) -> None:
        document["steps"][3]["at_ms"] = "soon"

    code, _, err = replayed(changed(violated, spoil))
    assert code == 64
    assert f"{violated}: $.steps[3].at_ms" in err


def test_a_counterexample_that_holds_is_said_to_be_one(
    tmp_path: Path, replayed: Replayed, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["check", "comment-table-1", "--question", "zombie", "--report", str(tmp_path)])
    capsys.readouterr()
    code, out, _ = replayed(tmp_path / "no-two-consumers-on-one-id.trace.json")
    assert code == 0
    assert out == (
        "the same verdict: holds\n"
        "the run shows (counterexample): no-two-consumers-on-one-id: c1 and c2 both consume under "
        "the id A-1\n"
        "recorded: holds. Each answer is one that the revision gives.\n"
        "today:    holds.\n"
    )


def test_a_revision_in_a_file_is_answered_with_how_it_is_run(
    violated: Path, replayed: Replayed
) -> None:
    changed(violated, lambda document: document.update(revision="gone.py:MINE"))
    code, _, err = replayed(violated)
    assert code == 64
    assert err.endswith("run it yourself with --revision gone.py:MINE\n")


def test_a_revision_that_there_is_not(violated: Path, replayed: Replayed) -> None:
    changed(violated, lambda document: document.update(revision="nope"))
    for arguments in ((violated,), (violated, "model")):
        code, _, err = replayed(*arguments)
        assert code == 64
        assert "nope" in err
