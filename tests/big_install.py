"""Installations in clean folders: on each Python that is here, and as the Dockerfile does it.

Where a container can be built, it is; elsewhere the steps of the Dockerfile are run in a folder
that stands for its root, but for those that change a system (`apt-get`, `useradd`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from support.places import ROOT

VERSIONS = ("3.11", "3.12", "3.13")
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


def run(*command: str | Path, folder: Path, path: str | None = None) -> str:
    """Run a command; what it printed.  Nothing of this environment is seen by it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
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


def works(programs: Path, folder: Path) -> None:
    """The installed command judges, writes pages, and knows what is installed."""
    command = programs / "fencepost"
    said = run(command, "certify", "model", "--case", CASE, "--report", "report", folder=folder)
    assert "holds" in said
    run(command, "site", "report", "--report", "results", folder=folder)
    assert (folder / "results" / "index.html").is_file()
    run(command, "doctor", "python", folder=folder)
    run(programs / "python", "-m", "pip", "check", folder=folder)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_works(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"needs Python {version}, on the PATH or of pyenv")
    programs = environment(tmp_path, python)
    pip, source = (programs / "python", "-m", "pip", "--quiet"), sources(tmp_path)
    run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path / "dist", ".", folder=source)
    (wheel,) = (tmp_path / "dist").glob("fencepost-*.whl")
    run(*pip, "install", f"{wheel}[mock]", folder=tmp_path)
    works(programs, tmp_path)
    said = run(programs / "python", "-c", "import sys; print(sys.version)", folder=tmp_path)
    assert said.startswith(version)


def test_a_checkout_and_a_git_address_can_be_installed(tmp_path: Path) -> None:
    source = sources(tmp_path)
    checkout = environment(tmp_path / "src", sys.executable)
    run(checkout / "python", "-m", "pip", "--quiet", "install", ".[mock]", folder=source)
    works(checkout, tmp_path)
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    shutil.rmtree(source / "venv")
    run("git", "init", "--quiet", folder=source)
    run("git", "add", "--all", folder=source)
    run("git", *names, "commit", "--quiet", "-m", "all", folder=source)
    address = f"fencepost[mock] @ git+file://localhost{source}"  # pip wants a host
    programs = environment(tmp_path, sys.executable)
    run(programs / "python", "-m", "pip", "--quiet", "install", address, folder=tmp_path)
    works(programs, tmp_path)


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
    works(tmp_path / "last" / "venv" / "bin", tmp_path)


def test_what_a_dockerignore_leaves_out() -> None:
    rules = ["*", "!model", "!README.md", "model/corpus", "**/__pycache__"]
    kept = ["model/a.py", "README.md", "model/b/c.json"]
    gone = ["docs/a.md", "setup.py", "model/corpus/x.json", "model/b/__pycache__/c.pyc"]
    assert [name for name in kept + gone if not left_out(name, rules)] == kept
