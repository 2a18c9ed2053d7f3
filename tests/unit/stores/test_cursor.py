"""Page tokens."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_runtime.clock import to_datetime
from a2a_runtime.stores import pagination
from a2a_runtime.stores.models import TaskQuery

FILTERS = [TaskQuery(), TaskQuery(context_id="c"), TaskQuery(context_id=""), TaskQuery(state=State.FAILED), TaskQuery(changed_after=to_datetime(1))]


@given(at=st.integers(0, 2**62), key=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_place_comes_back(at: int, key: str) -> None:
    """A token leads to where it was made, and is safe in an address."""
    for query in FILTERS:
        token = pagination.encode_task_token(query, at, key)
        assert pagination.parse_task_token(TaskQuery(query.context_id, query.state, query.changed_after, page_token=token)) == (at, key)
        assert token.replace("-", "").replace("_", "").isalnum()


def test_no_token_is_the_beginning() -> None:
    """An empty token begins a list."""
    assert pagination.parse_task_token(TaskQuery()) is None
    assert pagination.parse_config_token(10, "", "t") == ""


@pytest.mark.parametrize("made_for", FILTERS, ids=range(len(FILTERS)))
def test_a_token_is_of_one_filter(made_for: TaskQuery) -> None:
    """It is refused with any other; the page size may change."""
    token = pagination.encode_task_token(made_for, 1, "k")
    for query in FILTERS:
        asked = TaskQuery(query.context_id, query.state, query.changed_after, page_size=7, page_token=token)
        if query == made_for:
            assert pagination.parse_task_token(asked) == (1, "k")
        else:
            with pytest.raises(InvalidParamsError):
                pagination.parse_task_token(asked)


@given(text=st.text(min_size=1))
def test_any_other_text_is_refused(text: str) -> None:
    """What was never given out is an error with a place, and nothing worse."""
    with pytest.raises(InvalidParamsError) as caught:
        pagination.parse_task_token(TaskQuery(page_token=text))
    assert [field for field, _ in caught.value.fields] == ["pageToken"]


@pytest.mark.parametrize("content", ['["x",1,"k"]', "[]", "1", "null", '{"a":1}', '[1,{"a":1}]', "[[[["])
def test_json_that_is_no_token_is_refused(content: str) -> None:
    """Well-formed base64 is not enough."""
    token = base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")
    for read in (lambda: pagination.parse_task_token(TaskQuery(page_token=token)), lambda: pagination.parse_config_token(10, token, "t")):
        with pytest.raises(InvalidParamsError):
            read()


FORGED = {
    "deep": "[" * 100_000,
    "a number that no store has": '["MARK",9223372036854775808,"k"]',
    "a number without end": f'["MARK",1{"0" * 5000},"k"]',
    "half a character": r'["MARK",1,"\ud800"]',
    "what no text has": r'["MARK",1,"\u0000"]',
    "no number": '["MARK",NaN,"k"]',
}


@pytest.mark.parametrize("said", FORGED.values(), ids=FORGED.keys())
def test_a_place_that_somebody_made_up_is_refused(said: str) -> None:
    """Although it says that it is of this list: the mark of a list is no secret."""
    mark = pagination.decode_page_token(pagination.encode_task_token(TaskQuery(), 1, "k"))[0]
    token = base64.urlsafe_b64encode(said.replace("MARK", str(mark)).encode()).decode().rstrip("=")
    with pytest.raises(InvalidParamsError) as caught:
        pagination.parse_task_token(TaskQuery(page_token=token))
    assert [field for field, _ in caught.value.fields] == ["pageToken"]


def test_a_token_of_configurations_is_none_of_tasks() -> None:
    """Even when both would be of the same filter, the form of the place tells them apart."""
    with pytest.raises(InvalidParamsError):
        pagination.parse_config_token(10, pagination.encode_page_token((1, "k"), "t"), "t")
    with pytest.raises(InvalidParamsError):
        pagination.parse_task_token(TaskQuery(page_token=pagination.encode_page_token(("k",), None, None, None)))
