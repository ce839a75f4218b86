"""Kafka's jars, as Maven resolves them.

Decides what a version's class path is made of: the broker's jar with all that it needs, at the
versions that it was released with, and one binding for its log.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from fencepost.conformance.brokers.cache import cached
from fencepost.conformance.brokers.kafka_version import KafkaVersion
from fencepost.conformance.brokers.tools import find_tool, run_tool

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_LOGGING = "org.slf4j:slf4j-reload4j:1.7.36"
_MAVEN_S = 600.0
_REMEDY = "install Maven 3.6 or later (Debian: maven), or fill the cache on another machine"


async def class_path(version: KafkaVersion) -> list[Path]:
    """The jars of a release, from the cache.  Raises TargetUnavailableError."""

    async def resolve(folder: Path) -> None:
        maven = find_tool("mvn", _REMEDY)
        pom = folder / "pom.xml"
        pom.write_bytes(pom_of(version))
        arguments = ("-q", "-B", "-f", str(pom), f"{_PLUGIN}:copy-dependencies")
        where = f"-DoutputDirectory={folder / 'lib'}"
        await run_tool([maven, *arguments, "-DincludeScope=runtime", where], _MAVEN_S, folder)

    folder = await cached("kafka", version.release, resolve)
    return sorted((folder / "lib").glob("*.jar"))


def pom_of(version: KafkaVersion) -> bytes:
    """A pom that asks for the broker, the log's binding and the pinned versions."""
    project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    _children(project, modelVersion="4.0.0", groupId="fencepost", artifactId="kafka", version="1")
    wanted = ET.SubElement(project, "dependencies")
    broker = f"org.apache.kafka:kafka_{version.scala}:{version.release}"
    pins = [f"{name}:{number}" for name, number in version.pins.items()]
    for coordinates in (broker, _LOGGING, *pins):
        group, artifact, number = coordinates.split(":")
        entry = ET.SubElement(wanted, "dependency")
        _children(entry, groupId=group, artifactId=artifact, version=number)
    text: bytes = ET.tostring(project, xml_declaration=True, encoding="utf-8")
    return text


def _children(parent: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        ET.SubElement(parent, name).text = text
