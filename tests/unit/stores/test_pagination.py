"""Page tokens."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_runtime.base.clock import to_datetime
from a2a_runtime.stores import pagination
from a2a_runtime.stores.models import TaskQuery
from a2a_runtime.stores.pagination import TaskPosition

KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
FILTERS = [
    TaskQuery(),
    TaskQuery(context_id="c"),
    TaskQuery(context_id=""),
    TaskQuery(state=State.FAILED),
    TaskQuery(changed_after=to_datetime(1)),
]


@given(at=st.integers(0, 2**62), key=KEYS, total=st.none() | st.integers(0, 2**62))
def test_a_position_is_restored(at: int, key: str, total: int | None) -> None:
    """A token contains its position, and is safe in a URL."""
    for query in FILTERS:
        token = pagination.encode_task_token(query, TaskPosition(at, key, total))
        assert pagination.parse_task_token(
            TaskQuery(query.context_id, query.state, query.changed_after, page_token=token)
        ) == (at, key, total)
        assert token.replace("-", "").replace("_", "").isalnum()


def test_an_empty_token_is_the_first_page() -> None:
    """An empty token holds no position."""
    assert pagination.parse_task_token(TaskQuery()) is None
    assert pagination.parse_config_token(10, "", "t") == ""


@pytest.mark.parametrize("made_for", FILTERS, ids=range(len(FILTERS)))
def test_a_token_is_bound_to_its_filter(made_for: TaskQuery) -> None:
    """It is refused with any other filter; the page size may change."""
    token = pagination.encode_task_token(made_for, TaskPosition(1, "k"))
    for query in FILTERS:
        next_page = TaskQuery(
            query.context_id, query.state, query.changed_after, page_size=7, page_token=token
        )
        if query == made_for:
            assert pagination.parse_task_token(next_page) == (1, "k", None)
        else:
            with pytest.raises(InvalidParamsError):
                pagination.parse_task_token(next_page)


@given(text=st.text(min_size=1))
def test_any_other_text_is_refused(text: str) -> None:
    """An invalid token is a field error."""
    with pytest.raises(InvalidParamsError) as caught:
        pagination.parse_task_token(TaskQuery(page_token=text))
    assert [field for field, _ in caught.value.fields] == ["pageToken"]


@pytest.mark.parametrize(
    "content", ['["x",1,"k"]', "[]", "1", "null", '{"a":1}', '[1,{"a":1}]', "[[[["]
)
def test_other_json_is_refused(content: str) -> None:
    """A token of well-formed base64 with other JSON is refused."""
    token = base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")
    for parse in (
        lambda: pagination.parse_task_token(TaskQuery(page_token=token)),
        lambda: pagination.parse_config_token(10, token, "t"),
    ):
        with pytest.raises(InvalidParamsError):
            parse()


FORGED = {
    "deep": "[" * 100_000,
    "a number too large for a store": '["HASH",9223372036854775808,"k"]',
    "a very long number": f'["HASH",1{"0" * 5000},"k"]',
    "a lone surrogate": r'["HASH",1,"\ud800"]',
    "a null character": r'["HASH",1,"\u0000"]',
    "a negative total": '["HASH",1,"k",-1]',
    "NaN": '["HASH",NaN,"k"]',
}


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED.keys())
def test_a_forged_position_is_refused(text: str) -> None:
    """Even with the right hash of the filters, which is no secret."""
    filter_hash = pagination.decode_page_token(
        pagination.encode_task_token(TaskQuery(), TaskPosition(1, "k"))
    )[0]
    token = (
        base64.urlsafe_b64encode(text.replace("HASH", str(filter_hash)).encode())
        .decode()
        .rstrip("=")
    )
    with pytest.raises(InvalidParamsError) as caught:
        pagination.parse_task_token(TaskQuery(page_token=token))
    assert [field for field, _ in caught.value.fields] == ["pageToken"]


def test_tokens_of_configurations_and_tasks_differ() -> None:
    """A page token of one list is refused in the other, because the positions differ."""
    with pytest.raises(InvalidParamsError):
        pagination.parse_config_token(10, pagination.encode_page_token((1, "k"), "t"), "t")
    with pytest.raises(InvalidParamsError):
        pagination.parse_task_token(
            TaskQuery(page_token=pagination.encode_page_token(("k",), None, None, None))
        )
