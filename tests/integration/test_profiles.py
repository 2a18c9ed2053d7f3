"""The patch 1.0.1 as a setting of a surface, and the spellings of dialects and forms in
settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from litestar.testing import TestClient

from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.client import HTTP_JSON, JSONRPC, NoInterfaceError, Pin
from a2a_runtime.client.interface import interface_from_pin
from a2a_runtime.features.project.loader import load_project
from a2a_runtime.ports.wire_variant import VariantKey
from a2a_runtime.surface import Surface

NEW = {"A2A-Version": "1.0"}
MESSAGE = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}


def quiet_agent() -> Agent:
    """An agent that neither streams nor has webhooks."""
    agent = Agent("quiet", capabilities=Capabilities(streaming=False))
    agent.add("echo", lambda ctx: ctx.text)
    return agent


@pytest.mark.parametrize(
    ("variants", "status", "media_type"),
    [
        ((), "UNIMPLEMENTED", "application/json"),
        (("1.0.1",), "FAILED_PRECONDITION", "application/a2a+json"),
    ],
)
def test_a_profile_has_its_statuses_and_its_media_type(
    variants: Sequence[VariantKey], status: str, media_type: str
) -> None:
    """For errors of capabilities over HTTP+JSON in 1.0; JSON-RPC, 0.3 and clients that want plain
    JSON see no difference.
    """
    surface = Surface(quiet_agent(), gate=OpenGate(), variants=variants)
    with TestClient(create_app(surface)) as client:
        sent = client.post("/message:send", json=MESSAGE, headers=NEW)
        assert (sent.status_code, sent.headers["content-type"]) == (200, media_type)
        streamed = client.post("/message:stream", json=MESSAGE, headers=NEW)
        error = streamed.json()["error"]
        assert (
            streamed.status_code,
            error["code"],
            error["status"],
            streamed.headers["content-type"],
        ) == (400, 400, status, media_type)
        hooks = client.get("/tasks/t/pushNotificationConfigs", headers=NEW)
        assert hooks.json()["error"]["status"] == status
        missing = client.get("/tasks/nowhere", headers=NEW).json()["error"]
        assert missing["status"] == "NOT_FOUND"
        wanted = client.post(
            "/message:send", json=MESSAGE, headers={**NEW, "accept": "application/json"}
        )
        assert wanted.headers["content-type"] == "application/json"
        call = client.post(
            "/",
            json={"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}},
            headers=NEW,
        )
        assert call.headers["content-type"] == "application/json"
        assert client.get("/v1/tasks/x").headers["content-type"] == "application/json"


def test_an_unknown_profile_is_refused() -> None:
    """The error for an unknown profile lists the known profiles."""
    with pytest.raises(
        ValueError,
        match=r"variants: unknown variant '1\.2'; use one of double_base64, srs_forms, 1\.0\.1",
    ):
        Surface(quiet_agent(), variants=("1.2",))  # type: ignore[arg-type]  # the mistake that is meant


def test_dialects_have_one_spelling() -> None:
    """That of the project file, in Python too."""
    assert (
        Surface(quiet_agent(), dialects=frozenset({"1.0", "0.3"})).dialects
        == Surface(quiet_agent()).dialects
    )
    assert (
        Surface(quiet_agent(), dialects=frozenset({"1.0", "mesh"}), shared_card="1.0").shared_card
        == "v1_0"
    )
    with pytest.raises(
        ValueError,
        match=r"dialects: unknown dialect '2\.0'; use one of 1\.0, 1\.1-draft, 0\.3, mesh",
    ):
        Surface(quiet_agent(), dialects=frozenset({"2.0"}))
    assert interface_from_pin("https://a", Pin("1.0")).dialect.name == "v1_0"
    assert interface_from_pin("https://a", Pin("0.3", JSONRPC)).dialect.name == "v0_3"
    assert interface_from_pin("https://a", Pin("0.3", HTTP_JSON)).dialect.name == "v0_3_proto"
    with pytest.raises(
        NoInterfaceError, match=r"unknown dialect '2\.0'; use one of 1\.0, 1\.1-draft, 0\.3, mesh"
    ):
        interface_from_pin("https://a", Pin("2.0"))


def test_the_project_file_has_these_settings(tmp_path: Path) -> None:
    """Form, files and profile of a surface."""
    (tmp_path / "handlers.py").write_text("def echo(ctx):\n    return ctx.text\n")
    (tmp_path / "a2a.toml").write_text(
        '[agent]\nname = "n"\ndescription = "d"\nversion = "1"\n[skills.echo]\ndescription = '
        '"d"\nhandler = "handlers:echo"\n'
        '[[surfaces]]\npath = "/"\nauth = "open"\nv0_3_form = "kind"\ndouble_base64 = '
        'true\nprofile = "1.0.1"\n'
    )
    (surface,) = load_project(tmp_path, {}).surfaces
    assert (surface.default_v0_3_form, [each.key for each in surface.wire]) == (
        "v0_3",
        ["double_base64", "1.0.1"],
    )


def test_an_extended_card_without_a_skill_of_its_own_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Clients would follow the card to an error."""
    agent = Agent("n", capabilities=Capabilities(extended_agent_card=True))
    agent.add("echo", lambda ctx: ctx.text)
    create_app(Surface(agent, gate=OpenGate()))
    assert "announces an extended card, and no skill is only there" in caplog.text
    assert (
        "the extended card is for callers with credentials, and no gate asks for any; set "
        "Surface(gate=AuthGate(…))"
    ) in caplog.text


def test_the_card_of_a_default_agent_says_that_it_takes_no_files() -> None:
    """A file of a type that it does not list is refused with those that it does; input_modes opens
    the skill.
    """
    file = {
        "message": {
            "messageId": "m",
            "role": "ROLE_USER",
            "parts": [{"raw": "AA==", "mediaType": "image/png"}],
        }
    }
    with TestClient(create_app(Surface(quiet_agent(), gate=OpenGate()))) as client:
        assert client.get("/.well-known/agent-card.json").json()["defaultInputModes"] == [
            "text/plain",
            "application/json",
        ]
        error = client.post(
            "/",
            json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": file},
            headers=NEW,
        ).json()["error"]
        assert error["code"] == -32005
        assert "image/png is not one of text/plain, application/json" in str(error)
    agent = Agent("open")
    agent.add("count", lambda ctx: str(len(ctx.message.parts)), input_modes=["*/*"])
    with TestClient(create_app(Surface(agent, gate=OpenGate()))) as client:
        assert client.get("/.well-known/agent-card.json").json()["skills"][0]["inputModes"] == [
            "*/*"
        ]
        sent = client.post(
            "/",
            json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": file},
            headers=NEW,
        ).json()
        assert sent["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
