"""Page tokens: where a list goes on, and which list it is.

A token carries a place and a mark of the filter that it was made for, so that a token of another list, or one that somebody wrote by hand, is an
error with a place and never a page of something else. It is opaque to clients and holds nothing secret: what a token leads to is scoped like every
other call.
"""

from __future__ import annotations

import base64
import binascii
import json
from hashlib import blake2b

from pydantic_core import from_json

from a2a_contract.errors import InvalidParamsError
from a2a_runtime.stores.models import TaskQuery

MAX_PAGE_SIZE = 100
_INTEGER_LIMIT = 2**63


def invalid_param_error(field: str, text: str) -> InvalidParamsError:
    """Make the error for one wrong parameter."""
    return InvalidParamsError(fields=((field, text),))


def encode_page_token(position: tuple[int | str, ...], *list_of: object) -> str:
    """Write a token for a place in a list."""
    return base64.urlsafe_b64encode(json.dumps([_hash_filter(list_of), *position], separators=(",", ":")).encode()).decode().rstrip("=")


def parse_page_token(text: str, *list_of: object) -> tuple[int | str, ...]:
    """Read a token of this list."""
    mark, *place = decode_page_token(text)
    known = tuple(value for value in place if isinstance(value, int | str) and _is_storable(value))
    if mark != _hash_filter(list_of) or len(known) != len(place):
        raise invalid_param_error("pageToken", "was given out for another list")
    return known


def decode_page_token(text: str) -> list[object]:
    """Read a token of any list: its mark and its place."""
    try:
        # A reader that refuses what is nested too deep, and halves of characters.
        mark, *place = from_json(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True), allow_inf_nan=False)
    except (binascii.Error, ValueError, TypeError) as error:
        raise invalid_param_error("pageToken", "is not one that this agent has given out") from error
    return [mark, *place]


def _is_storable(value: int | str) -> bool:
    """Whether a store could have such a value, and so be asked for it."""
    return "\0" not in value if isinstance(value, str) else -_INTEGER_LIMIT <= value < _INTEGER_LIMIT


def _hash_filter(list_of: tuple[object, ...]) -> str:
    return blake2b(repr(list_of).encode(), digest_size=6).hexdigest()


def check_page_size(page_size: int, history_length: int | None = None) -> None:
    """Refuse sizes that no page may have."""
    if not 1 <= page_size <= MAX_PAGE_SIZE:
        raise invalid_param_error("pageSize", f"must be between 1 and {MAX_PAGE_SIZE}, not {page_size}")
    if history_length is not None and history_length < 0:
        raise invalid_param_error("historyLength", f"must not be negative, as {history_length} is")


def encode_task_token(query: TaskQuery, at: int, key: str) -> str:
    """Write the token for what follows a task in a list of tasks."""
    return encode_page_token((at, key), query.context_id, query.state, query.changed_after)


def parse_task_token(query: TaskQuery) -> tuple[int, str] | None:
    """Read where a list of tasks goes on; ``None`` when it begins."""
    check_page_size(query.page_size, query.history_length)
    if not query.page_token:
        return None
    match parse_page_token(query.page_token, query.context_id, query.state, query.changed_after):
        case (int(at), str(key)):
            return at, key
        case _:
            raise invalid_param_error("pageToken", "was given out for another list")


def parse_config_token(page_size: int, page_token: str, wire_id: str) -> str:
    """Read after which id a list of push configurations goes on; all ids come after the empty one."""
    check_page_size(page_size)
    if not page_token:
        return ""
    match parse_page_token(page_token, wire_id):
        case (str(config_id),):
            return config_id
        case _:
            raise invalid_param_error("pageToken", "was given out for another list")
