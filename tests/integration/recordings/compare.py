"""Compare two folders of recordings: differences in free text are listed for reading, any other
difference fails.

    python tests/integration/recordings/compare.py OLD NEW

Free text is what only people read: ``message`` of errors, ``description`` of violations and
documents, ``summary``, and what follows from it (the length and the tag of a body). Whatever else
differs is listed too, and makes the exit code 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

FREE_TEXT = frozenset(("message", "description", "summary"))
FOLLOWS = ("< content-length: ", "< etag: ", "> content-digest: ", "> webhook-signature: ")
HEAD = "### "

Difference = tuple[bool, str]
"""Whether it is free text, and what it is."""


def exchanges(text: str) -> dict[str, list[str]]:
    """Read a recording: the lines of each exchange by its name."""
    found: dict[str, list[str]] = {}
    for piece in ("\n" + text).split("\n" + HEAD)[1:]:
        name, *lines = piece.split("\n")
        found[name] = lines
    return found


def differences_of_values(
    old: Any,  # noqa: ANN401 - any JSON
    new: Any,  # noqa: ANN401 - any JSON
    place: str = "",
) -> Iterator[Difference]:
    """Compare two values of JSON, the order of members included."""
    if isinstance(old, dict) and isinstance(new, dict) and list(old) == list(new):
        for name, value in old.items():
            if (
                name in FREE_TEXT
                and isinstance(value, str)
                and isinstance(new[name], str)
                and value != new[name]
            ):
                yield True, f"{place}.{name}: {value!r} -> {new[name]!r}"
            else:
                yield from differences_of_values(value, new[name], f"{place}.{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences_of_values(left, right, f"{place}[{number}]")
    elif old != new or type(old) is not type(new):
        yield False, f"{place}: {old!r} -> {new!r}"


def differences_of_lines(old: str, new: str) -> list[Difference]:
    """Compare two lines, as JSON where both are."""
    try:
        values = [json.loads(line[2:].removeprefix("data: ")) for line in (old, new)]
    except ValueError:
        return [(False, f"{old} -> {new}")]
    same_start = old[:2] == new[:2] and ("data: " in old[:8]) == ("data: " in new[:8])
    found = list(differences_of_values(*values)) if same_start else []
    return found or [(False, f"{old} -> {new}")]


def document_of(lines: list[str]) -> tuple[list[str], str] | None:
    """Take the body of a response apart that is one JSON document of several lines."""
    start = lines.index("<") if "<" in lines else len(lines)
    if lines[start + 1 : start + 2] == ["< {"]:
        return (lines[:start], "".join(line[2:] for line in lines[start + 1 :]))
    return None


def differences_of_exchanges(old: list[str], new: list[str]) -> Iterator[Difference]:
    """Compare two exchanges; lengths and tags may differ where texts do."""
    documents = document_of(old), document_of(new)
    if documents[0] and documents[1]:
        old, new = ([*head, f"< {body}"] for head, body in (documents[0], documents[1]))
    following: list[Difference] = []
    is_text = False
    for left, right in zip_longest(old, new, fillvalue=""):
        if left == right:
            continue
        if any(left.startswith(start) and right.startswith(start) for start in FOLLOWS):
            following.append((False, f"{left} -> {right}"))
            continue
        for difference in differences_of_lines(left, right):
            is_text = is_text or difference[0]
            yield difference
    yield from () if is_text else following


def differences(old: Path, new: Path) -> Iterator[Difference]:
    """Compare two folders."""
    for name in sorted({path.name for folder in (old, new) for path in folder.glob("*.http")}):
        left, right = (
            exchanges((folder / name).read_bytes().decode()) if (folder / name).exists() else {}
            for folder in (old, new)
        )
        if list(left) != list(right):
            yield (
                False,
                (
                    f"{name}: not the same exchanges: "
                    f"{sorted(set(left) ^ set(right)) or 'another order'}"
                ),
            )
        for exchange in left.keys() & right.keys():
            for is_text, what in differences_of_exchanges(left[exchange], right[exchange]):
                yield is_text, f"{name}: {exchange}: {what}"


def main(old: str, new: str) -> int:
    """List the differences, those of text first."""
    found = sorted(set(differences(Path(old), Path(new))), key=lambda each: (not each[0], each[1]))
    sys.stdout.writelines(f"{'text ' if is_text else 'OTHER'}  {what}\n" for is_text, what in found)
    others = sum(not is_text for is_text, _ in found)
    sys.stdout.write(f"{len(found) - others} differences in free text, {others} others\n")
    if others:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
