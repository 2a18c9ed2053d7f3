"""Catalogs: documents that list the agents of a host, for those who know the host only (AI Catalog,
1.0).

    GET /.well-known/ai-catalog.json
        {"specVersion": "1.0", "host": {"displayName": "agents.example"},
         "entries": [{"identifier": "https://…/agent", "displayName": "reports",
                      "type": "application/a2a-agent-card+json", "url": "https://…"}]}

A catalog is not signed: it says where cards are, and only a card says what an agent really is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from a2a_contract.json_types import is_json_array, is_json_object

CATALOG_PATH = "/.well-known/ai-catalog.json"
CATALOG_TYPE = "application/ai-catalog+json"
CARD_TYPE = "application/a2a-agent-card+json"
_VERSION = "1.0"
_TYPE_MEMBERS = ("type", "mediaType")
"""Names of the member with the type; the second one is that of drafts."""
_SCHEMES = frozenset(("http", "https"))


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """An agent of a catalog."""

    url: str
    """URL of the card; pass it to ``A2AClient``."""
    name: str = ""
    identifier: str = ""
    description: str = ""
    version: str = ""
    tags: Sequence[str] = ()


def build_catalog(host: str, entries: Sequence[CatalogEntry]) -> Mapping[str, object]:
    """Build the document of a host."""
    return {
        "specVersion": _VERSION,
        "host": {"displayName": host},
        "entries": list(map(_write_entry, entries)),
    }


def parse_catalog(document: object, url: str) -> list[CatalogEntry] | None:
    """Parse the agents of a document at a URL; entries of other kinds are left out.

    ``None``: it is no catalog.
    """
    entries = document.get("entries") if is_json_object(document) else None
    if is_json_array(entries):
        return [entry for each in entries if (entry := _read_entry(each, url)) is not None]
    return None


def _write_entry(entry: CatalogEntry) -> Mapping[str, object]:
    members = {
        "identifier": entry.identifier or entry.url,
        "displayName": entry.name,
        "type": CARD_TYPE,
        "url": entry.url,
        "description": entry.description,
        "version": entry.version,
        "tags": [*entry.tags],
    }
    return {name: value for name, value in members.items() if value}


def _read_entry(value: object, base: str) -> CatalogEntry | None:
    if (
        not is_json_object(value)
        or next((value[name] for name in _TYPE_MEMBERS if name in value), None) != CARD_TYPE
    ):
        return None
    url = _read_text(value, "url")
    try:
        card_url = urljoin(base, url)
        if not url or urlsplit(card_url).scheme not in _SCHEMES:
            return None
    except ValueError:
        return None
    tags = value.get("tags")
    words = tuple(each for each in tags if isinstance(each, str)) if is_json_array(tags) else ()
    name, identifier, description, version = (
        _read_text(value, each) for each in ("displayName", "identifier", "description", "version")
    )
    return CatalogEntry(card_url, name, identifier, description, version, words)


def _read_text(value: Mapping[str, object], name: str) -> str:
    text = value.get(name)
    if isinstance(text, str):
        return text
    return ""
