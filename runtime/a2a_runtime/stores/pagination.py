"""Page tokens: the position where a list continues, bound to the filter of the list.

A token of another list, or one made by hand, is a field error and never a page of another list. It
is opaque to clients and holds no secret: every call that uses it is scoped.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from pydantic_core import from_json

from a2a_contract.errors import InvalidParamsError
from a2a_runtime.stores.models import StoredTask, TaskPage, TaskQuery

T = TypeVar("T")

MAX_PAGE_SIZE = 100
_INTEGER_LIMIT = 2**63


def invalid_param_error(field: str, text: str) -> InvalidParamsError:
    """Create the error for one invalid parameter."""
    return InvalidParamsError(fields=((field, text),))


def encode_page_token(position: tuple[int | str, ...], *filters: object) -> str:
    """Encode a position in a list."""
    return (
        base64.urlsafe_b64encode(
            json.dumps([_hash_filters(filters), *position], separators=(",", ":")).encode()
        )
        .decode()
        .rstrip("=")
    )


def parse_page_token(text: str, *filters: object) -> tuple[int | str, ...]:
    """Parse a token of the list with these filters."""
    filter_hash, *position = decode_page_token(text)
    storable = tuple(
        value for value in position if isinstance(value, int | str) and _is_storable(value)
    )
    if filter_hash != _hash_filters(filters) or len(storable) != len(position):
        raise _foreign_token_error()
    return storable


def decode_page_token(text: str) -> list[object]:
    """Decode a token of any list: the hash of its filters and its position."""
    try:
        # This parser refuses deep nesting and lone surrogates.
        filter_hash, *position = from_json(
            base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True),
            allow_inf_nan=False,
        )
    except (binascii.Error, ValueError, TypeError) as error:
        raise invalid_token_error() from error
    return [filter_hash, *position]


def invalid_token_error() -> InvalidParamsError:
    """Create the error for a text that is no page token."""
    return invalid_param_error("pageToken", "is not one that this agent has given out")


def _foreign_token_error() -> InvalidParamsError:
    return invalid_param_error("pageToken", "was given out for another list")


def _is_storable(value: int | str) -> bool:
    """Check that a database accepts the value as a parameter."""
    if isinstance(value, str):
        return "\0" not in value
    return -_INTEGER_LIMIT <= value < _INTEGER_LIMIT


def _hash_filters(filters: tuple[object, ...]) -> str:
    return blake2b(repr(filters).encode(), digest_size=6).hexdigest()


def check_page_size(page_size: int, history_length: int | None = None) -> None:
    """Raise ``InvalidParamsError`` for an invalid page size or history length."""
    if not 1 <= page_size <= MAX_PAGE_SIZE:
        raise invalid_param_error(
            "pageSize", f"must be between 1 and {MAX_PAGE_SIZE}, not {page_size}"
        )
    if history_length is not None and history_length < 0:
        raise invalid_param_error("historyLength", f"must not be negative, as {history_length} is")


class TaskPosition(NamedTuple):
    """Position after a task in a list of tasks, and the total of the list if it was counted."""

    at: int
    key: str
    total_size: int | None = None


def parse_task_token(query: TaskQuery) -> TaskPosition | None:
    """Return the position where a list of tasks continues; ``None`` for the first page."""
    check_page_size(query.page_size, query.history_length)
    if not query.page_token:
        return None
    match parse_page_token(query.page_token, *query.token_filters):
        case (int(at), str(key), *counted) if not query.by_creation:
            return TaskPosition(at, key, parse_total(query, *counted))
        case (str(key), *counted) if query.by_creation:
            return TaskPosition(0, key, parse_total(query, *counted))
        case _:
            raise _foreign_token_error()


def encode_task_token(query: TaskQuery, position: TaskPosition) -> str:
    """Encode a position in a list of tasks."""
    total = () if position.total_size is None else encode_total(query, position.total_size)
    place = (position.key,) if query.by_creation else (position.at, position.key)
    return encode_page_token((*place, *total), *query.token_filters)


def encode_total(query: TaskQuery, total_size: int) -> tuple[int | str, ...]:
    """Return the members of a page token that carry a total, and which skills were hidden when it
    was counted.
    """
    if query.hidden_skills:
        return (total_size, _hash_hidden(query))
    return (total_size,)


def parse_total(query: TaskQuery, *counted: int | str) -> int | None:
    """Return the total that a page token carries; ``None`` if it has none, or if other skills were
    hidden when it was counted.
    """
    match counted:
        case ():
            return None
        case (int(total_size),) if total_size >= 0:
            if query.hidden_skills:
                return None
            return total_size
        case (int(total_size), str(hidden)) if total_size >= 0:
            if query.hidden_skills and hidden == _hash_hidden(query):
                return total_size
            return None
        case _:
            raise _foreign_token_error()


def _hash_hidden(query: TaskQuery) -> str:
    return _hash_filters(tuple(sorted(query.hidden_skills)))


def build_task_page(
    query: TaskQuery,
    found: Sequence[T],
    total_size: int,
    load: Callable[[T], StoredTask],
    get_position: Callable[[T], tuple[int, str]],
) -> TaskPage:
    """Build a page from its rows and one more, if there is one: then the token continues after the
    last row of the page.
    """
    page = found[: query.page_size]
    total_size = max(total_size, len(page))  # a kept total may be wrong for a while
    token = ""
    if len(found) > len(page):
        carried = None if query.is_plain else total_size
        token = encode_task_token(query, TaskPosition(*get_position(page[-1]), carried))
    return TaskPage([load(row) for row in page], token, total_size)


def parse_config_token(page_size: int, page_token: str, wire_id: str) -> str:
    """Return the id after which a list of push configurations continues; empty for the first
    page.
    """
    check_page_size(page_size)
    if not page_token:
        return ""
    match parse_page_token(page_token, wire_id):
        case (str(config_id),):
            return config_id
        case _:
            raise _foreign_token_error()
