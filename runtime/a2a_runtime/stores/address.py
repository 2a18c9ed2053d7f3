"""Addresses of stores in messages: what may be a secret is left out, whatever the form of the
address.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from a2a_runtime.errors import UnsupportedStoreError

_MASK = "***"
_SECRET_PAIR = re.compile(r"\bpass\w*\s*=", re.IGNORECASE)


def hide_secrets(address: str) -> str:
    """Replace user, password and parameters of an address; one that cannot be read as a URL too.

    All up to the last ``@`` counts as user and password, because a password may have any character.
    """
    scheme, separator, rest = address.rpartition("://")
    head, at, place = rest.rpartition("@")
    if not separator and not head and _SECRET_PAIR.search(rest):  # host=db password=…
        return _MASK
    place, question, _ = place.partition("?")
    scheme = scheme.rpartition("://")[2].rpartition("@")[2]
    user = _MASK + at if at else ""
    options = question and question + _MASK
    return f"{scheme}{separator}{user}{place}{options}"


def has_password(address: str) -> bool:
    """Tell whether an address has a password."""
    return ":" in address.rpartition("://")[2].rpartition("@")[0]


def parse_address(address: str, subject: str = "store") -> SplitResult:
    """Split an address into its parts, or raise ``UnsupportedStoreError``, in which no part of a
    password stands.
    """
    try:
        parts = urlsplit(address)
        _ = "," in parts.netloc or parts.port  # of several servers, each has a port of its own
    except ValueError:
        raise UnsupportedStoreError(
            f"{subject}: {hide_secrets(address)!r} is not a URL; write an IPv6 address in "
            "brackets, "
            "a port up to 65535, and characters of a password such as / and @ as %2F and %40"
        ) from None
    return parts
