"""Media types: what a message may contain, and in what the answer may come. Pure.

A type may end in a wildcard (``image/*``). A word without a slash, which clients of the first versions send, stands for all types of that name.
Parameters (``; charset=utf-8``) make no difference. A file that does not say what it is may be anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from a2a_contract.errors import ContentTypeNotSupportedError
from a2a_contract.v1_0 import Part

TEXT = "text/plain"
JSON = "application/json"
_ANY = "*"


def type_of(part: Part) -> str | None:
    """Say of which media type a part is, as far as it says so itself."""
    if part.media_type:
        return part.media_type
    if part.text is not None:
        return TEXT
    return JSON if part.data is not None else None


def check_input(parts: Sequence[Part], offered: Sequence[str]) -> None:
    """Refuse a message with parts that its skill does not take, and name every one of them."""
    wrong = [
        (f"message.parts[{place}]", f"{media_type} is not one of {', '.join(offered)}")
        for place, part in enumerate(parts)
        if (media_type := type_of(part)) not in offered and media_type is not None and not fits(media_type, offered)
    ]
    if wrong:
        raise ContentTypeNotSupportedError(fields=tuple(wrong))


def check_output(accepted: Sequence[str], offered: Sequence[str]) -> None:
    """Refuse a client that can take nothing of what its skill gives."""
    if not any(fits(media_type, offered) for media_type in accepted):
        wrong = ("configuration.acceptedOutputModes", f"The skill gives {', '.join(offered)}")
        raise ContentTypeNotSupportedError(fields=(wrong,))


def fits(media_type: str, offered: Sequence[str]) -> bool:
    """Whether a media type is one of some others; wildcards count on both sides."""
    return media_type in offered or any(_overlap(_split(media_type), _split(other)) for other in offered)


def _split(media_type: str) -> tuple[str, str]:
    kind, _, form = media_type.partition(";")[0].strip().lower().partition("/")
    return kind, form or _ANY


def _overlap(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return all(mine == theirs or _ANY in {mine, theirs} for mine, theirs in zip(one, other, strict=True))
