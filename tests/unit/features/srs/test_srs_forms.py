"""Forms of the apcore SRS as calls of 0.3: each rule of the table, and calls that no rule
changes.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_runtime.features.srs.forms import (
    SrsForm,
    find_result_rule,
    is_card_call,
    rewrite_call,
    rewrite_result,
)


def call(method: str, params: object) -> bytes:
    """Write a call."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def rewritten(method: str, params: object) -> dict[str, Any]:
    """Rewrite a call without errors, and return its params."""
    result = rewrite_call(call(method, params))
    assert result.errors == ()
    params = json.loads(result.body)["params"]
    assert isinstance(params, dict)
    return params


def message(*parts: object, **members: object) -> dict[str, object]:
    """A message with an id."""
    return {"messageId": "m", "role": "user", "parts": list(parts), **members}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "x"}, {"kind": "text", "text": "x"}),
        ({"kind": "text", "text": "x"}, {"kind": "text", "text": "x"}),
        ({"type": "text", "kind": "text", "text": "x"}, {"kind": "text", "text": "x"}),
        (
            {"type": "file", "uri": "https://a/b", "name": "b", "mimeType": "a/b"},
            {"kind": "file", "file": {"uri": "https://a/b", "name": "b", "mimeType": "a/b"}},
        ),
        ({"type": "file", "bytes": "AA=="}, {"kind": "file", "file": {"bytes": "AA=="}}),
        (
            {"kind": "file", "file": {"uri": "https://a/b"}, "name": "b"},
            {"kind": "file", "file": {"uri": "https://a/b", "name": "b"}},
        ),
        (
            {"type": "data", "data": {"n": 1.5}, "mediaType": "application/json"},
            {"kind": "data", "data": {"n": 1.5}, "metadata": {"mediaType": "application/json"}},
        ),
    ],
)
@pytest.mark.parametrize("method", ["message/send", "message/stream"])
def test_parts(method: str, part: object, expected: object) -> None:
    """Tags, flat files and media types go where 0.3 has them."""
    assert rewritten(method, {"message": message(part)}) == {"message": message(expected)}


def test_context_and_ids() -> None:
    """The context beside the message belongs to the message; a message without an id gets one."""
    params = rewritten(
        "message/send",
        {"message": {"role": "user", "parts": []}, "contextId": "c", "metadata": {"skillId": "s"}},
    )
    made = params["message"].pop("messageId")
    assert len(made) == 36
    assert params == {
        "message": {"role": "user", "parts": [], "contextId": "c"},
        "metadata": {"skillId": "s"},
    }
    assert (
        rewritten("message/send", {"message": {"parts": []}, "messageId": "n"})["message"][
            "messageId"
        ]
        == "n"
    )


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("tasks/list", {"cursor": "c", "contextId": "x"}, {"pageToken": "c", "contextId": "x"}),
        (
            "tasks/pushNotificationConfig/set",
            {"taskId": "t", "url": "https://a"},
            {"taskId": "t", "pushNotificationConfig": {"id": "t", "url": "https://a"}},
        ),
        (
            "tasks/pushNotificationConfig/set",
            {"taskId": "t", "pushNotificationConfig": {"url": "https://a"}},
            {"taskId": "t", "pushNotificationConfig": {"url": "https://a"}},
        ),
        ("tasks/pushNotificationConfig/get", {"taskId": "t"}, {"id": "t"}),
        (
            "tasks/pushNotificationConfig/delete",
            {"taskId": "t"},
            {"id": "t", "pushNotificationConfigId": "t"},
        ),
        (
            "tasks/pushNotificationConfig/delete",
            {"taskId": "t", "pushNotificationConfigId": "p"},
            {"id": "t", "pushNotificationConfigId": "p"},
        ),
    ],
)
def test_other_requests(method: str, params: object, expected: object) -> None:
    """Flat forms and other words become those of 0.3."""
    assert rewritten(method, params) == expected


@pytest.mark.parametrize(("limit", "size"), [(1, 1), (200, 200), (500, 200)])
def test_a_limit_is_clamped(limit: int, size: int) -> None:
    """At the longest page of the SRS, which is longer than one of 0.3."""
    result = rewrite_call(call("tasks/list", {"limit": limit}))
    assert json.loads(result.body)["params"] == {}
    assert result.form
    assert result.form.page_size == size


