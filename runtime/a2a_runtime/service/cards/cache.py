"""The serialized cards of a surface, and the public URLs of surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from hashlib import blake2b

from pydantic_core import to_json

from a2a_contract.dialects import DIALECTS
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.ports.registry import find_support
from a2a_runtime.service.cards.builder import (
    COMBINABLE_WRITERS,
    build_combined_document,
    build_document,
)
from a2a_runtime.surface import COMBINED, Surface

_MAX_CARDS = 64


@dataclass(frozen=True, slots=True)
class CardDocument:
    """A serialized card with its validators for HTTP caches."""

    body: bytes
    etag: str
    """With its quotes, as in the header."""
    modified_seconds: int
    """Seconds since 1970."""
    last_modified: str
    """The same, as in the header."""


class CardCache:
    """The cards of a surface, serialized once per dialect and base URL.

    Dialects do not change while the server runs, so every card was last modified when the server
    started, or when a source changed its skills.
    """

    def __init__(self, surface: Surface, clock: Clock | None = None) -> None:
        self._surface = surface
        self._clock = clock or SystemClock()
        self._modified = self._clock.millis() // 1000
        self._last_modified = formatdate(self._modified, usegmt=True)
        self._documents: dict[tuple[str, str], CardDocument] = {}
        self._skills: Mapping[str, SkillDefinition] | None = None
        self._combinable = tuple(
            dialect for dialect in COMBINABLE_WRITERS if dialect in surface.dialects
        )
        self._shared_key: str = surface.shared_card
        if len(self._combinable) == 1:
            self._shared_key = self._combinable[0]
        self.has_shared = bool(self._combinable)
        """True if there is a card for the clients of all dialects."""

    def has(self, dialect: str) -> bool:
        """Return whether the surface has a card in a dialect, or in the one that it is a form
        of.
        """
        return _resolve_form(dialect) in self._combinable or (
            dialect in self._surface.dialects and find_support(dialect).write_card is not None
        )

    def get(self, dialect: str | None = None, base_url: str = "") -> CardDocument:
        """Return the card of a dialect, or the shared one; a configured URL overrides
        ``base_url``.
        """
        if self._surface.skills is not self._skills:
            if self._skills is not None:
                self._modified = self._clock.millis() // 1000
                self._last_modified = formatdate(self._modified, usegmt=True)
            self._documents = {}
            self._skills = self._surface.skills
        name = self._shared_key
        if dialect is not None:
            name = _resolve_form(dialect)
        document = self._documents.get((name, base_url))
        if document is None:
            document = self._serialize(name, base_url)
            # Clients choose the base URL by their Host header, so the number is limited.
            if len(self._documents) < _MAX_CARDS:
                self._documents[name, base_url] = document
        return document

    def _serialize(self, name: str, base_url: str) -> CardDocument:
        combined = name == COMBINED
        if combined:
            card = build_combined_document(self._surface, base_url)
        else:
            card = build_document(self._surface, name, base_url)
        body = to_json(card)
        return CardDocument(
            body,
            f'"{blake2b(body, digest_size=12).hexdigest()}"',
            self._modified,
            self._last_modified,
        )


def _resolve_form(dialect: str) -> str:
    return DIALECTS[dialect].home


class PublicUrls:
    """The public URLs of surfaces that a registry assigned, by path and skill id."""

    def __init__(self) -> None:
        self._urls: dict[tuple[str, str], str | None] = {}

    def set(self, path: str, skill_id: str, url: str | None) -> None:
        """Set or remove the URL of a surface; a slash at the end of the path does not matter."""
        self._urls[path.rstrip("/"), skill_id] = url

    def get(self, surface: Surface) -> str | None:
        """Return the URL of a surface, if it has one."""
        for skill_id in surface.skills:
            url = self._urls.get((surface.path, skill_id))
            if url:
                return url
        return None
