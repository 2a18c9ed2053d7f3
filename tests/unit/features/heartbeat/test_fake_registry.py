"""The fake registry answers like registry 3.7.1 of mcp-mesh was observed to answer, in this
order.
"""

from __future__ import annotations

import json

from unit.features.heartbeat.conftest import PREFIX

from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.registry import FakeRegistry

STAMPED = {
    "path": "/agents/r",
    "skill_id": "gen-r",
    "public_url": f"{PREFIX}/agents/r",
    "agent_card_url": f"{PREFIX}/agents/r/.well-known/agent.json",
}
TAKEN = {"status": "success"}
REFUSED = {"status": "error"}
SEEN: list[tuple[str, str, object, int, object]] = [
    ("HEAD", "/heartbeat/one", None, 410, None),
    (
        "POST",
        "/heartbeat",
        {
            "agent_id": "one",
            "agent_type": "a2a",
            "surfaces": [{"path": "/agents/r", "skill_id": "gen-r"}],
        },
        200,
        [STAMPED],
    ),
    ("HEAD", "/heartbeat/one", None, 200, None),
    ("POST", "/heartbeat", {"agent_id": "one", "tools": []}, 200, [STAMPED]),
    ("POST", "/heartbeat", {"agent_id": "one", "tools": None, "a2a_surfaces": []}, 200, [STAMPED]),
    ("GET", "/a2a/agents", None, 200, [STAMPED]),
    (
        "POST",
        "/heartbeat",
        {"agent_id": "one", "surfaces": [{"path": "", "skill_id": "x"}, {"path": "/y"}]},
        200,
        TAKEN,
    ),
    ("POST", "/heartbeat", {"agent_id": "one", "surfaces": []}, 200, TAKEN),
    ("POST", "/heartbeat", {"agent_id": "My_Agent"}, 200, REFUSED),
    ("POST", "/heartbeat", {"agent_id": "two", "name": "My Name"}, 200, REFUSED),
    ("POST", "/heartbeat", {"agent_id": "one", "name": "My Name"}, 200, TAKEN),
    ("POST", "/heartbeat", {"agent_id": "one", "agent_type": "weird"}, 200, REFUSED),
    ("POST", "/heartbeat", {"agent_id": "one", "runtime": "litestar"}, 200, REFUSED),
    ("POST", "/heartbeat", {"agent_id": "one", "timestamp": "notatime"}, 400, None),
    ("POST", "/heartbeat", {"tools": []}, 400, None),
    ("POST", "/heartbeat", [], 400, None),
    (
        "POST",
        "/heartbeat",
        {"agent_id": "one", "surfaces": [{"path": 5, "skill_id": "x"}]},
        400,
        None,
    ),
    ("POST", "/heartbeat", {"agent_id": "one", "surfaces": ["x"]}, 400, None),
    ("HEAD", "/heartbeat/one", None, 200, None),
    ("POST", "/heartbeat", {"agent_id": "two", "description": "d" * 300}, 200, TAKEN),
    ("HEAD", "/heartbeat/one", None, 202, None),
    ("HEAD", "/heartbeat/two", None, 200, None),
    ("POST", "/heartbeat", {"agent_id": "one"}, 200, TAKEN),
    ("HEAD", "/heartbeat/one", None, 200, None),
    ("POST", "/admin/rotate", None, 200, None),
    ("HEAD", "/heartbeat/one", None, 202, None),
    ("DELETE", "/agents/one", None, 204, None),
    ("DELETE", "/agents/unknown", None, 204, None),
    ("HEAD", "/heartbeat/one", None, 410, None),
    ("POST", "/agents/register", {}, 404, None),
    ("GET", "/health", None, 200, None),
]


def test_it_answers_like_the_real_one() -> None:
    """Status by status; of the bodies, the members that a producer reads."""
    registry = FakeRegistry(FakeClock(), prefix=PREFIX + "/")
    for method, path, body, status, expected in SEEN:
        answer = registry.handle_request(method, path, json.dumps(body).encode())
        assert answer.status == status, (method, path, body)
        said = answer.body or {}
        if isinstance(expected, list):
            assert said["surfaces"] == expected, (method, path, body)
        elif isinstance(expected, dict):
            assert not said.get("surfaces")
            assert expected.items() <= said.items(), (method, path, body)
    assert registry.handle_request("GET", "/agents").body is not None
    assert FakeRegistry().handle_request("GET", "/agents").body == {"agents": None}


def test_it_truncates_descriptions_and_has_fine_timestamps() -> None:
    """A long text is accepted with a warning; timestamps have nine digits."""
    said = (
        FakeRegistry(FakeClock())
        .handle_request(
            "POST", "/heartbeat", json.dumps({"agent_id": "a", "description": "d" * 300}).encode()
        )
        .body
        or {}
    )
    assert said["warnings"] == ["description truncated from 300 to 256 chars"]
    assert len(said["timestamp"].partition(".")[2]) == len("267479956Z")


def test_it_expires_agents_without_heartbeats() -> None:
    """An agent expires after 20 s without a heartbeat; a registration revives it."""
    clock = FakeClock()
    registry = FakeRegistry(clock)
    registry.handle_request("POST", "/heartbeat", b'{"agent_id": "a"}')
    clock.advance(20)
    assert registry.handle_request("HEAD", "/heartbeat/a").status == 200
    clock.advance(20.5)
    assert registry.handle_request("HEAD", "/heartbeat/a").status == 410
    registry.handle_request("POST", "/heartbeat", b'{"agent_id": "a"}')
    assert registry.handle_request("HEAD", "/heartbeat/a").status == 200
