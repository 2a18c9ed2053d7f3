"""Where in a JSON text each value stands.

``json.loads`` does the reading; it knows every rule but no position. This scanner knows only as much of JSON as it takes to follow the nesting, and
expects a text that ``json.loads`` has taken. It yields a value once for each time it is written, so two equal pointers betray a key written twice.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}:,]|[^\s"\]\[{}:,]+')
_NO_INDEX = -1


def positions(text: str) -> Iterator[tuple[str, int]]:
    """Yield the JSON pointer of every value with the offset at which it begins, in the order of the text."""
    containers: list[tuple[str, int]] = []  # the pointer of each open one, and for an array the index of its current item
    pointer, at_key = "", False
    for token in _TOKEN.finditer(text):
        match text[token.start()]:
            case "}" | "]":
                containers.pop()
                at_key = False
            case ",":
                parent, index = containers[-1]
                at_key = index == _NO_INDEX
                if not at_key:
                    containers[-1] = (parent, index + 1)
                    pointer = f"{parent}/{index + 1}"
            case ":":
                pass
            case _ if at_key:
                pointer, at_key = f"{containers[-1][0]}/{escaped(_key(token.group()))}", False
            case first:
                yield pointer, token.start()
                if first == "{":
                    containers.append((pointer, _NO_INDEX))
                    at_key = True
                elif first == "[":
                    containers.append((pointer, 0))
                    pointer = f"{pointer}/0"


def lines(text: str) -> Mapping[str, int]:
    """Map the pointer of every value to the line on which it begins; of a value that is written twice, the second line counts."""
    ends = [match.start() for match in re.finditer("\n", text)]
    return {pointer: bisect_right(ends, offset) + 1 for pointer, offset in positions(text)}


def escaped(key: str) -> str:
    """Make a key the step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def unescaped(step: str) -> str:
    """Read the key out of a step of a JSON pointer."""
    return step.replace("~1", "/").replace("~0", "~")


def _key(token: str) -> str:
    return str(json.loads(token)) if "\\" in token else token[1:-1]
