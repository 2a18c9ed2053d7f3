"""How large a message may be, beyond the size of its request. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_contract.errors import InvalidParamsError
from a2a_contract.kinds import is_list, is_object
from a2a_contract.v1_0 import Message, Part
from a2a_runtime.surface import Limits


def check_sizes(message: Message, limits: Limits) -> None:
    """Refuse a message with too many parts, or with one that is too large or too deep, and name every place."""
    if len(message.parts) > limits.parts:
        raise InvalidParamsError(fields=(("message.parts", f"A message has at most {limits.parts} parts, this one {len(message.parts)}"),))
    if limits.part_bytes is None and limits.depth is None:
        return
    wrong = [(f"message.parts[{place}]", text) for place, part in enumerate(message.parts) for text in _wrong_with(part, limits)]
    if limits.depth is not None and _is_deeper(message.metadata, limits.depth):
        wrong.append(("message.metadata", f"is nested deeper than {limits.depth} levels"))
    if wrong:
        raise InvalidParamsError(fields=tuple(wrong))


def _wrong_with(part: Part, limits: Limits) -> Iterator[str]:
    if limits.part_bytes is not None and len(part.to_json()) > limits.part_bytes:
        yield f"has more than {limits.part_bytes} bytes"
    if limits.depth is not None and _is_deeper([part.data, part.metadata], limits.depth + 1):
        yield f"is nested deeper than {limits.depth} levels"


def _is_deeper(value: object, room: int) -> bool:
    """Whether objects and lists are nested more often than that."""
    inside = value.values() if is_object(value) else value if is_list(value) else None
    return inside is not None and (room == 0 or any(_is_deeper(each, room - 1) for each in inside))
