"""Check JSON documents against the schemas of their formats."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


def schema_error(document: Any, schema_file: Path) -> ValidationError | None:
    """Return the most relevant error of a document; None if it matches its schema."""
    from jsonschema.exceptions import best_match  # noqa: PLC0415  (loaded when first used: it takes long)

    found: ValidationError | None = best_match(_validator(schema_file).iter_errors(document))
    return found


@cache
def _validator(schema_file: Path) -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    return Draft202012Validator(json.loads(schema_file.read_text(encoding="utf-8")))
