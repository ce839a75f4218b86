"""Replace the generated part of a page that is otherwise written by hand."""

from __future__ import annotations


def with_part(text: str, begin: str, end: str, part: str, file: str) -> str:
    """Put a part between its two marks in the text of a file.

    Raises ValueError that names the file where a mark is missing.
    """
    before, mark, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    if not mark or not last:
        raise ValueError(
            f"{file} has no place for the part: it lacks the lines {begin!r} and {end!r}; "
            "put them back"
        )
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"
