"""Watch logs: which source, how far it was read, and until when.

A folder of alerts belongs to one source and one way to judge it.  Other ones are refused, and so is
a folder whose checkpoint is gone, because every alert would be written again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.files.run_trace import tool_version
from fencepost.traces.pipeline.spark import stream
from fencepost.traces.pipeline.spark.stream_source import NAME, LogFolder
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.manifest import CorpusError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "fencepost-log-watch"
VERSION = 1
MANIFEST = "watch.json"
_LOOK_S = 1
_LINES_AT_ONCE = 200_000
_KAFKA_LINES = (
    "coalesce(cast(key AS string), concat(topic, '-', partition)) AS broker",
    "concat(topic, '-', partition) AS source",
    "offset AS line",
    "value AS text",
)
"""A record's key is the broker; without one, a partition is."""


@dataclass(frozen=True)
class StreamSource:
    """Where lines come from: a folder, or a topic of the brokers at `bootstrap`."""

    folder: str | None = None
    topic: str | None = None
    bootstrap: str | None = None

    def lines(self, session: SparkSession, line_limit: int) -> DataFrame:
        """Read its lines, as `stream_source.RAW` describes; of a folder's no more bytes than so."""
        if self.folder is not None:
            session.dataSource.register(LogFolder)
            read = session.readStream.format(NAME).option("path", self.folder)
            return read.option("lineLimit", line_limit).load()
        read = session.readStream.format("kafka").options(
            **{
                "kafka.bootstrap.servers": self.bootstrap,
                "subscribe": self.topic,
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": str(_LINES_AT_ONCE),
            }
        )
        return read.load().selectExpr(*_KAFKA_LINES)


@dataclass(frozen=True)
class LogWatch:
    """A source and how it is judged; `parts`: the number of tasks that share the groups."""

    place: Place
    source: StreamSource
    options: LogOptions = field(default_factory=LogOptions)
    parts: int = 16

    def text(self) -> str:
        """Return the text of `watch.json`."""
        said = {
            "format": FORMAT,
            "version": VERSION,
            "source": asdict(self.source),
            "options": asdict(self.options),
            "parts": self.parts,
            "made_by": tool_version(),
        }
        return json.dumps(said, indent=1) + "\n"

    def claim(self) -> None:
        """Begin, or continue.  Raises CorpusError if the folder belongs to another source."""
        known = self.place.read_text(MANIFEST)
        if known is None:
            if self.place.names(""):
                raise CorpusError(f"{self.place} is not empty; choose another folder")
            self.place.write_text(MANIFEST, self.text())
        elif known != self.text():
            raise CorpusError(
                f"{self.place} is of another source, other options or another fencepost "
                f"({' '.join(known.split())}); choose another folder"
            )
        elif self.place.names(stream.ALERTS_FOLDER) and not self.place.names("checkpoint"):
            raise CorpusError(
                f"{self.place} has alerts but no checkpoint, so all alerts would be written again; "
                "choose another folder"
            )


def watch_logs(
    session: SparkSession,
    given: LogWatch,
    told: Callable[[dict[str, Any]], None],
    *,
    every_s: float | None,
) -> None:
    """Watch until the query ends; `every_s` None: only what is there now.

    Raises CorpusError, and what the query raises.
    """
    given.claim()
    session.conf.set("spark.sql.shuffle.partitions", str(given.parts))
    trigger: dict[str, Any] = (
        {"availableNow": True} if every_s is None else {"processingTime": f"{every_s} seconds"}
    )
    sink = stream.Sink(given.place, told)
    query = stream.start(
        given.source.lines(session, given.options.line_limit), sink, given.options, **trigger
    )
    try:
        while not query.awaitTermination(_LOOK_S):
            pass
    finally:
        query.stop()