@pytest.mark.parametrize(
    ("method", "params", "place"),
    [
        ("tasks/list", {"limit": 0}, "limit"),
        ("tasks/list", {"limit": "5"}, "limit"),
        ("tasks/list", {"limit": True}, "limit"),
        ("tasks/list", {"limit": 5, "pageSize": 5}, "limit"),
        ("tasks/list", {"cursor": "a", "pageToken": "b"}, "cursor"),
        ("message/send", {"contextId": "a", "message": message(contextId="b")}, "contextId"),
        (
            "message/send",
            {"message": message({"type": "text", "kind": "data"})},
            "message.parts[0].type",
        ),
    ],
)
def test_contradictions_are_errors_at_their_place(method: str, params: object, place: str) -> None:
    """Nothing of a request is dropped in silence."""
    assert [path for path, _ in rewrite_call(call(method, params)).errors] == [place]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[",
        b"[]",
        b"1",
        b'{"method": 5}',
        b'{"method": "message/send"}',
        b'{"method": "message/send", "params": []}',
        b'{"method": "message/send", "params": {"message": 7}}',
        (
            b'{"method": "message/send", "params": {"message": {"messageId": "m", '
            b'"parts": {"type": "text"}}}}'
        ),
        (
            b'{"method": "message/send", "params": {"message": {"messageId": "m", '
            b'"parts": [5, null]}}}'
        ),
        (
            b'{"method":"message/send", "params":{"message":{"messageId":"m",'
            b'"parts":[{"kind":"text","text":"\\u00e4","x":1.50}]}}}'
        ),
        b'{"method": "SendMessage", "params": {"message": {"parts": [{"type": "text"}]}}}',
        b'{"method": "tasks/send", "params": {"message": {"parts": [{"type": "text"}]}}}',
        b'{"method": "tasks/list", "params": {"pageSize": 3, "pageToken": "x"}}',
        b'{"method": "message/send", "params": {"n": NaN, "message": {}}}',
    ],
)
def test_other_calls_stay_as_they_are(body: bytes) -> None:
    """To the byte: calls in the form of 0.3, of other dialects, and what is no call."""
    result = rewrite_call(body)
    assert (result.body, result.form, result.errors) == (body, None, ())


MEMBERS = [
    "message",
    "parts",
    "type",
    "kind",
    "file",
    "uri",
    "metadata",
    "mediaType",
    "contextId",
    "limit",
    "cursor",
    "url",
    "taskId",
    "id",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["text", "file", "data", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5)
    ),
    max_leaves=20,
)
METHODS = [
    "message/send",
    "message/stream",
    "tasks/list",
    *(f"tasks/pushNotificationConfig/{each}" for each in ("set", "get", "delete")),
]


@given(st.sampled_from(METHODS), JSON)
def test_any_call_is_rewritten_once(method: str, params: object) -> None:
    """Whatever clients send: a call of 0.3, which a second pass leaves alone."""
    once = rewrite_call(call(method, params))
    if not once.errors:
        assert rewrite_call(once.body).body == once.body


def test_results() -> None:
    """A cursor where there is more, and push configurations in the flat form."""
    lists = find_result_rule("ListTasks")
    configs = find_result_rule("GetTaskPushNotificationConfig")
    assert lists
    assert configs
    assert (
        json.loads(rewrite_result(lists, SrsForm(), b'{"tasks":[],"nextPageToken":"t"}'))[
            "nextCursor"
        ]
        == "t"
    )
    assert "nextCursor" not in json.loads(
        rewrite_result(lists, SrsForm(), b'{"tasks":[],"nextPageToken":""}')
    )
    config = b'{"taskId":"t","pushNotificationConfig":{"id":"t","url":"https://a"}}'
    assert json.loads(rewrite_result(configs, SrsForm(), config)) == {
        "taskId": "t",
        "url": "https://a",
        "status": "active",
    }
    failed = SrsForm(result={"status": "failed"})
    assert json.loads(rewrite_result(configs, failed, config))["status"] == "failed"
    assert rewrite_result(configs, failed, b"null") == b"null"
    assert find_result_rule("GetTask") is None


def test_calls_for_the_card() -> None:
    """A call for the card is recognized by its method alone."""
    assert is_card_call(b'{"method": "agentCard/get"}')
    assert not any(map(is_card_call, (b'{"method": "tasks/get"}', b"{", b"[]", b"5")))
    assert (
        json.loads(rewrite_call(b'{"method": "agentCard/get"}').body)["method"]
        == "agent/getAuthenticatedExtendedCard"
    )
