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
from functools import cache
from importlib.resources import files
from inspect import isawaitable

from jwt import PyJWK, PyJWS
from jwt.exceptions import PyJWTError
from jwt.utils import base64url_decode, base64url_encode
from pydantic_core import from_json

from a2a_contract.dialects import CANONICAL
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import AgentCardSignature
from a2a_runtime.auth.authentication import InvalidCredentialsError
from a2a_runtime.auth.jwks import JwksKeys
from a2a_runtime.auth.keys import KeyResolver
from a2a_runtime.crypto.jcs import CanonicalizationError, canonicalize
from a2a_runtime.crypto.keys import SigningKey

# Which members of a card are signed: those that are there by the rules of the protocol (section 8.4.1). Pure.
#
#     required by the schema                          always, also with nothing in it
#     optional, or an object of its own               when it was given, whatever it is
#     everything else                                 unless it is what it is by default: "", 0, false, [], {}
#
# Which is which stands in the contract's schema. The signatures themselves are not signed, nor members that the schema does not know. Two official
# SDKs leave out whatever is empty, required or not: ``without_empty`` is that form.
#

_CARD_TYPE = "AgentCard"
_SIGNATURES = "signatures"


def select_signed_members(card: Mapping[str, object], dialect: str) -> dict[str, object]:
    """Leave in a card what is signed of it."""
    return _select_members({name: value for name, value in card.items() if name != _SIGNATURES}, _CARD_TYPE, dialect)


def restore_required_members(card: object, dialect: str) -> dict[str, object]:
    """Make a card again of a form without empty members: those that are required are there, with nothing in them."""
    return _select_members(card if is_json_object(card) else {}, _CARD_TYPE, dialect, should_fill=True)


def drop_empty(value: object) -> object:
    """Leave out whatever is empty, at every depth; ``None`` when nothing remains."""
    if is_json_object(value):
        kept = {name: shown for name, each in value.items() if (shown := drop_empty(each)) is not None}
        return kept or None
    if is_json_array(value):
        return [shown for each in value if (shown := drop_empty(each)) is not None] or None
    return None if value == "" else value


@cache
def _load_types(dialect: str) -> Mapping[str, object]:
    bundle: object = from_json((files("a2a_contract") / "schemas" / f"{dialect}.json").read_bytes())
    types = bundle.get("$defs") if is_json_object(bundle) else None
    return types if is_json_object(types) else {}


def _select_members(value: Mapping[str, object], type_name: str, dialect: str, *, should_fill: bool = False) -> dict[str, object]:
    schema = _load_types(dialect).get(type_name)
    schema = schema if is_json_object(schema) else {}
    members, required = schema.get("properties"), schema.get("required")
    found: dict[str, object] = {}
    for member, rule in members.items() if is_json_object(members) else ():
        given, needed = value.get(member), is_json_array(required) and member in required
        if given is None and should_fill and needed and is_json_object(rule):
            given = _build_empty(rule, dialect)
        if given is None or not is_json_object(rule):
            continue
        shown = _select_nested(given, rule, dialect, should_fill=should_fill)
        if needed or dialect != CANONICAL.name or _has_presence(rule) or shown not in ("", 0, False, [], {}):
            found[member] = shown
    return found


def _has_presence(rule: Mapping[str, object]) -> bool:
    """Whether a member that was given differs from one that was not, even if there is nothing in it."""
    proto = rule.get("x-proto")
    is_optional = is_json_object(proto) and proto.get("optional") is True
    return is_optional or "$ref" in rule or (rule.get("type") == "object" and "additionalProperties" not in rule)


def _build_empty(rule: Mapping[str, object], dialect: str) -> object:
    """Give what a form without empty members left out at a place; numbers and booleans it never does."""
    schema = _load_types(dialect).get(str(rule.get("$ref")).rpartition("/")[2], rule)
    match schema.get("type") if is_json_object(schema) else None:
        case "string":
            return ""
        case "array":
            return list[object]()
        case "object":
            return dict[str, object]()
        case _:
            return None


def _select_nested(given: object, rule: Mapping[str, object], dialect: str, *, should_fill: bool) -> object:
    """Go into objects and lists of the contract's types; what is free JSON stays as it is."""
    reference = rule.get("$ref")
    if isinstance(reference, str) and is_json_object(given):
        name = _resolve_branch(reference.rpartition("/")[2], given, dialect)
        return given if name is None else _select_members(given, name, dialect, should_fill=should_fill)
    items, values = rule.get("items"), rule.get("additionalProperties")
    if is_json_array(given) and is_json_object(items):
        return [_select_nested(each, items, dialect, should_fill=should_fill) for each in given]
    if is_json_object(given) and is_json_object(values):
        return {name: _select_nested(each, values, dialect, should_fill=should_fill) for name, each in given.items()}
    return given


def _resolve_branch(name: str, given: Mapping[str, object], dialect: str) -> str | None:
    """Find the type of an object, among several where its own ``type`` says which."""
    schema = _load_types(dialect).get(name)
    if not is_json_object(schema) or "properties" in schema:
        return name if is_json_object(schema) else None
    branches = schema.get("oneOf")
    for branch in branches if is_json_array(branches) else ():
        reference = branch.get("$ref") if is_json_object(branch) else None
        candidate = str(reference).rpartition("/")[2]
        if _find_tag(candidate, dialect) == given.get("type"):
            return candidate
    return None


