"""Whole apps, of agents in Python and of a project."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration.dialect_client import DialectBinding, DialectClient
from integration.outcome_agent import build_test_agent, build_test_app
from integration.shouting_project import PROJECT, SKILLS
from litestar import Litestar
from litestar.testing import TestClient

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.v1_0 import TaskState
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authenticators import digest_key, hash_password
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.features.project.loader import ProjectConfigError, load_project
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Limits, Surface

NEW = DialectBinding(V1_0.name, is_jsonrpc=True)


def test_an_agent_is_an_app() -> None:
    """One call builds an app of an agent, with its tasks in memory."""
    with TestClient(build_test_app(Surface(build_test_agent()))) as client:
        assert DialectClient(client, NEW).task("hi").status.state == TaskState.COMPLETED


def test_tasks_outlive_the_app(tmp_path: Path) -> None:
    """Tasks in a SQLite file are there after the next start."""
    store = f"sqlite:///{tmp_path}/tasks.db"
    with TestClient(build_test_app(store=store)) as client:
        task = DialectClient(client, NEW).task("hi")
    with TestClient(build_test_app(store=store)) as client:
        assert DialectClient(client, NEW).get(task.id) == task


def test_a_project_is_read(shouting_folder: Path) -> None:
    """The project file describes the agent and its surfaces; it is found from folders below, and
    the environment overrides it.
    """
    (shouting_folder / "deep" / "down").mkdir(parents=True)
    project = load_project(
        shouting_folder / "deep" / "down", {"A2A_DEADLINE_CHECK_INTERVAL": "0.5"}
    )
    first, second = project.surfaces
    assert (first.path, first.dialects, first.limits.body_bytes) == (
        "/a",
        frozenset((V1_0.name,)),
        1000,
    )
    assert first.gate is not None
    assert (second.path, second.dialects, second.gate) == ("/b", frozenset((V0_3.name,)), None)
    assert (first.agent.name, first.agent.version, list(first.skills)) == (
        "shouter",
        "1.2.3",
        ["shout"],
    )
    assert (
        project.settings.store,
        project.settings.deadline_check_interval,
        project.settings.shutdown_grace,
    ) == ("sqlite:///tasks.db", 0.5, 1)
    assert (
        load_project(shouting_folder, {"A2A_STORE": "sqlite:///other.db"}).settings.store
        == "sqlite:///other.db"
    )


def test_the_version_of_an_agent_has_one_default(shouting_folder: Path) -> None:
    """The same in Python and in a project file."""
    (shouting_folder / "a2a.toml").write_text(PROJECT.replace('version = "1.2.3"\n', ""))
    assert {surface.agent.version for surface in load_project(shouting_folder, {}).surfaces} == {
        Agent("one").version
    }


def test_retention_is_a_setting(shouting_folder: Path) -> None:
    """Of the project file and of the environment, which takes precedence; 0 keeps for ever."""
    (shouting_folder / "a2a.toml").write_text(
        PROJECT + "[retention]\ntasks = 0\nmessages = 7\nmemory_tasks = 9\n"
    )
    settings = load_project(shouting_folder, {"A2A_MEMORY_MAX_TASKS": "5"}).settings
    assert (
        settings.task_retention,
        settings.max_conversation_messages,
        settings.memory_max_tasks,
    ) == (0, 7, 5)
    with TestClient(
        create_app(Surface(build_test_agent()), store="memory", settings=settings)
    ) as client:
        caller = DialectClient(client, NEW)
        for n in range(8):
            caller.task("hi", message_id=f"m-{n}")
        assert caller.list().total_size == 5


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('name = "shouter"\n', "", r"a2a.toml:\d+: agent.name: missing; add name = \"…\""),
        ("[agent]", "[agent", "a2a.toml: "),
        (
            'version = "1.2.3"',
            "version = 2026-11-19",
            r"a2a.toml:\d+: agent.version: a date or time, not a text; write it in quotes",
        ),
        (
            'version = "1.2.3"',
            "version = 1",
            r"a2a.toml:\d+: agent.version: a whole number, not a text; write it in quotes",
        ),
        (
            'auth = "bearer"',
            'auth = "bearr"',
            r"a2a.toml:22: surfaces\[0\].auth: unknown auth 'bearr'; did you mean bearer\?",
        ),
        (
            '"shouting:shout"',
            '"shouting:whisper"',
            "toml:16: skills.shout.handler: there is no whisper in shouting",
        ),
        (
            '"shouting:shout"',
            '"whispering:whisper"',
            "toml:16: skills.shout.handler: there is no module whispering",
        ),
        (
            '"shouting:shout"',
            '"shouting:nothing"',
            "skills.shout.handler: shouting:nothing is not callable; name a function or a class",
        ),
        (
            'handler = "shouting:shout"\n',
            "",
            r"toml:14: skills.shout: shout: no service and no handler; .* handler = ",
        ),
        (
            'skills = ["shout"]',
            'skills = ["sing"]',
            r"toml:27: surfaces\[1\].skills: unknown skill sing; use one of shout, or add",
        ),
        (
            'dialects = ["0.3"]',
            'dialects = ["0.9"]',
            "unknown value; use one of 1.0, 1.1-draft, 0.3, mesh",
        ),
        (
            'tags = ["loud"]',
            "require = [{ staff = [] }]",
            r"a2a.toml:17: skills.shout.require\[0\]: unknown auth 'staff'",
        ),
        (
            'auth = "bearer"',
            'auth = "magic"',
            (
                r"a2a.toml:22: surfaces\[0\].auth: unknown auth 'magic'; "
                r"use one of bearer, open, or add"
            ),
        ),
        (
            'path = "/b"',
            'path = "/a"',
            r"a2a.toml:25: surfaces\[1\].path: surfaces\[0\] already has the path /a",
        ),
        (
            'dialects = ["0.3"]\nskills = ["shout"]',
            'skill_id = "shoot"',
            r"toml:26: surfaces\[1\].skill_id: unknown skill shoot",
        ),
        ('path = "/b"', 'path = "b"', "begins with a slash"),
        ('auth = "bearer"', 'atuh = "bearer"', r"a2a.toml:22: surfaces\[0\].atuh: unknown setting"),
        (
            "[limits]",
            "[limits]\nconcurency = 5",
            r"limits.concurency: unknown setting; did you mean concurrency\?",
        ),
        (
            "[outputs]",
            '[auth.a]\nkind = "jwt"\n[outputs]',
            (
                r"a2a.toml:33: auth.a.issuer: missing; "
                r"add issuer = .*\n.*:33: auth.a.audience: missing; add audience"
            ),
        ),
        (
            "[outputs]",
            "[rates]\noperations = {Send = {requests = 1, seconds = 1}}\n[outputs]",
            r"a2a.toml:34: rates.operations.Send: .* SendMessage",
        ),
    ],
    ids=lambda value: value[:20],
)
def test_mistakes_in_a_project_file_are_reported(
    shouting_folder: Path, old: str, new: str, error: str
) -> None:
    """Each mistake is reported with its line and path."""
    (shouting_folder / "a2a.toml").write_text(PROJECT.replace(old, new))
    with pytest.raises(ProjectConfigError, match=error):
        load_project(shouting_folder, {})


def test_a_project_sets_limits_and_rates(shouting_folder: Path) -> None:
    """Sizes, concurrency and rates hold for all of its surfaces."""
    limits = "[limits]\nparts = 2\npart_bytes = 30\ndepth = 4\nhistory = 5\nconcurrency = 6\n"
    rates = '[rates]\nshared = true\noperations = {"*" = {requests = 7, seconds = 60}}\n'
    (shouting_folder / "a2a.toml").write_text(
        PROJECT.replace("[limits]\n", limits).replace("[outputs]", f"{rates}[outputs]")
    )
    for surface in load_project(shouting_folder, {}).surfaces:
        assert surface.limits == Limits(
            body_bytes=1000, parts=2, part_bytes=30, depth=4, history=5, concurrency=6
        )
        assert surface.rate_limiter is not None
        assert surface.rate_limiter.shared


def test_a_project_configures_gates(shouting_folder: Path) -> None:
    """One table configures the gate, the card and the OpenAPI document."""
    entry = f'[auth.people]\nkind = "basic"\nusers = {{ada = "{hash_password("s3cret-word")}"}}\n'
    (shouting_folder / "a2a.toml").write_text(
        PROJECT.replace('auth = "bearer"', 'auth = "people"').replace(
            "[outputs]", f"{entry}[outputs]"
        )
    )
    with TestClient(
        create_app(*load_project(shouting_folder, {}).surfaces, store="memory")
    ) as client:
        assert client.get("/a/tasks").headers["www-authenticate"].startswith("Basic")
        assert client.get("/a/tasks", auth=("ada", "s3cret-word")).status_code == 200
        assert client.get("/a/tasks", auth=("ada", "another")).status_code == 401
        card = client.get("/a/.well-known/agent-card.json").json()
        assert card["securitySchemes"]["people"]["httpAuthSecurityScheme"] == {"scheme": "Basic"}
        document = client.get("/schema/openapi.json").json()
        assert document["components"]["securitySchemes"]["a-people"] == {
            "type": "http",
            "scheme": "Basic",
        }
        assert document["paths"]["/a/tasks"]["get"]["security"] == [{"a-people": []}]


def test_a_project_protects_a_skill(shouting_folder: Path) -> None:
    """A skill can require more than its surface, and be hidden from callers without it."""
    key = "k" * 40
    entries = (
        f'[auth.jobs]\nkind = "api-keys"\nkeys = {{ {digest_key(key)} = "night" }}\nscopes = '
        '["shout"]\n'
        f'[auth.people]\nkind = "basic"\nusers = {{ ada = "{hash_password("s3cret-word")}" }}\n'
        '[auth.all]\nany_of = ["jobs", "people"]\n'
    )
    skill = 'require = [{ jobs = ["shout"] }]\nonly_extended = true\ntags = ["loud"]'
    text = (
        PROJECT.replace('auth = "bearer"', 'auth = "all"')
        .replace('tags = ["loud"]', skill)
        .replace("[outputs]", f"{entries}[outputs]")
    )
    (shouting_folder / "a2a.toml").write_text(
        text.partition('[[surfaces]]\npath = "/b"')[0] + text[text.index("[limits]") :]
    )
    with TestClient(
        create_app(*load_project(shouting_folder, {}).surfaces, store="memory")
    ) as client:
        assert client.get("/a/.well-known/agent-card.json").json()["skills"] == []
        body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
        assert client.post("/a/message:send", json=body, headers={"X-API-Key": key}).json()["task"][
            "artifacts"
        ]
        assert client.get("/a/tasks", auth=("ada", "s3cret-word")).status_code == 200
        assert client.post(
            "/a/message:send", json=body, auth=("ada", "s3cret-word")
        ).is_client_error


WHISPER = '[skills.whisper]\ndescription = "Says it quietly."\nhandler = "shouting:whisper"\n'
ROUTER = (
    "def choose(message, caller):\n    return 'shout' if message.parts[0].text.endswith('!') "
    "else None\n\n\n"
)


def test_a_project_says_which_skill_answers(shouting_folder: Path) -> None:
    """A router of the project selects the skill of a message that names none, else the default
    skill of the file answers.
    """
    text = PROJECT.replace("[[surfaces]]", f"{WHISPER}default = true\n\n[[surfaces]]", 1).replace(
        'auth = "bearer"\n', ""
    )
    text = text.replace('version = "1.2.3"', 'version = "1.2.3"\nrouter = "shouting:choose"')
    (shouting_folder / "a2a.toml").write_text(
        text.partition('[[surfaces]]\npath = "/b"')[0] + text[text.index("[limits]") :]
    )
    (shouting_folder / "shouting.py").write_text(
        f"{ROUTER}{SKILLS}\ndef whisper(ctx):\n    return ctx.text.lower()\n"
    )
    with TestClient(
        create_app(*load_project(shouting_folder, {}).surfaces, store="memory")
    ) as client:
        for said, result in (("Hi", "hi"), ("Hi!", "HI!")):
            body = {"message": {"messageId": said, "role": "ROLE_USER", "parts": [{"text": said}]}}
            assert client.post("/a/message:send", json=body).json()["task"]["artifacts"][0][
                "parts"
            ] == [{"text": result}]


def test_a_project_has_one_default_skill_and_its_router_exists(shouting_folder: Path) -> None:
    """A second default skill and a missing router are errors that name their setting."""
    text = PROJECT.replace("timeout = 5", f"default = true\n\n{WHISPER}default = true")
    (shouting_folder / "a2a.toml").write_text(text)
    with pytest.raises(
        ProjectConfigError,
        match=r"skills\.shout is the default already; keep default = true on one of them",
    ):
        load_project(shouting_folder, {})
    (shouting_folder / "a2a.toml").write_text(
        PROJECT.replace('version = "1.2.3"', 'version = "1.2.3"\nrouter = "shouting:chose"')
    )
    with pytest.raises(ProjectConfigError, match="there is no chose in shouting"):
        load_project(shouting_folder, {})


def test_a_folder_without_a_project_is_an_error(tmp_path: Path) -> None:
    """The error names both ways to go on."""
    with pytest.raises(ProjectConfigError, match=r"a2a.toml: not found [\s\S]*create_app"):
        load_project(tmp_path, {})


def test_the_environment_configures_an_app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Apps built in Python read the environment too, unless they are given settings."""
    monkeypatch.setenv("A2A_HSTS_SECONDS", "60")
    monkeypatch.setenv("A2A_STORE", f"sqlite:///{tmp_path}/tasks.db")
    for app, seen in (
        (create_app(build_test_agent()), "max-age=60; includeSubDomains"),
        (create_app(build_test_agent(), settings=Settings()), None),
    ):
        with TestClient(app) as client:
            assert (
                client.get("/.well-known/agent-card.json").headers.get("strict-transport-security")
                == seen
            )
    with TestClient(Litestar(plugins=[A2APlugin(build_test_agent(), gate=OpenGate())])):
        assert (tmp_path / "tasks.db").exists()
