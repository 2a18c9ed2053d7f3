"""Conversions that no translation rule can express: a function per member, from plain JSON values
to plain JSON values.

Names tell the direction: ``read_…`` returns the value of the canonical model, ``write_…`` the
members of the dialect.
"""

from datetime import UTC, datetime, timedelta
from json import JSONEncoder
from typing import Final, TypeAlias
from uuid import uuid4

from .json_types import is_json_array, is_json_object

JsonObject: TypeAlias = dict[str, object]

_AS_TEXT: Final = JSONEncoder(ensure_ascii=False).encode
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


class UntranslatableError(ValueError):
    """A value that a dialect cannot express; the list ``lossy`` of the dialect names it with the
    reason.
    """


def fresh_id() -> str:
    """Create an identifier where a dialect has none."""
    return str(uuid4())


def json_text(value: object) -> str:
    """Serialize any JSON value as text."""
    return _AS_TEXT(value)


def entry(values: JsonObject | None, key: str) -> str | None:
    """Return a text of a free object."""
    value = (values or {}).get(key)
    if isinstance(value, str):
        return value
    return None


# --- timestamps ---


def moment(milliseconds: int) -> datetime:
    """Convert milliseconds since 1970 to a timestamp; one beyond the calendar becomes its nearest
    day.
    """
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        if milliseconds > 0:
            return _LAST
        return _FIRST


def milliseconds(text: str) -> int:
    """Convert a timestamp to milliseconds since 1970."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)


# --- resource names ---


def resource(name: str | None, template: tuple[str | None, ...]) -> tuple[str, ...]:
    """Parse the identifiers of a resource name by a template, in which ``None`` marks their places;
    a name of another form has none.

    >>> resource("tasks/1/configs/2", ("tasks", None, "configs", None))
    ('1', '2')
    """
    pieces = (name or "").split("/")
    fits = len(pieces) >= len(template) and all(
        word in (None, piece) for piece, word in zip(pieces, template, strict=False)
    )
    places = [place for place, word in enumerate(template) if word is None]
    if not fits:
        return ("",) * len(places)
    return tuple(pieces[place] for place in places)


# --- data that must be an object ---


def wrap(
    value: object, metadata: JsonObject | None, key: str, mark: str
) -> tuple[JsonObject, JsonObject | None]:
    """Wrap a value that is no object in one, and mark this in the metadata."""
    if is_json_object(value):
        return value, metadata
    return {key: value}, {**(metadata or {}), mark: True}


def unwrap(
    data: JsonObject, metadata: JsonObject | None, key: str, mark: str
) -> tuple[object, JsonObject | None]:
    """Unwrap a value if the mark and the form say that it was wrapped."""
    if not metadata or metadata.get(mark) is not True or data.keys() != {key}:
        return data, metadata
    return data[key], {name: value for name, value in metadata.items() if name != mark} or None


# --- cards ---


def read_interfaces(
    url: str | None,
    preferred: str | None,
    additional: list[JsonObject] | None,
    version: str | None,
    *,
    transport: str,
) -> list[JsonObject]:
    """List the interfaces of a card with a main address and additional ones; the main one comes
    first, without its duplicate.
    """
    others = [_interface(other, version or "") for other in additional or ()]
    if not url and preferred is None:
        return others
    main: JsonObject = {
        "url": url or "",
        "protocolBinding": transport if preferred is None else preferred,
        "protocolVersion": version or "",
    }
    if main in others:
        others.remove(main)
    return [main, *others]


def write_interfaces(interfaces: list[JsonObject], **_: str) -> JsonObject:
    """Write the first interface as the main one, and all of them if there are several; the
    transport is always written.
    """
    if not interfaces:
        return {"url": "", "protocolVersion": ""}
    main = interfaces[0]
    card = {
        "url": main["url"],
        "preferredTransport": main["protocolBinding"],
        "protocolVersion": main["protocolVersion"],
    }
    every = [{"url": each["url"], "transport": each["protocolBinding"]} for each in interfaces]
    if len(every) > 1:
        return {**card, "additionalInterfaces": every}
    return card


def _interface(other: JsonObject, version: str) -> JsonObject:
    return {
        "url": other.get("url", ""),
        "protocolBinding": other.get("transport", ""),
        "protocolVersion": version,
    }


def read_address(url: str | None, *, transport: str) -> list[JsonObject]:
    """Return the one interface of a card, or none if the address is unknown."""
    if url:
        return [{"url": url, "protocolBinding": transport, "protocolVersion": ""}]
    return []


def write_address(interfaces: list[JsonObject], *, transport: str) -> JsonObject:
    """Write the first address of the given transport."""
    url = next(
        (
            each["url"]
            for each in interfaces
            if each.get("protocolBinding") == transport and each.get("url")
        ),
        None,
    )
    if url:
        return {"url": url}
    return {}


def read_authentication(
    authentication: JsonObject,
) -> tuple[dict[str, JsonObject], list[JsonObject]]:
    """Convert each name of an HTTP authentication scheme to a security scheme; any of them is
    sufficient.
    """
    words = authentication.get("schemes")
    schemes = [word for word in words if isinstance(word, str)] if is_json_array(words) else []
    security_schemes: dict[str, JsonObject] = {
        word: {"httpAuthSecurityScheme": {"scheme": word}} for word in schemes
    }
    return security_schemes, [{"schemes": {word: {"list": []}}} for word in schemes]


def write_authentication(
    schemes: dict[str, JsonObject] | None, requirements: list[JsonObject] | None
) -> JsonObject:
    """List the HTTP authentication schemes that are sufficient alone."""
    words = (_header_scheme(schemes or {}, requirement) for requirement in requirements or ())
    return {"authentication": {"schemes": list(dict.fromkeys(word for word in words if word))}}


def _header_scheme(schemes: dict[str, JsonObject], requirement: JsonObject) -> str | None:
    required = requirement.get("schemes")
    if not is_json_object(required) or len(required) != 1:
        return None
    header = schemes.get(next(iter(required)), {}).get("httpAuthSecurityScheme")
    scheme = header.get("scheme") if is_json_object(header) else None
    if isinstance(scheme, str):
        return scheme.lower()
    return None
