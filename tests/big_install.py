"""Installations in clean folders: on each Python that is here, and as documents and files say.

The commands of `docs/install.md` are run as they are shown; git finds a copy of this checkout at
the address that they name.  `action.yml` installs itself.

Where a container can be built, it is; elsewhere the steps of the Dockerfile are run in a folder
that stands for its root, but for those that change a system (`apt-get`, `useradd`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from support.places import ROOT
from test_action import run_action
from test_docs import blocks

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SECONDS = 900
CASE = "JOIN-INSTANCE-FENCED/zombie-joins"
SYSTEM = ("apt-get", "useradd")


class Step(NamedTuple):
    """An instruction of a Dockerfile, in one line."""

    word: str
    rest: str


def steps(text: str) -> list[Step]:
    """The instructions, without comments."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [Step(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def run(
    *command: str | Path, folder: Path, path: str | None = None, **variables: str | Path
) -> str:
    """Run a command; what it printed.  Nothing of this environment is seen by it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    kept |= {name: str(value) for name, value in variables.items()}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=kept | ({} if path is None else {"PATH": path}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def interpreter(version: str) -> str | None:
    """A Python of this version: on the PATH, or pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    return str(found[-1]) if found else shutil.which(f"python{version}")


def environment(folder: Path, python: str) -> Path:
    """A virtual environment; its folder of programs."""
    run(python, "-m", "venv", folder / "venv", folder=folder)
    return folder / "venv" / "bin"


def sources(folder: Path) -> Path:
    """A clean checkout: what git knows, as it is now."""
    names = run("git", "ls-files", "-z", folder=ROOT).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / "src" / name)
    return folder / "src"


def repository(source: Path) -> None:
    """Make a Git repository of a clean checkout."""
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    run("git", "init", "--quiet", folder=source)
    run("git", "add", "--all", folder=source)
    run("git", *names, "commit", "--quiet", "-m", "all", folder=source)


def works(command: Path, folder: Path) -> None:
    """The installed command judges, writes pages, and knows what is installed."""
    said = run(command, "certify", "model", "--case", CASE, "--report", "report", folder=folder)
    assert "holds" in said
    run(command, "site", "report", "--report", "results", folder=folder)
    assert (folder / "results" / "index.html").is_file()
    run(command, "doctor", "python", folder=folder)


