"""Which members of a card are signed: those that are there by the rules of the protocol (section 8.4.1). Pure.

    required by the schema                          always, also with nothing in it
    optional, or an object of its own               when it was given, whatever it is
    everything else                                 unless it is what it is by default: "", 0, false, [], {}

Which is which stands in the contract's schema. The signatures themselves are not signed, nor members that the schema does not know. Two official
SDKs leave out whatever is empty, required or not: ``without_empty`` is that form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic_core import from_json

from a2a_contract.dialects import CANONICAL
from a2a_contract.kinds import is_list, is_object

CARD = "AgentCard"
SIGNATURES = "signatures"


def with_presence(card: Mapping[str, object], dialect: str) -> dict[str, object]:
    """Leave in a card what is signed of it."""
    return _of_type({name: value for name, value in card.items() if name != SIGNATURES}, CARD, dialect)


def with_required(emptied: object, dialect: str) -> dict[str, object]:
    """Make a card again of a form without empty members: those that are required are there, with nothing in them."""
    return _of_type(emptied if is_object(emptied) else {}, CARD, dialect, fill=True)


def without_empty(value: object) -> object:
    """Leave out whatever is empty, at every depth; ``None`` when nothing remains."""
    if is_object(value):
        kept = {name: shown for name, each in value.items() if (shown := without_empty(each)) is not None}
        return kept or None
    if is_list(value):
        return [shown for each in value if (shown := without_empty(each)) is not None] or None
    return None if value == "" else value


@cache
def _types(dialect: str) -> Mapping[str, object]:
    bundle: object = from_json((files("a2a_contract") / "schemas" / f"{dialect}.json").read_bytes())
    types = bundle.get("$defs") if is_object(bundle) else None
    return types if is_object(types) else {}


def _of_type(value: Mapping[str, object], name: str, dialect: str, *, fill: bool = False) -> dict[str, object]:
    schema = _types(dialect).get(name)
    schema = schema if is_object(schema) else {}
    members, required = schema.get("properties"), schema.get("required")
    found: dict[str, object] = {}
    for member, rule in members.items() if is_object(members) else ():
        given, needed = value.get(member), is_list(required) and member in required
        if given is None and fill and needed and is_object(rule):
            given = _empty(rule, dialect)
        if given is None or not is_object(rule):
            continue
        shown = _shown(given, rule, dialect, fill=fill)
        if needed or dialect != CANONICAL.name or _has_presence(rule) or shown not in ("", 0, False, [], {}):
            found[member] = shown
    return found


def _has_presence(rule: Mapping[str, object]) -> bool:
    """Whether a member that was given differs from one that was not, even if there is nothing in it."""
    proto = rule.get("x-proto")
    is_optional = is_object(proto) and proto.get("optional") is True
    return is_optional or "$ref" in rule or (rule.get("type") == "object" and "additionalProperties" not in rule)


def _empty(rule: Mapping[str, object], dialect: str) -> object:
    """Give what a form without empty members left out at a place; numbers and booleans it never does."""
    schema = _types(dialect).get(str(rule.get("$ref")).rpartition("/")[2], rule)
    match schema.get("type") if is_object(schema) else None:
        case "string":
            return ""
        case "array":
            return list[object]()
        case "object":
            return dict[str, object]()
        case _:
            return None


def _shown(given: object, rule: Mapping[str, object], dialect: str, *, fill: bool) -> object:
    """Go into objects and lists of the contract's types; what is free JSON stays as it is."""
    reference = rule.get("$ref")
    if isinstance(reference, str) and is_object(given):
        name = _branch(reference.rpartition("/")[2], given, dialect)
        return given if name is None else _of_type(given, name, dialect, fill=fill)
    items, values = rule.get("items"), rule.get("additionalProperties")
    if is_list(given) and is_object(items):
        return [_shown(each, items, dialect, fill=fill) for each in given]
    if is_object(given) and is_object(values):
        return {name: _shown(each, values, dialect, fill=fill) for name, each in given.items()}
    return given


def _branch(name: str, given: Mapping[str, object], dialect: str) -> str | None:
    """Find the type of an object, among several where its own ``type`` says which."""
    schema = _types(dialect).get(name)
    if not is_object(schema) or "properties" in schema:
        return name if is_object(schema) else None
    branches = schema.get("oneOf")
    for branch in branches if is_list(branches) else ():
        reference = branch.get("$ref") if is_object(branch) else None
        candidate = str(reference).rpartition("/")[2]
        if _tag(candidate, dialect) == given.get("type"):
            return candidate
    return None


def _tag(name: str, dialect: str) -> object:
    schema = _types(dialect).get(name)
    members = schema.get("properties") if is_object(schema) else None
    tag = members.get("type") if is_object(members) else None
    return tag.get("const") if is_object(tag) else None
