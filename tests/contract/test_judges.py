"""The official SDKs read what we write, and we read what they write."""

from __future__ import annotations

import pytest
from contract.documents import Example, examples, read_document, read_leniently, write
from peers.peer import Peer, Refused

pytestmark = pytest.mark.peer

# What an SDK has no type for, by name; and what it refuses although the specification has it.
NOT_IN_SDK = {
    "v1_0": set[str](),
    "v0_3": {
        "ListTasksParams",
        "ListTasksResult",
        "ListTasksRequest",
        "ListTasksResponse",
        "ListTasksSuccessResponse",
    }
    | {
        "SendMessageResult",
        "SendMessageReply",
        "StreamResult",
        "StreamReply",
        "TaskPushNotificationConfigs",
    }
    | {"ApiKeyLocation"},
    "v0_3_proto": set[str](),
}
REFUSED_BY_SDK = {
    "v0_3-A2ARequest-list": "0.3.26 has no tasks/list",
}
# Proto enums are no messages: they are judged inside the messages that hold them.
ENUMS = {"TaskState", "Role"}


def find_judged_examples(dialect: str) -> list[Example]:
    """Find the valid examples that an SDK has the type for."""
    left_out = NOT_IN_SDK[dialect] | (ENUMS if dialect != "v0_3" else set())
    return [
        each
        for each in examples("valid")
        if each.dialect == dialect and each.type not in left_out and str(each) not in REFUSED_BY_SDK
    ]


def both_ways(sdk: Peer, example: Example) -> None:
    """Let the SDK read what we write, then read what it writes; the meaning must stay."""
    ours = write(read_document(example, example.content))
    theirs = sdk.read(example.dialect, example.type, ours)
    again = write(read_leniently(example, theirs))
    assert sdk.read(example.dialect, example.type, again) == theirs


@pytest.mark.parametrize("example", find_judged_examples("v1_0"), ids=str)
def test_the_1_0_sdk_agrees(sdk_1_0: Peer, example: Example) -> None:
    """A document of A2A 1.0 goes to the official SDK and back."""
    both_ways(sdk_1_0, example)


@pytest.mark.parametrize(
    "example", [*find_judged_examples("v0_3"), *find_judged_examples("v0_3_proto")], ids=str
)
def test_the_0_3_sdk_agrees(sdk_0_3: Peer, example: Example) -> None:
    """A document of A2A 0.3, in either form, goes to the official SDK and back."""
    both_ways(sdk_0_3, example)


def test_what_the_sdk_lacks_is_still_lacking(sdk_0_3: Peer) -> None:
    """Every entry of the list of documents that an SDK refuses is needed."""
    for name in REFUSED_BY_SDK:
        example = next(each for each in examples("valid") if str(each) == name)
        with pytest.raises(Refused):
            sdk_0_3.read(example.dialect, example.type, example.content)
