"""Card signatures (section 8.4): detached JWS over the canonical form of an agent card.

    signatures = CardSigner([SigningKey.from_file(Path("card.pem"))]).sign(card_as_json, dialect)
    card = await verify_card(card_as_json, TrustStore(keys))

``verify_card`` returns the signed members only, or raises ``UnsignedCardError`` or
``InvalidSignatureError``.

A card with empty members has two canonical forms in use: the one of the protocol, and one without
empty members at any depth. Each key signs both, so that verifiers of either kind find a signature;
a2a-sdk 1.3.0 creates and accepts only the second.

The second form does not cover all members. A security requirement without scopes is empty, so the
form omits it with the name of its scheme; a relay could replace it, and the SDK would not notice.
The signature is made all the same, because the SDK accepts such a card with no other. For a card
that only this kind of signature fits, ``verify_card`` returns the members of the form, and nothing
that could have been added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from inspect import isawaitable
from itertools import product

from jwt import PyJWK, PyJWS
from jwt.exceptions import PyJWTError
from jwt.utils import base64url_decode, base64url_encode
from pydantic_core import from_json

from a2a_contract.dialects import CANONICAL
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import AgentCardSignature
from a2a_runtime.auth.authentication import InvalidCredentialsError
from a2a_runtime.features.keys.jcs import CanonicalizationError, canonicalize
from a2a_runtime.features.keys.jwks import JwksKeys
from a2a_runtime.features.keys.signing import SigningKey
from a2a_runtime.features.keys.verification import KeyResolver

ALGORITHMS = frozenset(("ES256", "EdDSA", "RS256"))
_CARD_TYPE = "AgentCard"
_SIGNATURES = "signatures"
_JWS = PyJWS()
_MAX_SIGNATURES = 16


class UntrustedCardError(Exception):
    """The origin of a card is not proven."""


class UnsignedCardError(UntrustedCardError):
    """The card has no signature."""


class InvalidSignatureError(UntrustedCardError):
    """No signature of the card is that of a trusted key over this card."""


class CardSigner:
    """Signs cards with one or more keys."""

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        if not keys:
            raise ValueError("CardSigner: no key given; pass at least one")
        self._keys = tuple(keys)

    def sign(
        self, card: Mapping[str, object], dialect: str = CANONICAL.name
    ) -> list[AgentCardSignature]:
        """Sign the members of a card, as a dialect defines them."""
        forms = list(_build_forms(select_signed_members(card, dialect), dialect))
        return [_sign_payload(form.payload, key) for key, form in product(self._keys, forms)]


@dataclass(frozen=True, slots=True)
class TrustStore:
    """Trusted keys, given or published at trusted URLs."""

    keys: KeyResolver | None = None
    keys_by_url: Mapping[str, JwksKeys] | None = None
    """By the URL (``jku``) that a signature may name. Any other URL on a card is ignored."""

    async def find(self, header: Mapping[str, object]) -> PyJWK | None:
        """Find the key that the header of a signature names."""
        algorithm = header.get("alg")
        key_id = header.get("kid")
        url = header.get("jku")
        if algorithm not in ALGORITHMS or not isinstance(key_id, str) or "crit" in header:
            return None
        for keys in (self.keys, (self.keys_by_url or {}).get(str(url))):
            if keys is None:
                continue
            try:
                key = keys.find(key_id, str(algorithm))
                return await key if isawaitable(key) else key
            except InvalidCredentialsError:
                continue
        return None


async def verify_card(
    card: Mapping[str, object], trust: TrustStore, dialect: str = CANONICAL.name
) -> Mapping[str, object]:
    """Return the members of a card that a trusted key signed; use these instead of the card."""
    signatures = card.get(_SIGNATURES)
    if not is_json_array(signatures) or not signatures:
        raise UnsignedCardError("the card is not signed")
    try:
        forms = [*_build_forms(select_signed_members(card, dialect), dialect)]
        # A newer version may sign members unknown here.
        all_members = {name: value for name, value in card.items() if name != _SIGNATURES}
        forms += _build_forms(all_members, dialect)
    except CanonicalizationError as error:
        raise InvalidSignatureError(f"the card has no canonical form: {error}") from error
    trusted: list[tuple[object, PyJWK]] = []
    for signature in signatures[:_MAX_SIGNATURES]:
        header = parse_header(signature)
        key = None if header is None else await trust.find(header)
        if key is not None:
            trusted.append((signature, key))
    for form in sorted(forms, key=lambda form: form.omits_empty):
        if any(_is_signature_of(signature, form.payload, key) for signature, key in trusted):
            return form.covered_card
    raise InvalidSignatureError("no signature of the card is that of a trusted key")


@dataclass(frozen=True, slots=True)
class _SignedForm:
    payload: bytes
    covered_card: Mapping[str, object]
    """The members that a signature over the payload proves."""
    omits_empty: bool = False


def _build_forms(members: Mapping[str, object], dialect: str) -> Iterator[_SignedForm]:
    """Build the form of the protocol, and the one without empty members if it differs."""
    full = canonicalize(members)
    yield _SignedForm(full, select_signed_members(members, dialect))
    emptied = drop_empty(members)
    short = canonicalize(emptied)
    if short != full:
        yield _SignedForm(short, restore_required_members(emptied, dialect), omits_empty=True)


def _sign_payload(payload: bytes, key: SigningKey) -> AgentCardSignature:
    protected, _, signature = _JWS.encode(
        payload, key.private, key.algorithm, {"typ": "JOSE", **key.header}
    ).split(".")
    return AgentCardSignature(protected=protected, signature=signature)


def parse_header(signature: object) -> dict[str, object] | None:
    """Read the protected header of a signature; ``None`` if it has none that can be read."""
    protected = signature.get("protected") if is_json_object(signature) else None
    if not isinstance(protected, str):
        return None
    try:
        header: object = from_json(base64url_decode(protected))
    except ValueError:
        return None
    if is_json_object(header):
        return header
    return None


def _is_signature_of(signature: object, payload: bytes, key: PyJWK) -> bool:
    if not is_json_object(signature):
        return False
    encoded = base64url_encode(payload).decode()
    token = f"{signature.get('protected')}.{encoded}.{signature.get('signature')}"
    try:
        _JWS.decode(token, key, algorithms=[key.algorithm_name])
    except (PyJWTError, ValueError):
        return False
    return True


# The signed members of a card (section 8.4.1), by the schema of the contract. Pure.
#     required                                    always, also if empty
#     optional in proto, or an object of its own  if given, also if empty
#     every other member                          unless it has its default: "", 0, false, [], {}
# Signatures and members that the schema does not know are not signed.


def select_signed_members(card: Mapping[str, object], dialect: str) -> dict[str, object]:
    """Keep the members of a card that are signed."""
    return _select_members(
        {name: value for name, value in card.items() if name != _SIGNATURES}, _CARD_TYPE, dialect
    )


def restore_required_members(card: object, dialect: str) -> dict[str, object]:
    """Add the required members, empty, to a card without empty members."""
    return _select_members(
        card if is_json_object(card) else {}, _CARD_TYPE, dialect, should_fill=True
    )


def drop_empty(value: object) -> object:
    """Drop empty members at every depth; ``None`` if nothing remains."""
    if is_json_object(value):
        members = {name: drop_empty(each) for name, each in value.items()}
        return {name: each for name, each in members.items() if each is not None} or None
    if is_json_array(value):
        items = map(drop_empty, value)
        return [each for each in items if each is not None] or None
    if value == "":
        return None
    return value


@cache
def _load_types(dialect: str) -> Mapping[str, object]:
    return _get_object(
        from_json((files("a2a_contract") / "schemas" / f"{dialect}.json").read_bytes()), "$defs"
    )


def _get_object(value: object, *path: str) -> Mapping[str, object]:
    """Return the object at a path, or an empty one."""
    for name in path:
        value = value.get(name) if is_json_object(value) else None
    if is_json_object(value):
        return value
    return {}


def _select_members(
    value: Mapping[str, object], type_name: str, dialect: str, *, should_fill: bool = False
) -> dict[str, object]:
    schema = _get_object(_load_types(dialect), type_name)
    required = schema.get("required")
    selected: dict[str, object] = {}
    for member, rule in _get_object(schema, "properties").items():
        given = value.get(member)
        is_required = is_json_array(required) and member in required
        if not is_json_object(rule):
            continue
        if given is None and should_fill and is_required:
            given = _build_empty(rule, dialect)
        if given is None:
            continue
        kept = _select_nested(given, rule, dialect, should_fill=should_fill)
        if (
            is_required
            or dialect != CANONICAL.name
            or _has_presence(rule)
            or kept not in ("", 0, False, [], {})
        ):
            selected[member] = kept
    return selected


def _has_presence(rule: Mapping[str, object]) -> bool:
    """Return true if an empty member differs from an absent one."""
    is_optional = _get_object(rule, "x-proto").get("optional") is True
    return (
        is_optional
        or "$ref" in rule
        or (rule.get("type") == "object" and "additionalProperties" not in rule)
    )


def _build_empty(rule: Mapping[str, object], dialect: str) -> object:
    """Build the value that ``drop_empty`` dropped; it never drops numbers and booleans."""
    schema = _get_object(_load_types(dialect), _to_type_name(rule.get("$ref"))) or rule
    empty: Mapping[object, object] = {"string": "", "array": [], "object": {}}
    return empty.get(schema.get("type"))


def _select_nested(
    given: object, rule: Mapping[str, object], dialect: str, *, should_fill: bool
) -> object:
    """Descend into objects and arrays of the contract's types; free JSON stays as it is."""
    if "$ref" in rule and is_json_object(given):
        name = _resolve_branch(_to_type_name(rule["$ref"]), given, dialect)
        if name is None:
            return given
        return _select_members(given, name, dialect, should_fill=should_fill)
    items = rule.get("items")
    values = rule.get("additionalProperties")
    if is_json_array(given) and is_json_object(items):
        return [_select_nested(each, items, dialect, should_fill=should_fill) for each in given]
    if is_json_object(given) and is_json_object(values):
        return {
            name: _select_nested(each, values, dialect, should_fill=should_fill)
            for name, each in given.items()
        }
    return given


def _resolve_branch(name: str, given: Mapping[str, object], dialect: str) -> str | None:
    """Find the type of an object; for a union, the branch whose ``type`` is that of the object."""
    types = _load_types(dialect)
    schema = _get_object(types, name)
    if not schema or "properties" in schema:
        if schema:
            return name
        return None
    branches = schema.get("oneOf")
    candidates = (
        [_to_type_name(branch.get("$ref")) for branch in branches if is_json_object(branch)]
        if is_json_array(branches)
        else []
    )
    return next(
        (
            each
            for each in candidates
            if _get_object(types, each, "properties", "type").get("const") == given.get("type")
        ),
        None,
    )


def _to_type_name(reference: object) -> str:
    return str(reference).rpartition("/")[2]