def _find_tag(name: str, dialect: str) -> object:
    schema = _load_types(dialect).get(name)
    members = schema.get("properties") if is_json_object(schema) else None
    tag = members.get("type") if is_json_object(members) else None
    return tag.get("const") if is_json_object(tag) else None


ALGORITHMS = frozenset(("ES256", "EdDSA", "RS256"))
_JWS = PyJWS()
_MAX_SIGNATURES = 16


class UntrustedCardError(Exception):
    """A card whose origin is not proven; the text says why."""


class UnsignedCardError(UntrustedCardError):
    """The card has no signature."""


class InvalidSignatureError(UntrustedCardError):
    """No signature of the card is that of a trusted key over this card."""


class CardSigner:
    """Signs cards with some keys."""

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        if not keys:
            raise ValueError("there is no key to sign with")
        self._keys = tuple(keys)

    def sign(self, card: Mapping[str, object], dialect: str = CANONICAL.name) -> list[AgentCardSignature]:
        """Make the signatures of a card, as a dialect has it."""
        forms = [form.payload for form in _build_forms(select_signed_members(card, dialect), dialect)]
        return [_sign_payload(payload, key) for key in self._keys for payload in forms]


@dataclass(frozen=True, slots=True)
class TrustStore:
    """Whose signatures are believed: those of known keys, and of keys published at known addresses."""

    keys: KeyResolver | None = None
    keys_by_url: Mapping[str, JwksKeys] | None = None
    """By the address (``jku``) that a signature may name; what a card says about keys elsewhere is never followed."""

    async def find(self, header: Mapping[str, object]) -> PyJWK | None:
        """Find the key that a signature names."""
        algorithm, key_id, address = header.get("alg"), header.get("kid"), header.get("jku")
        if algorithm not in ALGORITHMS or not isinstance(key_id, str) or "crit" in header:
            return None
        for keys in (self.keys, (self.keys_by_url or {}).get(str(address))):
            if keys is not None:
                try:
                    key = keys.find(key_id, str(algorithm))
                    return await key if isawaitable(key) else key
                except InvalidCredentialsError:
                    continue
        return None


async def verify_card(card: Mapping[str, object], trust: TrustStore, dialect: str = CANONICAL.name) -> Mapping[str, object]:
    """Give what of a card was signed by somebody who is trusted; use that, and not the card."""
    signatures = card.get(_SIGNATURES)
    if not is_json_array(signatures) or not signatures:
        raise UnsignedCardError("the card is not signed")
    try:
        forms = [*_build_forms(select_signed_members(card, dialect), dialect)]
        unknown = {name: value for name, value in card.items() if name != _SIGNATURES}  # a newer version may sign what ours does not know
        forms += _build_forms(unknown, dialect)
    except CanonicalizationError as error:
        raise InvalidSignatureError(f"the card cannot have been signed: {error}") from error
    headers = [(signature, header) for signature in signatures[:_MAX_SIGNATURES] if (header := _parse_header(signature)) is not None]
    found = [(signature, key) for signature, header in headers if (key := await trust.find(header)) is not None]
    for form in sorted(forms, key=lambda form: form.omits_empty):
        if any(_is_signature_of(signature, form.payload, key) for signature, key in found):
            return form.covered_card
    raise InvalidSignatureError("no signature of the card is that of a trusted key")


@dataclass(frozen=True, slots=True)
class _SignedForm:
    """What is signed, and what of the card it proves."""

    payload: bytes
    covered_card: Mapping[str, object]
    omits_empty: bool = False


def _build_forms(members: Mapping[str, object], dialect: str) -> Iterator[_SignedForm]:
    """Write the form of some members as they are, and the one without those that are empty if it is another one."""
    whole = canonicalize(members)
    yield _SignedForm(whole, select_signed_members(members, dialect))
    emptied = drop_empty(members)
    short = canonicalize(emptied)
    if short != whole:
        yield _SignedForm(short, restore_required_members(emptied, dialect), omits_empty=True)


def _sign_payload(payload: bytes, key: SigningKey) -> AgentCardSignature:
    header = {"typ": "JOSE", "kid": key.key_id, **({"jku": key.jku} if key.jku else {})}
    protected, _, signature = _JWS.encode(payload, key.private, key.algorithm, header).split(".")
    return AgentCardSignature(protected=protected, signature=signature)


def _parse_header(signature: object) -> dict[str, object] | None:
    protected = signature.get("protected") if is_json_object(signature) else None
    if not isinstance(protected, str):
        return None
    try:
        header: object = from_json(base64url_decode(protected))
    except ValueError:
        return None
    return header if is_json_object(header) else None


def _is_signature_of(signature: object, payload: bytes, key: PyJWK) -> bool:
    if not is_json_object(signature):
        return False
    token = f"{signature.get('protected')}.{base64url_encode(payload).decode()}.{signature.get('signature')}"
    try:
        _JWS.decode(token, key, algorithms=[key.algorithm_name])
    except (PyJWTError, ValueError):
        return False
    return True
