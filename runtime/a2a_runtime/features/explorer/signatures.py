"""The signatures of a card: each with its key, and its result with the trusted keys and with those
that the agent publishes at its own origin.

valid         a key of --card-key signed this card
own-key       a key signed it that the agent itself publishes at its origin, which proves no more
              than TLS does
invalid       the key did not sign it
unknown-key   no key was found: none is published, it is at another origin, or the library for
              signatures is not installed
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from pydantic_core import to_json

from a2a_contract.errors import A2AError
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_runtime.client.card_resolver import ResolvedCard
from a2a_runtime.client.errors import A2AClientError
from a2a_runtime.features.explorer.session import AgentSession, is_same_origin, iter_trusted

if TYPE_CHECKING:
    from a2a_runtime.client.options import VerifiesCards
    from a2a_runtime.features.keys.verification import KeySet

VALID = "valid"
OWN_KEY = "own-key"
INVALID = "invalid"
UNKNOWN_KEY = "unknown-key"
_MAX_SIGNATURES = 16


async def describe_signatures(
    session: AgentSession, resolved: ResolvedCard, document: object
) -> list[dict[str, str]]:
    """Describe the signatures of a card, and verify them as far as keys can be had."""
    listed = document.get("signatures") if is_json_object(document) else None
    if not is_json_object(document) or not is_json_array(listed):
        return []
    try:
        # an extra, imported only here
        from a2a_runtime.client.signatures import build_card_verifier  # noqa: PLC0415
        from a2a_runtime.features.keys.card_signatures import parse_header  # noqa: PLC0415
    except ModuleNotFoundError:
        text = "not verified: pip install 'a2a-gen[auth]'"
        return [
            {"keyId": "", "algorithm": "", "status": UNKNOWN_KEY, "text": text}
            for _ in listed[:_MAX_SIGNATURES]
        ]
    trusted = None
    if session.agent.options.card_keys:
        trusted = build_card_verifier(session.agent.options.card_keys)
    key_sets: dict[str, KeySet | None] = {}
    described: list[dict[str, str]] = []
    for signature in listed[:_MAX_SIGNATURES]:
        header = parse_header(signature) or {}
        card = {**document, "signatures": [signature]}
        key_url = header.get("jku")
        url = urljoin(resolved.url, key_url) if isinstance(key_url, str) else ""
        if trusted is not None and await _is_trusted(trusted, card, resolved):
            status = VALID
            text = "by a key of --card-key"
        else:
            if url not in key_sets:
                key_sets[url] = await _read_keys(session, resolved, url)
            status, text = await _verify(card, key_sets[url], header, resolved.dialect.name)
            if not url:
                text = "the signature names no key set; pass --card-key FILE|URL to verify it"
        described.append(
            {
                "keyId": str(header.get("kid", "")),
                "algorithm": str(header.get("alg", "")),
                "status": status,
                "text": text,
            }
        )
    return described


async def _is_trusted(
    trusted: VerifiesCards, card: Mapping[str, object], resolved: ResolvedCard
) -> bool:
    try:
        await trusted.verify(to_json(card), resolved.dialect.name, resolved.url)
    except (A2AClientError, A2AError):
        return False
    return True


async def _verify(
    card: Mapping[str, object], keys: KeySet | None, header: Mapping[str, object], dialect: str
) -> tuple[str, str]:
    from a2a_runtime.features.keys.card_signatures import (  # noqa: PLC0415 - as above
        TrustStore,
        UntrustedCardError,
        verify_card,
    )
    from a2a_runtime.features.keys.verification import UnknownKeyError  # noqa: PLC0415 - an extra

    key_id = header.get("kid")
    algorithm = header.get("alg")
    if keys is None or not isinstance(key_id, str) or not isinstance(algorithm, str):
        return (
            UNKNOWN_KEY,
            (
                "its key is not published at the origin of the agent; pass --card-key FILE|URL "
                "to verify it"
            ),
        )
    try:
        keys.find(key_id, algorithm)
    except UnknownKeyError:
        return UNKNOWN_KEY, "the key set of the agent has no such key"
    try:
        await verify_card(card, TrustStore(keys), dialect)
    except UntrustedCardError as error:
        return INVALID, str(error)
    return OWN_KEY, "signed by a key that this agent itself publishes"


async def _read_keys(session: AgentSession, resolved: ResolvedCard, url: str) -> KeySet | None:
    """Read a key set at the origin of the agent."""
    from a2a_runtime.features.keys.verification import parse_jwks  # noqa: PLC0415 - an extra

    interfaces = session.list_interfaces(resolved)
    usable = next((each.id for each in interfaces if each.usable is not None), None)
    if not url or usable is None or not is_same_origin(url, [*iter_trusted(session.agent, ())]):
        return None
    try:
        return parse_jwks(await session.connect(resolved, usable)[0].fetch_document(url))
    except (A2AClientError, A2AError, ValueError):
        return None
