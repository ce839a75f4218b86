"""The bench of the explorer: its figures, what stands beside them, and what can't be had."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks import explore, programs
from benchmarks.kip345_small import CONFIGURATIONS
from benchmarks.programs import ProgramError, figures_in, output_of

PRINTED = "A states=411 transitions=2802 levels=12 secs=0.50 states/s=822 MiB=15"
SOURCE = Path("stateright") / "src"


@pytest.fixture(autouse=True)
def nothing_of_the_real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its figures, of which `test_worlds.py` is, take four processes and many seconds."""
    monkeypatch.setattr(command, "real_model_figures", lambda _: {})


def run(*args: str) -> dict[str, Any]:
    result = CliRunner().invoke(command.bench_group, ["explore", *args], standalone_mode=False)
    assert result.exception is None, result.output
    figures: dict[str, Any] = json.loads(result.stdout)["explore"]
    return figures


@pytest.fixture
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the published one is, with programs that only pretend, and a cargo that does."""
    folder, tools = tmp_path / "peers", tmp_path / "bin"
    (folder / SOURCE).mkdir(parents=True)
    (folder / "kip345_small.py").write_text(f"print({PRINTED!r})\n", "utf-8")
    (folder / "stateright" / "Cargo.toml").write_text("[package]\n", "utf-8")
    (folder / SOURCE / "main.rs").write_text("fn main() {}\n", "utf-8")
    tools.mkdir()
    cargo = tools / "cargo"
    line = PRINTED.replace("levels", "depth").replace("=822", "=411")
    cargo.write_text(
        "#!/bin/sh\nmkdir -p target/release\n"
        f"printf '#!/bin/sh\\necho {line}\\n' > target/release/kip345_small\n"
        "chmod +x target/release/kip345_small\n",
        "utf-8",
    )
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_each_way_has_its_figures() -> None:
    figures = run("--configuration", "A", *(f"--way={way}" for way in explore.WAYS))
    assert list(figures) == ["A"]
    for way in explore.WAYS:
        row = figures["A"][way]
        assert (row["states"], row["transitions"], row["levels"]) == (411, 2802, 12)
        assert row["as_published"] is True
        assert row["violations"] == []
        assert row["states_per_second"] > 0
        assert row["transitions_per_second"] > row["states_per_second"]
        assert row["peak_bytes"] > 1 << 20
    assert "times_plain_python" not in figures["A"]


def test_other_counts_are_not_as_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONFIGURATIONS, "B", CONFIGURATIONS["A"])
    assert explore.figures_of("B", "packed", 1)["as_published"] is True
    known = CONFIGURATIONS["A"]
    wrong = type(known)(known.instances, known.ids, known.generations, 411, 2_802, 13)
    monkeypatch.setitem(CONFIGURATIONS, "A", wrong)
    assert explore.figures_of("A", "packed", 1)["as_published"] is False


def test_others_stand_beside_it_with_ratios(peers: Path, tmp_path: Path) -> None:
    row = run("--configuration", "A", "--way", "packed", "--beside", str(peers))["A"]
    own = row["packed"]["states_per_second"]
    assert row["plain_python"]["states_per_second"] == 822
    assert row["plain_python"]["levels"] == 12
    assert row["plain_python"]["peak_bytes"] == 15 << 20
    assert [row[f"stateright_{n}"]["threads"] for n in (1, 2)] == [1, 2]
    assert row["times_plain_python"] == round(own / 822, 2)
    assert row["times_stateright"] == round(own / 411, 2)
    assert len(list((tmp_path / "cache" / "fencepost").iterdir())) == 1, "built once, in the cache"
    assert not (peers / "stateright" / "target").exists()


def test_what_is_missing_is_said_with_a_remedy(
    peers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (peers / "kip345_small.py").unlink()
    row = run("--configuration", "A", "--way", "packed", "--beside", str(peers))["A"]
    assert "has no kip345_small.py" in row["plain_python"]["unavailable"]
    assert "install Rust" in row["stateright_2"]["unavailable"]
    assert (row["times_plain_python"], row["times_stateright"]) == (None, None)


def test_without_numpy_the_other_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        assert name == "numpy"

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    with pytest.raises(ProgramError, match=r"install .*\[frontier\].*, or name another way"):
        explore.figures_of("A", "frontier", 1)


def test_a_build_that_fails_is_told_by_its_last_line(peers: Path, tmp_path: Path) -> None:
    cargo = tmp_path / "bin" / "cargo"
    cargo.write_text("#!/bin/sh\necho first >&2\necho no such crate >&2\nexit 101\n", "utf-8")
    with pytest.raises(ProgramError, match=r"exit code 101 \(no such crate\)"):
        programs.build_stateright(peers)


def test_another_source_is_another_build(peers: Path) -> None:
    before = programs.build_stateright(peers)
    assert programs.build_stateright(peers) == before
    (peers / SOURCE / "main.rs").write_text("fn main() { }\n", "utf-8")
    assert programs.build_stateright(peers) != before


def test_figures_are_read_from_a_line() -> None:
    assert figures_in(PRINTED)["states/s"] == 822
    assert figures_in("no figures, a=b, c=") == {}


def test_a_program_that_prints_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kip345_small.py").write_text("print('states=1')\n", "utf-8")
    with pytest.raises(ProgramError, match="'transitions' is missing in 'states=1'"):
        programs.plain_python(tmp_path, "A")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import sys; sys.exit(3)", r"exit code 3 \(nothing was printed\)"),
        ("while True: pass", "took more than 0.5 s; try a smaller configuration"),
    ],
)
def test_a_program_that_fails_or_never_ends_is_named(code: str, says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        output_of([sys.executable, "-c", code], within_s=0.5 if "True" in code else 60)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ProgramError, match=r"no-such-program can't be run: .*; install it"):
        output_of(["no-such-program"], within_s=60)


def test_what_a_program_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grandchild holds the write end of a pipe, which is closed once it is gone."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with os.fdopen(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        os.set_blocking(pipe.fileno(), True)

        def interrupted(*_: object, **__: object) -> None:
            with fifo.open("wb"):  # so that nothing was written yet is not the end
                assert pipe.read(1) == b"x"
            raise KeyboardInterrupt

        monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
        grandchild = f"f = open({str(fifo)!r}, 'wb', 0); f.write(b'x')\nwhile True: pass"
        child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}])"
        with pytest.raises(KeyboardInterrupt):
            output_of([sys.executable, "-c", child], within_s=60)
        assert pipe.read() == b""