def holds(archive: Path) -> set[str]:
    """The files of a wheel, but for what describes it."""
    with zipfile.ZipFile(archive) as wheel:
        return {name for name in wheel.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the source archive, built from a clean checkout as `tox -e dist` does."""
    folder = tmp_path_factory.mktemp("archives")
    source = sources(folder)
    run(sys.executable, "-m", "build", "--outdir", folder / "dist", folder=source)
    (wheel,) = (folder / "dist").glob("*.whl")
    (archive,) = (folder / "dist").glob("*.tar.gz")
    return {"wheel": wheel, "source": archive}


@pytest.mark.parametrize("kind", ["wheel", "source"])
@pytest.mark.parametrize("version", VERSIONS)
def test_an_archive_works(
    archives: dict[str, Path], version: str, kind: str, tmp_path: Path
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"needs Python {version}, on the PATH or of pyenv")
    programs = environment(tmp_path, python)
    run(programs / "pip", "--quiet", "install", f"{archives[kind]}[mock]", folder=tmp_path)
    works(programs / "fencepost", tmp_path)
    run(programs / "pip", "check", folder=tmp_path)
    said = run(programs / "python", "-c", "import sys; print(sys.version)", folder=tmp_path)
    assert said.startswith(version)


def test_a_source_archive_makes_the_same_wheel(archives: dict[str, Path], tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--quiet")
    run(*pip, "wheel", "--no-deps", "--wheel-dir", "dist", archives["source"], folder=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert holds(wheel) == holds(archives["wheel"])


def ways() -> list[tuple[str, ...]]:
    """The commands of each way of installing that docs/install.md shows, with those before it."""
    found: list[tuple[str, ...]] = []
    built: tuple[str, ...] = ()
    for block in blocks((ROOT / "docs" / "install.md").read_text("utf-8"), "install.md"):
        shown = tuple(command.text for command in block.commands)
        if " wheel " in shown[0]:
            built = shown
        elif " install " in shown[0]:
            found.append(built + shown if "dist/" in shown[0] else shown)
    return found


def test_every_way_is_found() -> None:
    assert [way[-1].split()[0] for way in ways()] == [*["pipx", "uv", "pip"] * 2, "pip"]


@pytest.mark.parametrize("commands", ways(), ids=lambda commands: commands[-1])
def test_a_way_that_the_page_shows_works(commands: tuple[str, ...], tmp_path: Path) -> None:
    source = sources(tmp_path)
    repository(source)
    programs = environment(tmp_path, sys.executable)
    path = os.pathsep.join(map(str, (programs, Path(sys.executable).parent, os.environ["PATH"])))
    elsewhere = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{source}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://git.example.org/fencepost.git",
    }
    places: dict[str, str | Path] = {
        "PIPX_HOME": tmp_path / "pipx",
        "PIPX_BIN_DIR": programs,
        "PIPX_DEFAULT_PYTHON": sys.executable,
        "UV_TOOL_DIR": tmp_path / "uv",
        "UV_TOOL_BIN_DIR": programs,
        "UV_PYTHON": sys.executable,
    }
    for command in commands:
        run("/bin/sh", "-ec", command, folder=source, path=path, **elsewhere, **places)
    works(programs / "fencepost", tmp_path)


def test_the_action_installs_itself(tmp_path: Path) -> None:
    source = sources(tmp_path)
    ran = run_action(tmp_path / "work", source, target="model:kafka-4", cases=CASE)
    assert ran.code == 0, ran.log
    assert ran.outputs["verdict"] == "holds"


def left_out(name: str, rules: list[str]) -> bool:
    """Whether a .dockerignore leaves a file out: the last rule that fits decides."""
    path, out = Path(name), False
    for rule in rules:
        plain = rule.removeprefix("!").removeprefix("**/")
        if plain == "*" or plain in path.parts or any(str(p) == plain for p in path.parents):
            out = not rule.startswith("!")
    return out


@pytest.fixture
def stages() -> list[list[Step]]:
    """The steps of the Dockerfile, by stage."""
    found: list[list[Step]] = []
    for step in steps((ROOT / "Dockerfile").read_text("utf-8")):
        if step.word == "FROM":
            found.append([])
        found[-1].append(step)
    return found


def test_the_last_stage_has_no_rights_and_says_what_it_runs(stages: list[list[Step]]) -> None:
    words = {step.word: step.rest for step in stages[-1]}
    assert words["USER"] == "fencepost"
    assert words["ENTRYPOINT"] == '["fencepost"]'
    assert all("slim" in stage[0].rest for stage in stages)
    order = [step.word for step in stages[-1]]
    assert order.index("USER") > max(n for n, word in enumerate(order) if word == "RUN")


def has_docker() -> bool:
    """Whether a container can be built here."""
    docker = shutil.which("docker")
    if docker is None:
        return False
    asked = subprocess.run([docker, "info"], capture_output=True, timeout=SECONDS, check=False)
    return asked.returncode == 0


@pytest.mark.skipif(not has_docker(), reason="needs docker, and its daemon")
def test_the_container_works(tmp_path: Path) -> None:
    run("docker", "build", "--tag", "fencepost-test", ".", folder=ROOT)
    said = run("docker", "run", "--rm", "fencepost-test", "certify", "mock", folder=tmp_path)
    assert "holds" in said
    who = run("docker", "run", "--rm", "--entrypoint", "id", "fencepost-test", folder=tmp_path)
    assert "uid=10001" in who


def copy_context(source: Path, folder: Path) -> None:
    """`COPY . .`: what the .dockerignore doesn't leave out."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    for path in filter(Path.is_file, source.rglob("*")):
        name = path.relative_to(source)
        if not left_out(str(name), rules):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / name)


def run_stage(stage: list[Step], root: Path, source: Path, programs: Path) -> int:
    """Run the steps of a stage in a folder that stands for its root; how many commands were run."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    folder, ran = root, 0
    for step in stage:
        match step.word:
            case "WORKDIR":
                folder = root / step.rest.lstrip("/")
                folder.mkdir(parents=True, exist_ok=True)
            case "COPY" if step.rest == ". .":
                copy_context(source, folder)
            case "RUN" if not any(word in step.rest for word in SYSTEM):
                here = re.sub(r"(?<=[ \"])/(?=dist)", f"{root}/", step.rest)
                run("/bin/sh", "-ec", here, folder=folder, path=path)
                ran += 1
    return ran


def test_the_steps_of_the_dockerfile_work_in_a_clean_folder(
    stages: list[list[Step]], tmp_path: Path
) -> None:
    (version,) = {v for stage in stages for v in re.findall(r":(3\.\d+)-", stage[0].rest)}
    python = interpreter(version)
    if python is None:
        pytest.skip(f"needs Python {version}, on the PATH or of pyenv")
    source, root = sources(tmp_path / "clean"), tmp_path / "root"
    root.mkdir()
    build, last = stages
    for name, stage in (("build", build), ("last", last)):
        (tmp_path / name).mkdir()
        assert run_stage(stage, root, source, environment(tmp_path / name, python)) == 1
    works(tmp_path / "last" / "venv" / "bin" / "fencepost", tmp_path)


def test_what_a_dockerignore_leaves_out() -> None:
    rules = ["*", "!model", "!README.md", "model/corpus", "**/__pycache__"]
    kept = ["model/a.py", "README.md", "model/b/c.json"]
    gone = ["docs/a.md", "setup.py", "model/corpus/x.json", "model/b/__pycache__/c.pyc"]
    assert [name for name in kept + gone if not left_out(name, rules)] == kept
