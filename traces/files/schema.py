"""The check of a JSON document against a JSON Schema.

`jsonschema` is imported at the first check: most commands check nothing.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


def schema_error(document: Any, schema_file: Path) -> ValidationError | None:
    """The error that says best what is wrong with a document, or None."""
    from jsonschema.exceptions import best_match  # noqa: PLC0415  (see above)

    return best_match(_validator(schema_file).iter_errors(document))


@cache
def _validator(schema_file: Path) -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # noqa: PLC0415  (see above)

    return Draft202012Validator(json.loads(schema_file.read_text(encoding="utf-8")))
