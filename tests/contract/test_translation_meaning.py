"""Meaning of translations between dialects with different concepts."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from a2a_contract import mesh, v0_3, v0_3_proto, v1_0
from a2a_contract.conversions import UntranslatableError
from a2a_contract.translate import mesh as to_mesh
from a2a_contract.translate import v0_3 as to_v0_3
from a2a_contract.translate import v0_3_proto as to_v0_3_proto

USER = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


def task(state: str, **more: object) -> v1_0.Task:
    """Make a task in a state."""
    return v1_0.Task.model_validate(
        {"id": "t", "contextId": "c", "status": {"state": state}, **more}
    )


def read_send(params: mesh.TaskSendParams) -> v1_0.SendMessageRequest:
    """Read the parameters of tasks/send."""
    return v1_0.SendMessageRequest.model_validate(
        to_mesh.read_task_send_params_as_send_message_request(params)
    )


def status_event(state: str) -> v1_0.TaskStatusUpdateEvent:
    """Make the news of a state."""
    return v1_0.TaskStatusUpdateEvent.model_validate(
        {"taskId": "t", "contextId": "c", "status": {"state": state}}
    )


@pytest.mark.parametrize(
    ("blocking", "immediately"),
    [(None, None), (True, False), (False, True)],
    ids=["unset", "true", "false"],
)
def test_a_request_of_0_3_waits_by_default(
    blocking: bool | None,  # noqa: FBT001 - a value of the protocol
    immediately: bool | None,  # noqa: FBT001 - a value of the protocol
) -> None:
    """Waiting is the default of 0.3, as it is of 1.0."""
    read = to_v0_3.read_message_send_configuration_as_send_message_configuration(
        v0_3.MessageSendConfiguration(blocking=blocking)
    )
    assert v1_0.SendMessageConfiguration.model_validate(read).return_immediately is immediately


def test_a_protocol_buffer_omits_what_is_false() -> None:
    """In the ProtoJSON form, a configuration that says nothing of waiting has said no."""
    read = to_v0_3_proto.read_send_message_configuration(v0_3_proto.SendMessageConfiguration())
    assert read["return_immediately"] is True


STATES_0_3 = {
    "submitted": "TASK_STATE_SUBMITTED",
    "pending": "TASK_STATE_SUBMITTED",
    "input_required": "TASK_STATE_INPUT_REQUIRED",
    "cancelled": "TASK_STATE_CANCELED",
    "unknown": "TASK_STATE_UNSPECIFIED",
    "dreaming": "dreaming",
}


@pytest.mark.parametrize(("theirs", "ours"), STATES_0_3.items(), ids=STATES_0_3.keys())
def test_states_are_read_in_every_spelling(theirs: str, ours: str) -> None:
    """A state in another spelling is read as the state; an unknown state is kept."""
    assert to_v0_3.read_task_state(v0_3.TaskState(theirs)).value == ours


def test_unknown_words_survive_both_ways() -> None:
    """An unknown state is written as it was read."""
    assert (
        to_v0_3.write_task_state(to_v0_3.read_task_state(v0_3.TaskState("dreaming"))) == "dreaming"
    )


FINALS = [
    ("TASK_STATE_WORKING", False, False),
    ("TASK_STATE_INPUT_REQUIRED", True, False),
    ("TASK_STATE_COMPLETED", True, True),
    ("TASK_STATE_REJECTED", True, True),
]


@pytest.mark.parametrize(
    ("state", "in_0_3", "in_mesh"), FINALS, ids=[state for state, *_ in FINALS]
)
def test_the_last_event_is_marked(
    state: str,
    in_0_3: bool,  # noqa: FBT001 - values of the protocol
    in_mesh: bool,  # noqa: FBT001 - values of the protocol
) -> None:
    """A stream of 0.3 also ends at a suspended task; one of the tasks/* dialect only with the
    task.
    """
    assert to_v0_3.write_task_status_update_event(status_event(state).to_dict())["final"] is in_0_3
    assert to_mesh.write_task_status_update_event(status_event(state).to_dict())["final"] is in_mesh


def test_a_request_without_anything_is_a_request() -> None:
    """Parameters of tasks/send may be empty; the message then has an identity of its own and
    nothing to say.
    """
    first, second = (read_send(mesh.TaskSendParams.model_validate({})) for _ in range(2))
    assert first.message.message_id
    assert first.message.message_id != second.message.message_id
    assert (first.message.role, first.message.parts, first.message.task_id) == (
        v1_0.Role.USER,
        [],
        None,
    )


def test_a_client_names_the_task_and_the_session() -> None:
    """The identifiers of tasks/send are those of the task and the conversation of the message."""
    read = read_send(mesh.TaskSendParams.model_validate({"id": "t", "sessionId": "s"}))
    assert (read.message.task_id, read.message.context_id) == ("t", "s")


def test_why_a_task_is_canceled_is_metadata() -> None:
    """The reason of tasks/cancel is found in the metadata of the request."""
    read = to_mesh.read_task_cancel_params_as_cancel_task_request(
        mesh.TaskCancelParams(id="t", reason="tired")
    )
    assert read["metadata"] == {"reason": "tired"}


def test_data_stay_data() -> None:
    """Data are written as data, in artifacts in their order; the service makes one text of a result
    before.
    """
    artifacts = [
        {"artifactId": "a", "parts": [{"data": {"n": 1}}]},
        {"artifactId": "b", "name": "B", "parts": [{"data": None}]},
    ]
    written = to_mesh.write_task(task("TASK_STATE_COMPLETED", artifacts=artifacts).to_dict())
    assert written["artifacts"] == [
        {"name": "a", "parts": [{"type": "data", "data": {"n": 1}}], "index": 0},
        {
            "name": "B",
            "parts": [
                {"type": "data", "data": {"value": None}, "metadata": {"data_part_compat": True}}
            ],
            "index": 1,
        },
    ]


def test_a_snapshot_is_the_news_of_a_state() -> None:
    """A task on a stream of the tasks/* dialect, which has no snapshots, is written as its
    status.
    """
    written = to_mesh.write_stream_response_as_stream_event(
        v1_0.StreamResponse(task=task("TASK_STATE_FAILED")).to_dict()
    )
    assert (written["id"], written["final"]) == ("t", True)


def test_a_response_without_a_task_is_refused() -> None:
    """The tasks/* dialect has tasks only; any other response is an error."""
    with pytest.raises(UntranslatableError, match="mesh"):
        to_mesh.write_send_message_response_as_task(
            v1_0.SendMessageResponse(message=v1_0.Message.model_validate(USER)).to_dict()
        )


PARTS: Mapping[str, tuple[dict[str, object], dict[str, object]]] = {
    "text": ({"text": "t"}, {"kind": "text", "text": "t"}),
    "bytes": (
        {"raw": "/+8=", "filename": "f"},
        {"kind": "file", "file": {"bytes": "/+8=", "name": "f"}},
    ),
    "address": (
        {"url": "u", "mediaType": "m"},
        {"kind": "file", "file": {"uri": "u", "mimeType": "m"}},
    ),
    "object": ({"data": {"a": None}}, {"kind": "data", "data": {"a": None}}),
    "list": (
        {"data": [1]},
        {"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": True}},
    ),
    "null": (
        {"data": None},
        {"kind": "data", "data": {"value": None}, "metadata": {"data_part_compat": True}},
    ),
}


@pytest.mark.parametrize(("ours", "theirs"), PARTS.values(), ids=PARTS.keys())
def test_parts_of_0_3_name_their_kind(ours: dict[str, object], theirs: dict[str, object]) -> None:
    """Every kind of content has one form in 0.3, and is the same again when it is read."""
    part = v1_0.Part.model_validate_json(json.dumps(ours))
    assert to_v0_3.write_part(part.to_dict()) == theirs
    message = v0_3.Message.model_validate_json(
        json.dumps({"kind": "message", "messageId": "m", "role": "user", "parts": [theirs]})
    )
    assert v1_0.Message.model_validate(to_v0_3.read_message(message)).parts == [part]


def test_the_addresses_of_a_card_are_one_list() -> None:
    """A card of 0.3 has a main address and further ones; ours has all of them, the main one
    first.
    """
    card = v0_3.AgentCard.model_validate(
        {
            "name": "n",
            "url": "u",
            "preferredTransport": "HTTP+JSON",
            "additionalInterfaces": [{"url": "v", "transport": "GRPC"}],
        }
    )
    read = v1_0.AgentCard.model_validate(to_v0_3.read_agent_card(card))
    assert [
        (each.url, each.protocol_binding, each.protocol_version)
        for each in read.supported_interfaces
    ] == [
        ("u", "HTTP+JSON", "0.3.0"),
        ("v", "GRPC", "0.3.0"),
    ]
