"""The data of a Kafka's nodes, formatted once and copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.conformance.targets.brokers.kafka_jvm import DataTemplate

META = """\
#
#Sun Nov 29 00:29:32 UTC 2026
node.id=1
directory.id=FmqB7V3nnz5KqfYvVuE04A
version=1
"""


def properties(data: Path) -> dict[str, str]:
    lines = (data / "meta.properties").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


@pytest.mark.asyncio
async def test_each_node_has_its_own_id_and_its_own_folder_id(tmp_path: Path) -> None:
    """A controller since 3.7 refuses a node whose folder has the id of another node's."""
    template = DataTemplate(tmp_path / "template")
    nodes = {str(number): tmp_path / f"data-{number}" for number in (1, 2, 3)}

    async def make() -> None:
        nodes["1"].mkdir()
        (nodes["1"] / "meta.properties").write_text(META, encoding="utf-8")

    for node, data in nodes.items():
        await template.fill(data, node, make)
    known = [properties(data) for data in nodes.values()]
    assert [each["node.id"] for each in known] == list(nodes)
    assert {each["version"] for each in known} == {"1"}
    assert len({each["directory.id"] for each in known}) == len(nodes)
    assert (nodes["3"] / "meta.properties").read_text(encoding="utf-8").startswith("#\n#Sun Nov")


@pytest.mark.asyncio
async def test_a_folder_without_an_id_gets_none(tmp_path: Path) -> None:
    template = DataTemplate(tmp_path / "template")
    first, second = tmp_path / "first", tmp_path / "second"

    async def make() -> None:
        first.mkdir()
        (first / "meta.properties").write_text("version=1\nnode.id=1\n", encoding="utf-8")

    await template.fill(first, "1", make)
    await template.fill(second, "2", make)
    assert properties(second) == {"version": "1", "node.id": "2"}
