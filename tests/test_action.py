"""The GitHub Action in `action.yml`: its steps are run as a runner runs them, in a clean folder."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.places import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
REPORT = runpy.run_path(str(ROOT / "action" / "report.py"), run_name="report")
COMMANDS = Path(sys.executable).parent
SECONDS = 300
CASE = "HEARTBEAT-INSTANCE-FENCED/zombie-beats"

needs_command = pytest.mark.skipif(
    not (COMMANDS / "fencepost").exists(), reason="needs the installed command: run tox, or install"
)


@dataclass
class Ran:
    """The exit code, the log and the files of the steps."""

    code: int
    log: str
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""


def run_action(folder: Path, source: Path | None = None, **inputs: str) -> Ran:
    """Run the steps with these inputs, in a folder that stands for the reader's checkout.

    The action installs itself from `source`; without one that step is left out, and the command of
    this environment used.
    """
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f"{folder.name}-runner")
    temporary.mkdir()
    if source is None:
        (temporary / "fencepost").mkdir()
        (temporary / "fencepost" / "bin").symlink_to(COMMANDS)
    given = {name: row["default"] for name, row in ACTION["inputs"].items()}
    assert set(inputs) <= {name.replace("-", "_") for name in given}
    values = {f"inputs.{name}": inputs.get(name.replace("-", "_"), given[name]) for name in given}
    values |= {
        "github.action_path": str(source or ROOT),
        "steps.python.outputs.python-path": sys.executable,
    }
    ran = Ran(0, "")
    for number, step in enumerate(ACTION["runs"]["steps"]):
        if "run" not in step or (source is None and step["name"] == "Install fencepost"):
            continue
        output, summary = (temporary / f"{kind}-{number}" for kind in ("output", "summary"))
        output.touch()
        summary.touch()
        files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env=os.environ
            | {"RUNNER_TEMP": str(temporary), **files}
            | {name: substituted(text, values) for name, text in step["env"].items()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        for line in output.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = value
        ran.code = done.returncode
        ran.log += done.stdout
        ran.summary += summary.read_text("utf-8")
        if done.returncode:
            break
    for name, row in ACTION["outputs"].items():
        ran.outputs[name] = substituted(row["value"], values)
    return ran


def substituted(text: str, values: dict[str, str]) -> str:
    """A text with its expressions replaced; what no step has set yet is empty."""
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: values.get(found[1], ""), text)


def known_failures(folder: Path, target: str) -> str:
    """Write the example list, for another target; its name."""
    text = (ROOT / "examples" / "ci" / "known-failures.json").read_text("utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "known.json").write_text(text.replace('"tcp"', f'"{target}"'), "utf-8")
    return "known.json\n"


def line_of(folder: Path, word: str) -> int:
    lines = (folder / "known.json").read_text("utf-8").splitlines()
    return 1 + next(number for number, line in enumerate(lines) if word in line)


def test_every_input_is_used_and_every_expression_is_one() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    used = set(re.findall(r"\binputs\.([\w-]+)", text))
    assert used == ACTION["inputs"].keys()
    steps = ACTION["runs"]["steps"]
    ids = {step["id"] for step in steps if "id" in step}
    assert set(re.findall(r"\bsteps\.([\w-]+)\.", text)) == ids
    for step in steps:
        assert ("uses" in step) != ("run" in step)
        assert "uses" in step or step["shell"] == "bash"
        assert "${{" not in step.get("run", ""), "an input in a script could be a command"
    order = [step.get("name") for step in steps]
    assert order[-2:] == ["Keep the reports", "Verdict"], "a failed run is the one that is read"


@needs_command
def test_a_model_holds(tmp_path: Path) -> None:
    ran = run_action(tmp_path / "work", target="model:kafka-4", cases=f"{CASE}\n")
    assert ran.code == 0, ran.log
    assert "::error" not in ran.log
    assert ran.outputs == {
        "verdict": "holds",
        "exit-code": "0",
        "report": "fencepost-report",
        "junit": "fencepost-report/certificate/junit.xml",
    }
    assert (tmp_path / "work" / ran.outputs["junit"]).is_file()
    assert ran.summary.startswith("### fencepost: holds\n")
    assert "| MUST | 1 |" in ran.summary


@needs_command
def test_a_mutant_is_violated_and_annotated_where_the_list_begins(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    listed = known_failures(folder, "another")
    ran = run_action(folder, target="mutant:zombie-heartbeats", cases=CASE, known_failures=listed)
    assert ran.code == 1, ran.log
    assert ran.outputs["verdict"] == "violated"
    line = line_of(folder, '"entries"')
    assert f"::error file=known.json,line={line},title=MUST violated::{CASE}: B1's" in ran.log
    assert "**MUST violated**" in ran.summary


@needs_command
@pytest.mark.slow
def test_a_search_decides_too(tmp_path: Path) -> None:
    ran = run_action(
        tmp_path / "work",
        target="mutant:pending-does-not-block",
        cases=CASE,
        fuzz_minutes="0.05",
        fuzz_seed="1",
        fuzz_options="--examine 30 --jobs '1'",
    )
    assert "holds" in ran.log
    assert ran.code == 1, ran.log
    assert ran.outputs["verdict"] == "violated"
    assert "::error title=fuzz%3A JOIN-PHASE-WAIT::" in ran.log
    assert (tmp_path / "work" / "fencepost-report" / "fuzz" / "fuzz.json").is_file()


@needs_command
@pytest.mark.slow
def test_an_entry_that_is_out_of_date_is_annotated_in_its_line(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    listed = known_failures(folder, "model")
    ran = run_action(folder, target="model:kafka-4", cases=CASE, known_failures=listed)
    assert ran.code == 1, ran.log
    line = line_of(folder, CASE)
    assert f"::error file=known.json,line={line},title=known failure out of date::" in ran.log


@needs_command
@pytest.mark.parametrize(
    ("inputs", "code", "said"),
    [
        ({}, 64, "Give the input target or the input client"),
        ({"target": "model", "client": "reference"}, 64, "Give the input target or"),
        pytest.param(
            {"target": "nonesuch"}, 64, "certify ended with exit code 64", marks=pytest.mark.slow
        ),
    ],
)
def test_an_input_that_is_wrong_is_an_error(
    tmp_path: Path, inputs: dict[str, str], code: int, said: str
) -> None:
    ran = run_action(tmp_path / "work", None, **inputs)
    assert ran.code == code, ran.log
    assert said in ran.log
    assert ran.outputs["verdict"] in {"", "error"}


@needs_command
@pytest.mark.slow
def test_a_client_is_certified(tmp_path: Path) -> None:
    ran = run_action(
        tmp_path / "work", client="reference", cases="CLIENT-FENCED-HEARTBEAT", level="must"
    )
    assert ran.code == 0, ran.log
    assert ran.outputs["verdict"] == "holds"


@pytest.mark.parametrize(
    ("codes", "decides"), [([0], 0), ([0, 2], 2), ([2, 1], 1), ([1, 69], 69), ([0, 0], 0)]
)
def test_the_worst_exit_code_decides(codes: list[int], decides: int) -> None:
    assert REPORT["worst"](codes) == decides


def test_a_message_cannot_end_a_command_of_the_log() -> None:
    note = REPORT["Annotation"]("error", "a:b,c", "50%\n::end", "x,y.json", 3)
    shown = "::error file=x%2Cy.json,line=3,title=a%3Ab%2Cc::50%25%0A::end"
    assert note.command() == shown


def test_a_failure_below_the_level_is_a_warning() -> None:
    case = {"id": "A/b", "message": "wrong", "outcome": "fail", "level": "MAY"}
    notes = list(REPORT["of_certificate"]({"level": "SHOULD", "cases": [case]}, []))
    assert [note.kind for note in notes] == ["warning"]


def test_each_line_that_names_a_case_is_found(tmp_path: Path) -> None:
    known_failures(tmp_path, "model")
    case = {"id": CASE, "message": "passes", "outcome": "stale-known-failure", "level": "MUST"}
    certificate = {"level": "SHOULD", "cases": [case]}
    lists = [tmp_path / "known.json"] * 2
    notes = list(REPORT["of_certificate"](certificate, lists))
    assert [(note.kind, note.line) for note in notes] == [("error", line_of(tmp_path, CASE))] * 2


@pytest.mark.parametrize("name", ["action.yml", "client.yml"])
def test_the_example_gives_inputs_that_there_are(name: str) -> None:
    example = yaml.safe_load((ROOT / "examples" / "ci" / name).read_text("utf-8"))
    (job,) = example["jobs"].values()
    step = job["steps"][-1]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    assert step["uses"].endswith("/fencepost@v0.1.0")
