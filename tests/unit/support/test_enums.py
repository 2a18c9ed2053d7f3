"""Words of enumerations: by name, by number, by an older spelling, and unknown ones."""

from __future__ import annotations

import copy
import pickle
from types import MappingProxyType

import pytest
from pydantic import ValidationError

from a2a_gen.support.base import OpenEnum, WireEnum, WireModel


class Role(WireEnum):
    """A closed list."""

    NOBODY = "ROLE_NOBODY"
    USER = "ROLE_USER"

    __reads__ = MappingProxyType({0: "ROLE_NOBODY", 1: "ROLE_USER", "user": "ROLE_USER"})


class State(OpenEnum):
    """A list that may grow."""

    DONE = "STATE_DONE"

    __reads__ = MappingProxyType({3: "STATE_DONE"})


class Holder(WireModel):
    """An object with both."""

    role: Role | None = None
    state: State | None = None


@pytest.mark.parametrize(
    ("json", "value"),
    [
        pytest.param(b'{"role": "ROLE_USER"}', Role.USER, id="name"),
        pytest.param(b'{"role": 1}', Role.USER, id="number"),
        pytest.param(b'{"role": 0}', Role.NOBODY, id="number-zero"),
        pytest.param(b'{"role": "user"}', Role.USER, id="older-spelling"),
    ],
)
def test_every_way_to_say_a_word_is_read(json: bytes, value: Role) -> None:
    """A word is read by its name, its number and its older spellings, and is always the same
    member.
    """
    assert Holder.model_validate_json(json).role is value


@pytest.mark.parametrize("role", ['"ROLE_OTHER"', "2", "true", "1.5", "[]", "{}"])
def test_a_closed_list_refuses_everything_else(role: str) -> None:
    """The error has the place of the member."""
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate_json(f'{{"role": {role}}}')
    assert [each["loc"] for each in caught.value.errors()] == [("role",)]


def test_an_unknown_word_survives_a_round_trip() -> None:
    """An open list keeps a word it does not know, says so, and writes it again."""
    json = b'{"state":"STATE_OF_THE_FUTURE"}'
    holder = Holder.model_validate_json(json)
    assert holder.state == "STATE_OF_THE_FUTURE"
    assert holder.state is not None
    assert not holder.state.is_known
    assert holder.to_json() == json


@pytest.mark.parametrize("state", ["2", "true", "null_", "[]"])
def test_an_open_list_is_a_list_of_words(state: str) -> None:
    """An open list is open for words only: unknown numbers and other types are refused."""
    with pytest.raises(ValidationError):
        Holder.model_validate_json(f'{{"state": {state}}}')


def test_unknown_words_are_not_kept_by_the_enumeration() -> None:
    """Requests cannot make an enumeration grow."""
    before = len(State.__members__), len(State._value2member_map_)
    words = [State(f"word-{number}") for number in range(100)]
    assert words[1] == State("word-1")
    assert (len(State.__members__), len(State._value2member_map_)) == before


def test_the_python_name_of_a_member_is_no_value() -> None:
    """Only words of the wire are values."""
    assert not State("DONE").is_known
    assert State("DONE") != State.DONE
    assert State.DONE.is_known


def test_unknown_words_are_copied_and_pickled() -> None:
    """An unknown word is as good a value as any."""
    word = State("OTHER")
    assert copy.deepcopy(word) == word
    assert pickle.loads(pickle.dumps(word)) == word  # noqa: S301 - our own bytes
    assert hash(word) == hash("OTHER")
    assert repr(word) == "<State.OTHER: 'OTHER'>"
