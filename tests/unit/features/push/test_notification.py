"""Requests of webhooks in each dialect, and configurations that are refused."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from unit.features.push.deliveries import deliveries

from a2a_contract import v0_3, v1_0
from a2a_contract.dialects import CANONICAL, NOTIFICATION_TOKEN, V0_3, V0_3_PROTO
from a2a_contract.errors import InvalidParamsError
from a2a_contract.v1_0 import AuthenticationInfo, TaskPushNotificationConfig
from a2a_runtime.features.push.notification import ID_HEADER, build_notification
from a2a_runtime.net.client import GuardedHttpClient
from a2a_runtime.service.push_configs import check_config

pytestmark = pytest.mark.anyio

PLAIN = TaskPushNotificationConfig(id="hook", url="https://example.com/hook")
BEARER = AuthenticationInfo(scheme="Bearer", credentials="abc.def")
FULL = PLAIN.model_copy(update={"token": "t-1", "authentication": BEARER})


async def test_the_canonical_dialect_sends_events() -> None:
    """Each event as streams have it: the task first, then every update."""
    sent = [build_notification(delivery) for delivery in await deliveries(PLAIN)]
    members = [next(iter(json.loads(each.body))) for each in sent if each is not None]
    assert members == ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]
    for each in sent:
        assert each is not None
        v1_0.StreamResponse.model_validate_json(each.body)


@pytest.mark.parametrize("dialect", [V0_3.name, V0_3_PROTO.name])
async def test_the_older_dialect_sends_tasks(dialect: str) -> None:
    """The whole task each time, with the status it had then, also when it is told late; unfinished
    artifacts wait for what comes after them.
    """
    sent = [build_notification(delivery) for delivery in await deliveries(PLAIN, dialect)]
    tasks = [v0_3.Task.model_validate_json(each.body) for each in sent if each is not None]
    assert [task.status.state for task in tasks] == ["submitted", "working", "completed"]
    assert [part.model_dump()["text"] for part in (tasks[-1].artifacts or [])[0].parts] == [
        "x",
        "x",
    ]
    assert all(json.loads(each.body)["kind"] == "task" for each in sent if each is not None)


async def test_the_newest_artifact_is_sent_in_the_older_dialect() -> None:
    """An artifact after which nothing has come yet is worth a notification."""
    delivery = (await deliveries(PLAIN, V0_3.name))[3]
    assert build_notification(delivery) is None
    last = replace(delivery, stored=replace(delivery.stored, last_seq=delivery.event.seq))
    assert build_notification(last) is not None


@pytest.mark.parametrize("dialect", [CANONICAL.name, V0_3.name])
async def test_headers_say_what_the_configuration_wants(dialect: str) -> None:
    """The media type, the token under each of its names, the credentials, and an id; without a wish
    none of them.
    """
    (first, *_) = await deliveries(FULL, dialect)
    notification = build_notification(first)
    assert notification is not None
    headers = dict(notification.headers)
    assert headers.pop(ID_HEADER)
    assert headers == {
        "Content-Type": "application/json",
        "Authorization": "Bearer abc.def",
        **dict.fromkeys(NOTIFICATION_TOKEN.headers, "t-1"),
    }
    (plain, *_) = await deliveries(PLAIN, dialect)
    notification = build_notification(plain)
    assert notification is not None
    assert set(notification.headers) == {"Content-Type", ID_HEADER}


async def test_a_scheme_without_credentials_sends_none() -> None:
    """There is nothing to say then."""
    (first, *_) = await deliveries(
        PLAIN.model_copy(update={"authentication": AuthenticationInfo(scheme="Bearer")})
    )
    notification = build_notification(first)
    assert notification is not None
    assert "Authorization" not in notification.headers


async def test_an_id_is_of_one_delivery() -> None:
    """Every try has the same, every other event, configuration and task has another, and our key is
    not in it.
    """
    ids = set()
    for config in (PLAIN, PLAIN, PLAIN.model_copy(update={"id": "other"})):
        for delivery in await deliveries(config):
            first = build_notification(delivery)
            again = build_notification(replace(delivery, attempts=7))
            assert first is not None
            assert again is not None
            assert first.headers[ID_HEADER] == again.headers[ID_HEADER]
            assert first.headers[ID_HEADER] not in delivery.stored.key
            ids.add(first.headers[ID_HEADER])
    assert len(ids) == 15


BAD = {
    "line break in token": ({"token": "a\r\nX-Evil: 1"}, ["token"]),
    "token beyond ASCII": ({"token": "ü"}, ["token"]),
    "line break in credentials": (
        {"authentication": AuthenticationInfo(scheme="Bearer", credentials="a\nb")},
        ["authentication.credentials"],
    ),
    "two words for a scheme": (
        {"authentication": AuthenticationInfo(scheme="Bearer x", credentials="a")},
        ["authentication.scheme"],
    ),
    "all at once": (
        {
            "url": "http://example.com",
            "token": "\n",
            "authentication": AuthenticationInfo(scheme="", credentials="\x00"),
        },
        ["url", "token", "authentication.scheme", "authentication.credentials"],
    ),
    "slash in id": ({"id": "a/b"}, ["id"]),
    "dots for an id": ({"id": ".."}, ["id"]),
    "private address": ({"url": "https://10.0.0.1/"}, ["url"]),
}


@pytest.mark.parametrize(("change", "places"), BAD.values(), ids=BAD)
async def test_a_configuration_that_could_not_be_called_is_refused(
    change: dict[str, object], places: list[str]
) -> None:
    """The client reads every place that is wrong, and nothing of what it has sent."""
    config = FULL.model_copy(update=change)
    async with GuardedHttpClient() as outbound:
        with pytest.raises(InvalidParamsError) as caught:
            check_config(config, outbound.check_url)
    assert [place for place, _ in caught.value.fields] == places
    assert "Evil" not in caught.value.message


async def test_a_good_configuration_passes() -> None:
    """Nothing is resolved or called to find that out."""
    async with GuardedHttpClient() as outbound:
        check_config(FULL, outbound.check_url)


async def test_stored_secrets_that_cannot_be_sent_are_refused_late_too() -> None:
    """A configuration that got into the store in another way ends here, not in a broken request."""
    (first, *_) = await deliveries(PLAIN.model_copy(update={"token": "a\nb"}))
    with pytest.raises(InvalidParamsError):
        build_notification(first)
