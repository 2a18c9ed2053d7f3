"""Addresses of agents as people write them."""

from __future__ import annotations

import re

_THIS_MACHINE = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(/.*)?", re.IGNORECASE)


def is_address(word: str) -> bool:
    """Tell whether a word is a URL, or an address of this machine without its scheme."""
    return "://" in word or _THIS_MACHINE.fullmatch(word) is not None


def to_url(word: str) -> str:
    """Add the scheme to an address of this machine; everything else stays."""
    if _THIS_MACHINE.fullmatch(word):
        return f"http://{word}"
    return word
