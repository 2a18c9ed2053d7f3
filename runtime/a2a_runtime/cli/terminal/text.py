"""Text of agents for terminals: nothing in it moves the cursor, changes colors or titles, or
reorders what is read.

Control characters, marks of bidirectional text, invisible characters and lone surrogates are shown
as escapes. JSON keeps its meaning, because such characters occur in its strings only.
"""

from __future__ import annotations

import re

_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but tab and line feed
    # bidirectional marks, invisible characters
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff"  # surrogates, tags
)
_UNSAFE_TEXT = re.compile(f"[{_UNSAFE}]")
_UNSAFE_LINE = re.compile(f"[{_UNSAFE}\t\n]")
_FIRST_SUPPLEMENTARY = 0x10000


def to_safe_text(text: str) -> str:
    """Escape what could steer a terminal; tabs and line feeds stay."""
    return _UNSAFE_TEXT.sub(lambda found: _escape(found[0]), text.replace("\r\n", "\n"))


def to_safe_line(text: str) -> str:
    """Escape what could steer a terminal or begin another line or column."""
    return _UNSAFE_LINE.sub(lambda found: _escape(found[0]), text)


def to_safe_json(text: bytes) -> str:
    """Escape such characters in the strings of a JSON text, which stays the same document."""
    return _UNSAFE_TEXT.sub(lambda found: _escape(found[0]), text.decode("utf-8", "surrogatepass"))


def _escape(character: str) -> str:
    """Write the JSON escape of a character."""
    code = ord(character)
    if code < _FIRST_SUPPLEMENTARY:
        return f"\\u{code:04x}"
    high, low = divmod(code - _FIRST_SUPPLEMENTARY, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
