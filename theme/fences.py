"""A hook of MkDocs: the words behind the language of a block are for `tests/test_docs.py` alone.

Python-Markdown knows no such words and would not see the block.
"""

import re
from typing import Any

_MARKED = re.compile(r"^( *```(?:console|python|sh)) [\w= ]+$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page without these words."""
    return _MARKED.sub(r"\1", markdown)
