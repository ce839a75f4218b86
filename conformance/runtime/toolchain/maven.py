"""Jars, as Maven resolves them; among them what Spark needs to read from Kafka.

Maven is called with a pom that asks for nothing but the jars.  It copies them, with all that they
need, beside the pom.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from fencepost.conformance.runtime.toolchain.cache import cached
from fencepost.conformance.runtime.toolchain.found_tools import find_tool, run_tool
from fencepost.conformance.runtime.unavailable import TargetUnavailableError

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_MAVEN_S = 600.0
_EMPTY = "file://${basedir}/nothing"
_OTHERS = ("gcs-maven-central-mirror",)
"""Repositories that poms of dependencies name beside Central, for which an empty folder is taken:
what they have, Central has, too."""
_REMEDY = "install Maven 3.6 or later (Debian: maven), or fill the cache on another machine"
_ARTIFACTS = ("spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13")
"""The connector, and what it signs in with."""
_OLDER = ("4.2.0", "4.1.1", "4.1.0", "4.0.2", "4.0.1", "4.0.0")
"""Releases to fall back on, the newest first."""
_MISSING = re.compile(r"org\.apache\.spark:([\w.-]+):jar:\S+ (?:in|was not found in) ")


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


async def kafka_source(spark: str) -> list[Path]:
    """The jars of the Kafka connector for a version of Spark, from the cache.

    The versions of Spark itself are asked for first.  Where a registry lacks one of the two
    artifacts, an older release of that one is taken: what passes between them and Spark has stayed
    the same since 4.0.  Raises TargetUnavailableError.
    """

    async def resolve(folder: Path) -> None:
        versions = dict.fromkeys(_ARTIFACTS, spark)
        while True:
            wanted = [f"org.apache.spark:{name}:{version}" for name, version in versions.items()]
            try:
                return await copy_jars(folder, pom("spark-kafka", wanted))
            except TargetUnavailableError as error:
                named = _MISSING.search(str(error))
                missing = named[1] if named else ""
                older = _older_than(versions[missing]) if missing in versions else None
                if older is None:
                    raise
                versions[missing] = older

    return jars_in(await cached("spark-kafka", spark, resolve))


def _older_than(version: str) -> str | None:
    """The newest release to fall back on that is older."""
    return next((v for v in _OLDER if _numbers(v) < _numbers(version)), None)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
