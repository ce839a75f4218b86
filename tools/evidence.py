"""Keep the output and files of the commands, and compare them with those of another checkout.

A change of the structure must not change a verdict or a byte of a report.  So, before and after it:

    python -m tools.evidence keep before --of ../old-checkout
    python -m tools.evidence keep after
    python -m tools.evidence compare before after

Both runs read the logs, traces and certificates of this checkout.  The commands run on a virtual
clock or read files, so that their output is the same each time but for times and speeds.  The
places of Z3's counterexamples (`prove`) are its own choice, and may differ.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from benchmarks.before import package
from fencepost.conformance.cli.cli import exit_code

ROOT = Path(__file__).resolve().parent.parent
REPORT = "REPORT"
"""Placeholder in arguments for the file or folder that a command writes."""
_RUN = "from fencepost.conformance.cli.cli import main; main()"
_PATIENCE_S = 900
_MUTANTS = (
    "kafka-8500",
    "kafka-9801",
    "zombie-join-takes-over",
    "crabka-static-never-expires",
    "replace-keeps-old-mapping",
)
_FORMS = ("itf", "mermaid", "pytest", "adapter", "csv", "trace")
_TIMES: tuple[tuple[str, str], ...] = (
    (
        r'"(seconds|wall_s|cpu_seconds|duration|time|elapsed|peak_mib|\w+_per_second)": ?[\d.e+-]+',
        "",
    ),
    (r'(time|timestamp|seconds)="[^"]*"', ""),
    (r"\b[\d,]+(\.\d+)? ?(s|ms|min|h|MiB)\b", ""),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|\+\d\d:\d\d)?", ""),
    (r"[\d,]+ \w+ (and [\d,]+ \w+ )?per second", ""),
)
"""Patterns of times and speeds, each with its replacement in the comparison."""


def commands(root: Path) -> dict[str, tuple[str, ...]]:
    """Return name → arguments of the commands, in a fixed order; the name is their folder."""
    traces = sorted((root / "traces" / "corpus").glob("*/*.json"))[::9]
    logs = sorted((root / "tests" / "traces").glob("*_logs/*.log.gz"))
    scenarios = sorted((root / "conformance" / "simulate" / "scenarios").glob("*.toml"))
    listed: dict[str, tuple[str, ...]] = {
        f"text/{word}": (word,)
        for word in ("table", "revisions", "cases", "properties", "schema", "mutants")
    }
    for target in ("model", "model:kafka-2.3", *(f"mutant:{name}" for name in _MUTANTS)):
        listed[f"certify/{target}"] = ("certify", target, "--report", REPORT)
    listed["certify/cover"] = ("certify", "model", "--suite", "cover", "--report", REPORT)
    for target, seed in (("model", "1"), ("mutant:kafka-8500", "1"), ("mutant:kafka-9752", "3")):
        search = ("--seed", seed, "--requests", "3000", "--report", REPORT)
        listed[f"fuzz/{target}"] = ("fuzz", target, *search)
    listed["compare"] = ("compare", "model", "mutant:kafka-8500", "--requests", "2000")
    for revision in ("kafka-4", "mutant:kafka-8500", "mutant:kafka-9801"):
        listed[f"check/{revision}"] = ("check", revision, "--jobs", "2", "--report", REPORT)
        listed[f"prove/{revision}"] = ("prove", "--revision", revision)
    listed["explore"] = ("explore", "--json")
    listed["diff"] = ("diff", "kafka-2.3", "kafka-4", "--report", REPORT)
    for log in logs:
        listed[f"audit/{log.name}"] = ("audit", str(log), "--report", REPORT)
        listed[f"audit-json/{log.name}"] = ("audit", str(log), "--json")
    for scenario in scenarios:
        listed[f"simulate/{scenario.stem}"] = ("simulate", scenario.stem, "--report", REPORT)
    known = ("--members", "20", "--partitions", "100", "--restart-s", "12")
    listed["advise"] = ("advise", *known, "--report", REPORT)
    listed["site"] = ("site", str(root / "docs" / "certificates"), "--report", REPORT)
    for trace in traces:
        name = f"{trace.parent.name}-{trace.name}"
        listed |= {
            f"convert/{form}/{name}": ("convert", str(trace), "--to", form) for form in _FORMS
        }
        listed[f"view/{name}"] = ("view", str(trace), "-o", REPORT)
        listed[f"replay/{name}"] = ("replay", str(trace))
        listed[f"shrink/{name}"] = ("shrink", str(trace))
    return listed


def keep(name: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run a command of fencepost, and keep its output, its exit code and its files."""
    place = folder / name.replace(":", "-")
    place.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="fencepost-") as work:
        written = Path(work, "report")
        ended = subprocess.run(  # noqa: S603  (fencepost itself)
            [sys.executable, "-c", _RUN, *(str(written) if a == REPORT else a for a in arguments)],
            cwd=work,
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        printed = f"{ended.stdout}\n{ended.stderr}\nexit {ended.returncode}\n"
        (place / "printed").write_text(printed.replace(work, "WORK"), encoding="utf-8")
        if written.exists():
            shutil.move(written, place / "report")


def without_times(text: str) -> str:
    """Leave out times and speeds, which differ from run to run."""
    for pattern, word in _TIMES:
        text = re.sub(pattern, word, text)
    return text


def differences(old: Path, new: Path) -> Iterator[str]:
    """Yield the files that differ, each with its first different lines."""
    files = {
        path.relative_to(top) for top in (old, new) for path in top.rglob("*") if path.is_file()
    }
    for name in sorted(files):
        if not (old / name).exists() or not (new / name).exists():
            yield f"{name}: only in {old if (old / name).exists() else new}"
            continue
        texts = ((top / name).read_text("utf-8") for top in (old, new))
        before, after = map(without_times, texts)
        if before != after:
            changed = difflib.unified_diff(
                before.splitlines(), after.splitlines(), lineterm="", n=0
            )
            yield "\n    ".join((f"{name}:", *list(changed)[2:8]))


@click.group("evidence")
def evidence() -> None:
    """Keep the output of the commands, and compare it."""


@evidence.command("keep")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--of",
    "checkout",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=ROOT,
    metavar="CHECKOUT",
    help="The checkout whose fencepost runs  [default: this one].",
)
@click.option("--only", multiple=True, metavar="START", help="Only names that begin so.")
def keep_command(folder: Path, checkout: Path, only: tuple[str, ...]) -> int:
    """Run the commands of a checkout, and keep their output in a new FOLDER."""
    if folder.exists():
        raise click.UsageError(f"{folder} is there already: choose another folder, or remove it")
    chosen = {
        name: arguments
        for name, arguments in commands(ROOT).items()
        if not only or name.startswith(only)
    }
    if not chosen:
        raise click.UsageError(f"no command begins with {' or '.join(only)}")
    with tempfile.TemporaryDirectory(prefix="fencepost-") as work:
        path = str(package(Path(work, "package"), checkout))
        environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "100", "TZ": "UTC"}
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            runs = [
                threads.submit(keep, name, arguments, folder, environment)
                for name, arguments in chosen.items()
            ]
            for run in runs:
                run.result()
    click.echo(f"{len(chosen)} commands: {folder}")
    return 0


@evidence.command("compare")
@click.argument("old", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("new", type=click.Path(exists=True, file_okay=False, path_type=Path))
def compare_command(old: Path, new: Path) -> int:
    """Compare two folders without times.  Exit code 1: they differ."""
    different = list(differences(old, new))
    for difference in different:
        click.echo(difference)
    click.echo(f"{len(different)} files differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(exit_code(evidence, None, "python -m tools.evidence"))
