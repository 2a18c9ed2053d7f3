"""Signed cards (section 8.4): a signature is a detached JWS over the canonical form of what counts in a card.

    signer = CardSigner([SigningKey.read(Path("card.pem"))])
    signatures = signer.sign(card_as_json, dialect)

    card = await verified(card_as_json, Trust(keys))          what was signed, and nothing else, or UnsignedError, WrongSignatureError

Where a card has anything empty in it, two canonical forms are in use: the protocol's, and one without it. Each key then signs both, so that
verifiers of either kind find a signature that fits; a2a-sdk 1.3.0 makes and takes only the second, whatever the card.

The second form does not cover all. A requirement without scopes is empty, so it is left out with the name of its scheme; whoever relays a card may
put another one there, and the SDK will not see it. Without that signature the SDK would take no card with such a requirement, so it is made. But
of a card that only a signature of that kind fits, ``verified`` gives what the form has, and nothing that could have been put there since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable

from jwt import PyJWK, PyJWS
from jwt.exceptions import PyJWTError
from jwt.utils import base64url_decode, base64url_encode
from pydantic_core import from_json

from a2a_contract.dialects import CANONICAL
from a2a_contract.kinds import is_list, is_object
from a2a_contract.v1_0 import AgentCardSignature
from a2a_runtime.auth.identity import RefusedError
from a2a_runtime.auth.keys import Keys
from a2a_runtime.auth.published import PublishedKeys
from a2a_runtime.signing.canonical import UncanonicalError, canonical
from a2a_runtime.signing.keys import SigningKey
from a2a_runtime.signing.presence import SIGNATURES, with_presence, with_required, without_empty

ALGORITHMS = frozenset(("ES256", "EdDSA", "RS256"))
_JWS = PyJWS()
_MOST = 16


class UntrustedCardError(Exception):
    """A card whose origin is not proven; the text says why."""


class UnsignedError(UntrustedCardError):
    """The card has no signature."""


class WrongSignatureError(UntrustedCardError):
    """No signature of the card is that of a trusted key over this card."""


class CardSigner:
    """Signs cards with some keys."""

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        if not keys:
            raise ValueError("there is no key to sign with")
        self._keys = tuple(keys)

    def sign(self, card: Mapping[str, object], dialect: str = CANONICAL.name) -> list[AgentCardSignature]:
        """Make the signatures of a card, as a dialect has it."""
        forms = [form.payload for form in _forms(with_presence(card, dialect), dialect)]
        return [_signed(payload, key) for key in self._keys for payload in forms]


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose signatures are believed: those of known keys, and of keys published at known addresses."""

    keys: Keys | None = None
    published: Mapping[str, PublishedKeys] | None = None
    """By the address (``jku``) that a signature may name; what a card says about keys elsewhere is never followed."""

    async def find(self, header: Mapping[str, object]) -> PyJWK | None:
        """Find the key that a signature names."""
        algorithm, key_id, address = header.get("alg"), header.get("kid"), header.get("jku")
        if algorithm not in ALGORITHMS or not isinstance(key_id, str) or "crit" in header:
            return None
        for keys in (self.keys, (self.published or {}).get(str(address))):
            if keys is not None:
                try:
                    key = keys.find(key_id, str(algorithm))
                    return await key if isawaitable(key) else key
                except RefusedError:
                    continue
        return None


async def verified(card: Mapping[str, object], trust: Trust, dialect: str = CANONICAL.name) -> Mapping[str, object]:
    """Give what of a card was signed by somebody who is trusted; use that, and not the card."""
    signatures = card.get(SIGNATURES)
    if not is_list(signatures) or not signatures:
        raise UnsignedError("the card is not signed")
    try:
        forms = [*_forms(with_presence(card, dialect), dialect)]
        unknown = {name: value for name, value in card.items() if name != SIGNATURES}  # a newer version may sign what ours does not know
        forms += _forms(unknown, dialect)
    except UncanonicalError as error:
        raise WrongSignatureError(f"the card cannot have been signed: {error}") from error
    headers = [(signature, header) for signature in signatures[:_MOST] if (header := _header(signature)) is not None]
    found = [(signature, key) for signature, header in headers if (key := await trust.find(header)) is not None]
    for form in sorted(forms, key=lambda form: form.is_short):
        if any(_fits(signature, form.payload, key) for signature, key in found):
            return form.covers
    raise WrongSignatureError("no signature of the card is that of a trusted key")


@dataclass(frozen=True, slots=True)
class _Form:
    """What is signed, and what of the card it proves."""

    payload: bytes
    covers: Mapping[str, object]
    is_short: bool = False


def _forms(kept: Mapping[str, object], dialect: str) -> Iterator[_Form]:
    """Write the form of some members as they are, and the one without those that are empty if it is another one."""
    whole = canonical(kept)
    yield _Form(whole, with_presence(kept, dialect))
    emptied = without_empty(kept)
    short = canonical(emptied)
    if short != whole:
        yield _Form(short, with_required(emptied, dialect), is_short=True)


def _signed(payload: bytes, key: SigningKey) -> AgentCardSignature:
    header = {"typ": "JOSE", "kid": key.key_id, **({"jku": key.jku} if key.jku else {})}
    protected, _, signature = _JWS.encode(payload, key.private, key.algorithm, header).split(".")
    return AgentCardSignature(protected=protected, signature=signature)


def _header(signature: object) -> dict[str, object] | None:
    protected = signature.get("protected") if is_object(signature) else None
    if not isinstance(protected, str):
        return None
    try:
        header: object = from_json(base64url_decode(protected))
    except ValueError:
        return None
    return header if is_object(header) else None


def _fits(signature: object, payload: bytes, key: PyJWK) -> bool:
    if not is_object(signature):
        return False
    token = f"{signature.get('protected')}.{base64url_encode(payload).decode()}.{signature.get('signature')}"
    try:
        _JWS.decode(token, key, algorithms=[key.algorithm_name])
    except (PyJWTError, ValueError):
        return False
    return True
