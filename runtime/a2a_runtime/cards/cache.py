"""The cards of a surface, ready to be sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import formatdate
from hashlib import blake2b

from pydantic_core import to_json

from a2a_contract.dialects import DIALECTS
from a2a_runtime.cards.builder import COMBINABLE_WRITERS, SEPARATE_WRITERS, build_combined_document, build_document
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.surface import COMBINED, Surface

_MAX_CARDS = 64


@dataclass(frozen=True, slots=True)
class CardDocument:
    """A card as bytes, and what HTTP caches go by."""

    body: bytes
    etag: str
    """With its quotes, as in the header."""
    modified_seconds: int
    """Seconds since 1970."""
    last_modified: str
    """The same as in the header."""


class CardCache:
    """Writes each card of a surface once for every address that it is asked for.

    Which dialects there are does not change while the server runs, so that a card was last modified when the server began.
    """

    def __init__(self, surface: Surface, clock: Clock | None = None) -> None:
        self._surface = surface
        self._modified = (clock or SystemClock()).millis() // 1000
        self._last_modified = formatdate(self._modified, usegmt=True)
        self._documents: dict[tuple[str, str], CardDocument] = {}
        self._shared_key = next(iter(self._dialects)) if len(self._dialects) == 1 else surface.shared_card
        self.has_shared = bool(self._dialects)
        """Whether there is a card for the clients of all dialects."""

    @property
    def _dialects(self) -> tuple[str, ...]:
        return tuple(dialect for dialect in COMBINABLE_WRITERS if dialect in self._surface.dialects)

    def has(self, dialect: str) -> bool:
        """Whether the surface has a card in a dialect, or in the one that it is a form of."""
        return _resolve_form(dialect) in self._dialects or (dialect in SEPARATE_WRITERS and dialect in self._surface.dialects)

    def get(self, dialect: str | None = None, base_url: str = "") -> CardDocument:
        """Get the card of a dialect, or the one for everybody, with the addresses below ``base_url`` unless one is configured."""
        wanted = self._shared_key if dialect is None else _resolve_form(dialect)
        known = self._documents.get((wanted, base_url))
        if known is None:
            known = self._write(wanted, base_url)
            if len(self._documents) < _MAX_CARDS:  # whoever calls may have chosen the address
                self._documents[wanted, base_url] = known
        return known

    def _write(self, wanted: str, base_url: str) -> CardDocument:
        made = build_combined_document(self._surface, base_url) if wanted == COMBINED else build_document(self._surface, wanted, base_url)
        body = to_json(made)
        return CardDocument(body, f'"{blake2b(body, digest_size=12).hexdigest()}"', self._modified, self._last_modified)


def _resolve_form(dialect: str) -> str:
    return DIALECTS[dialect].form_of or dialect


# Where surfaces are reached from outside, as a registry has told it.


class PublicUrls:
    """The addresses that were told last, by the path of a surface and the id of its skill."""

    def __init__(self) -> None:
        self._urls: dict[tuple[str, str], str] = {}

    def set(self, path: str, skill_id: str, url: str | None) -> None:
        """Keep the address of a surface, however the slash at the end of its path is written, or that it has none."""
        self._urls[path.rstrip("/"), skill_id] = url or ""

    def get(self, surface: Surface) -> str | None:
        """Find the address of a surface."""
        if not self._urls:
            return None
        return next((found for found in self._found(surface)), None)

    def _found(self, surface: Surface) -> Iterable[str]:
        return (url for skill_id in surface.skills if (url := self._urls.get((surface.path, skill_id))))
