"""Hide the words behind the language of a block, which are for `tests/test_docs.py`, from MkDocs.

Python-Markdown knows no such words and would not see the block.
"""

import re
from typing import Any

_MARKED = re.compile(r"^( *```(?:console|python|sh)) [\w= ]+$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page without these words."""
    return _MARKED.sub(r"\1", markdown)
