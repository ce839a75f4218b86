"""Describe a corpus: how many traces of which models, from which seed, and which shard has which.

Trace `i` is of model `i` modulo the number of models, and depends only on the seed, its number and
its model; so any number of machines makes the same traces.  A shard holds traces of one model: it
is the unit of work, and of what is kept when a job is killed.  `corpus.json` holds the description;
a folder that doesn't fit it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from fencepost.model.revision import Revision
from fencepost.properties.mutants.mutant import PREFIX
from fencepost.properties.mutants.mutants import find_mutant, find_revision
from fencepost.traces.files.run_trace import tool_version
from fencepost.traces.pipeline.storage.manifest import ManifestKind, manifest

FORMAT = "fencepost-corpus"
VERSION = 1
_KIND = ManifestKind(
    FORMAT,
    VERSION,
    "corpus",
    "generate the corpus again in another folder",
    "give a folder that `generate` made",
)
NO_MUTANT = "none"
SHARD_TRACES = 1_000
"""The traces in a shard: some seconds of work."""


@dataclass(frozen=True, slots=True, order=True)
class TraceSource:
    """The model that traces are of: a revision, or a mutant of one (`mutant` "none": itself)."""

    revision: str
    mutant: str = NO_MUTANT

    @classmethod
    def of(cls, name: str) -> Self:
        """Find it by its name, `mutant:NAME` for a mutant.  Raises KeyError."""
        if name.startswith(PREFIX):
            model = find_mutant(name).revision
            return cls(model.base or "", model.name.removeprefix(PREFIX))
        return cls(find_revision(name).name)

    @property
    def name(self) -> str:
        """Its name in other commands."""
        return self.revision if self.mutant == NO_MUTANT else PREFIX + self.mutant

    @property
    def model(self) -> Revision:
        """The model itself."""
        return find_revision(self.name)

    @property
    def folder(self) -> str:
        """Its partition."""
        return f"revision={self.revision}/mutant={self.mutant}"


@dataclass(frozen=True, slots=True)
class Shard:
    """Some traces of one model, by their numbers in the corpus."""

    number: int
    source: TraceSource
    traces: range

    @property
    def file(self) -> str:
        """Its place within a table of the corpus."""
        return f"{self.source.folder}/shard-{self.number:06d}.parquet"


@dataclass(frozen=True, slots=True)
class Recipe:
    """The description of a corpus: all that it depends on.

    `traces` in all, dealt out to the models of these names in turn; `per_shard` at most in a shard;
    `made_by`: the version of fencepost, since another one may draw other traces; `part`: only some
    of these traces were kept, and shards of which none was are not there.
    """

    seed: int
    traces: int
    models: tuple[str, ...]
    per_shard: int = SHARD_TRACES
    made_by: str = field(default_factory=tool_version)
    part: bool = False

    def shards(self) -> list[Shard]:
        """Return every shard, model by model."""
        shards: list[Shard] = []
        for place, name in enumerate(self.models):
            source = TraceSource.of(name)
            mine = range(place, self.traces, len(self.models))
            for first in range(0, len(mine), self.per_shard):
                part = mine[first : first + self.per_shard]
                shards.append(Shard(len(shards), source, part))
        return shards

    def to_json(self) -> dict[str, Any]:
        """Return the content of `corpus.json`."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    def text(self) -> str:
        """Return the text of `corpus.json`."""
        return json.dumps(self.to_json(), indent=1) + "\n"

    @classmethod
    def from_text(cls, text: str, where: str) -> Self:
        """Read a `corpus.json`.  Raises CorpusError."""
        said = manifest(text, where, _KIND)
        models = tuple(said["models"])
        sizes = (said["seed"], said["traces"], models, said["per_shard"])
        return cls(*sizes, said["made_by"], said["part"])


def corpus_recipe(
    *, seed: int, traces: int, revisions: Sequence[str], mutants: Sequence[str], per_shard: int
) -> Recipe:
    """Make a recipe of revisions and mutants, each named once.  Raises KeyError if unknown."""
    names = (*revisions, *(PREFIX + name.removeprefix(PREFIX) for name in mutants))
    models = tuple(dict.fromkeys(TraceSource.of(name).name for name in names))
    return Recipe(seed, traces, models, per_shard)
