"""Jars, as Maven resolves them.

Decides how Maven is called: with a pom that asks for nothing but the jars, which it copies beside
it with all that they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from fencepost.conformance.runtime.toolchain.tools import find_tool, run_tool

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_MAVEN_S = 600.0
_EMPTY = "file://${basedir}/nothing"
_OTHERS = ("gcs-maven-central-mirror",)
"""Repositories that poms of dependencies name beside Central, for which an empty folder is taken:
what they have, Central has, too."""
_REMEDY = "install Maven 3.6 or later (Debian: maven), or fill the cache on another machine"


async def copy_jars(folder: Path, pom: bytes) -> None:
    """Copy what a pom asks for to `lib` in a folder.  Raises TargetUnavailableError."""
    maven = find_tool("mvn", _REMEDY)
    file = folder / "pom.xml"
    file.write_bytes(pom)
    arguments = ("-q", "-B", "-Dstyle.color=never", "-f", str(file), f"{_PLUGIN}:copy-dependencies")
    where = f"-DoutputDirectory={folder / 'lib'}"
    await run_tool([maven, *arguments, "-DincludeScope=runtime", where], _MAVEN_S, folder)


def jars_in(folder: Path) -> list[Path]:
    """What was copied."""
    return sorted((folder / "lib").glob("*.jar"))


def pom(name: str, wanted: Sequence[str]) -> bytes:
    """A pom that asks for `group:artifact:version` each."""
    project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    _children(project, modelVersion="4.0.0", groupId="fencepost", artifactId=name, version="1")
    entries = ET.SubElement(project, "dependencies")
    for coordinates in wanted:
        group, artifact, number = coordinates.split(":")
        entry = ET.SubElement(entries, "dependency")
        _children(entry, groupId=group, artifactId=artifact, version=number)
    places = ET.SubElement(project, "repositories")
    for name_ in _OTHERS:
        _children(ET.SubElement(places, "repository"), id=name_, url=_EMPTY)
    text: bytes = ET.tostring(project, xml_declaration=True, encoding="utf-8")
    return text


def _children(parent: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        ET.SubElement(parent, name).text = text
