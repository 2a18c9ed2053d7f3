"""Whole apps: of agents, of a project, and served on a port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from integration.dialect_client import DialectBinding, DialectClient
from integration.outcome_agent import build_test_agent, build_test_app
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
from a2a_runtime.testing.ports import find_free_port

NEW = DialectBinding(V1_0.name, is_jsonrpc=True)
SKILLS = "async def shout(ctx):\n    return ctx.text.upper()\n\n\nnothing = 7\n"
PROJECT = """
dialects = ["1.0"]
store = "sqlite:///tasks.db"

[agent]
name = "shouter"
description = "Shouts."
version = "1.2.3"
provider = {organization = "ACME", url = "https://acme.example"}

[capabilities]
extensions = [{uri = "https://example.org/x"}]

[skills.shout]
description = "Says it louder."
handler = "shouting:shout"
tags = ["loud"]
timeout = 5

[[surfaces]]
path = "/a"
auth = "bearer"

[[surfaces]]
path = "/b"
dialects = ["0.3"]
skills = ["shout"]

[limits]
body_bytes = 1000
shutdown_grace = 1

[outputs]
package = "shouter.contract"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a project."""
    (tmp_path / "a2a.toml").write_text(PROJECT)
    (tmp_path / "shouting.py").write_text(SKILLS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("shouting", None)


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


def test_a_project_is_read(folder: Path) -> None:
    """The project file describes the agent and its surfaces; it is found from folders below, and
    the environment overrides it.
    """
    (folder / "deep" / "down").mkdir(parents=True)
    project = load_project(folder / "deep" / "down", {"A2A_DEADLINE_CHECK_INTERVAL": "0.5"})
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
        load_project(folder, {"A2A_STORE": "sqlite:///other.db"}).settings.store
        == "sqlite:///other.db"
    )


def test_the_version_of_an_agent_has_one_default(folder: Path) -> None:
    """The same in Python and in a project file."""
    (folder / "a2a.toml").write_text(PROJECT.replace('version = "1.2.3"\n', ""))
    assert {surface.agent.version for surface in load_project(folder, {}).surfaces} == {
        Agent("one").version
    }


def test_retention_is_a_setting(folder: Path) -> None:
    """Of the project file and of the environment, which takes precedence; 0 keeps for ever."""
    (folder / "a2a.toml").write_text(
        PROJECT + "[retention]\ntasks = 0\nmessages = 7\nmemory_tasks = 9\n"
    )
    settings = load_project(folder, {"A2A_MEMORY_MAX_TASKS": "5"}).settings
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
    folder: Path, old: str, new: str, error: str
) -> None:
    """Each mistake is reported with its line and path."""
    (folder / "a2a.toml").write_text(PROJECT.replace(old, new))
    with pytest.raises(ProjectConfigError, match=error):
        load_project(folder, {})


def test_a_project_sets_limits_and_rates(folder: Path) -> None:
    """Sizes, concurrency and rates hold for all of its surfaces."""
    limits = "[limits]\nparts = 2\npart_bytes = 30\ndepth = 4\nhistory = 5\nconcurrency = 6\n"
    rates = '[rates]\nshared = true\noperations = {"*" = {requests = 7, seconds = 60}}\n'
    (folder / "a2a.toml").write_text(
        PROJECT.replace("[limits]\n", limits).replace("[outputs]", f"{rates}[outputs]")
    )
    for surface in load_project(folder, {}).surfaces:
        assert surface.limits == Limits(
            body_bytes=1000, parts=2, part_bytes=30, depth=4, history=5, concurrency=6
        )
        assert surface.rate_limiter is not None
        assert surface.rate_limiter.shared


def test_a_project_configures_gates(folder: Path) -> None:
    """One table configures the gate, the card and the OpenAPI document."""
    entry = f'[auth.people]\nkind = "basic"\nusers = {{ada = "{hash_password("s3cret-word")}"}}\n'
    (folder / "a2a.toml").write_text(
        PROJECT.replace('auth = "bearer"', 'auth = "people"').replace(
            "[outputs]", f"{entry}[outputs]"
        )
    )
    with TestClient(create_app(*load_project(folder, {}).surfaces, store="memory")) as client:
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


def test_a_project_protects_a_skill(folder: Path) -> None:
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
    (folder / "a2a.toml").write_text(
        text.partition('[[surfaces]]\npath = "/b"')[0] + text[text.index("[limits]") :]
    )
    with TestClient(create_app(*load_project(folder, {}).surfaces, store="memory")) as client:
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


def test_a_project_says_which_skill_answers(folder: Path) -> None:
    """A router of the project selects the skill of a message that names none, else the default
    skill of the file answers.
    """
    text = PROJECT.replace("[[surfaces]]", f"{WHISPER}default = true\n\n[[surfaces]]", 1).replace(
        'auth = "bearer"\n', ""
    )
    text = text.replace('version = "1.2.3"', 'version = "1.2.3"\nrouter = "shouting:choose"')
    (folder / "a2a.toml").write_text(
        text.partition('[[surfaces]]\npath = "/b"')[0] + text[text.index("[limits]") :]
    )
    (folder / "shouting.py").write_text(
        f"{ROUTER}{SKILLS}\ndef whisper(ctx):\n    return ctx.text.lower()\n"
    )
    with TestClient(create_app(*load_project(folder, {}).surfaces, store="memory")) as client:
        for said, result in (("Hi", "hi"), ("Hi!", "HI!")):
            body = {"message": {"messageId": said, "role": "ROLE_USER", "parts": [{"text": said}]}}
            assert client.post("/a/message:send", json=body).json()["task"]["artifacts"][0][
                "parts"
            ] == [{"text": result}]


def test_a_project_has_one_default_skill_and_its_router_exists(folder: Path) -> None:
    """Both errors name their setting."""
    text = PROJECT.replace("timeout = 5", f"default = true\n\n{WHISPER}default = true")
    (folder / "a2a.toml").write_text(text)
    with pytest.raises(
        ProjectConfigError,
        match=r"skills\.shout is the default already; keep default = true on one of them",
    ):
        load_project(folder, {})
    (folder / "a2a.toml").write_text(
        PROJECT.replace('version = "1.2.3"', 'version = "1.2.3"\nrouter = "shouting:chose"')
    )
    with pytest.raises(ProjectConfigError, match="there is no chose in shouting"):
        load_project(folder, {})


def test_a_folder_without_a_project_is_an_error(tmp_path: Path) -> None:
    """The error names both ways to go on."""
    with pytest.raises(ProjectConfigError, match=r"a2a.toml: not found [\s\S]*create_app"):
        load_project(tmp_path, {})


def test_importing_the_module_of_the_app_reads_nothing(tmp_path: Path) -> None:
    """The app of the project is built on first access."""
    code = "import a2a_runtime.app as app; app.create_app; print('fine')"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == "fine\n", found.stderr


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


def environment() -> dict[str, str]:
    """Let a subprocess find the packages of this process."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "A2A_CANCEL_GRACE": "0.2"}


def run(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command in a folder."""
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ask(port: int, process: subprocess.Popen[str]) -> httpx.Response:
    """Ask a server for a card, as soon as it has started."""
    for _ in range(1200):
        assert process.poll() is None, process.communicate()[0]
        try:
            return httpx.get(
                f"http://127.0.0.1:{port}/a/.well-known/agent-card.json", trust_env=False
            )
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail("the server did not start")


SERVE = "from a2a_runtime.cli.serve import command; command()"
SERVERS = [
    ("-c", SERVE),
    ("-m", "litestar", "--app", "a2a_runtime.app:app", "run"),
    ("-m", "uvicorn", "a2a_runtime.app:app"),
]


@pytest.mark.parametrize("command", SERVERS, ids=["a2a-gen serve", "litestar run", "uvicorn"])
def test_a_project_is_served(folder: Path, command: tuple[str, ...]) -> None:
    """By our own command and by those that people have; it stops when it is told to, and says that
    all was well.
    """
    port = find_free_port()
    server = run(folder, *command, "--port", str(port))
    try:
        assert ask(port, server).json()["name"] == "shouter"
    finally:
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=120)
    if command == SERVERS[0]:
        assert server.returncode == 0, output
    assert (folder / "tasks.db").exists()


WHO_CALLS = """
async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            await send({"type": (await receive())["type"] + ".complete"})
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["client"][0].encode()})
"""


@pytest.mark.parametrize(
    ("words", "caller"),
    [((), "127.0.0.1"), (("--forwarded-allow-ips", "127.0.0.1"), "10.0.0.1")],
    ids=["nobody", "a proxy"],
)
def test_only_trusted_proxies_set_the_client_address(
    tmp_path: Path, words: tuple[str, ...], caller: str
) -> None:
    """The client is the connected address unless that is a trusted proxy; no log contains the query
    of a request, where keys may be.
    """
    (tmp_path / "who.py").write_text(WHO_CALLS)
    port = find_free_port()
    server = run(tmp_path, "-c", SERVE, "who:asgi", "--port", str(port), *words)
    try:
        ask(port, server)
        url = f"http://127.0.0.1:{port}/tasks?key=hush"
        assert (
            httpx.get(url, headers={"x-forwarded-for": "10.0.0.1"}, trust_env=False).text == caller
        )
    finally:
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=120)
    assert "GET /tasks 200 in" in output
    assert "hush" not in output


AGENT = (
    "from a2a_runtime import Agent, create_app\nagent = Agent('a', "
    "description='b')\nagent.add('c', lambda ctx: 'd')\napp = create_app(agent)\n"
)
STORES = ("sqlite:////nowhere/tasks.db", "sqlit:///tasks.db", "postgresql://ada@127.0.0.1:1/tasks")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nowhere:app",), 1, "nowhere"),
        (("shouting:app",), 1, "module:attribute"),
        ((), 1, "a2a.toml: not found"),
        (
            ("agent:app", "--mcp", "python -m tools"),
            1,
            "agent:app: not served beside --extensions-dir or --mcp; leave it out",
        ),
        (("--prt", "1"), 1, "'--port'"),
        (("tokens:app",), 1, "pip install 'a2a-gen[auth]'"),
        (("shouting:nothing", "--ssl-certfile", "shouting.py"), 1, "give files with a certificate"),
        (
            ("shouting:nothing", "--port", "{taken}"),
            2,
            "address already in use; stop what runs there",
        ),
        pytest.param(
            ("agent:app", "--store", STORES[0]),
            2,
            "/nowhere/tasks.db: the folder does not exist; create it",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            ("agent:app", "--store", STORES[1]),
            1,
            "is not a store URL; use memory",
            marks=pytest.mark.soak,
        ),
        (("agent:app", "--store", STORES[2]), 2, "check that the server runs"),
        (("agent:app", "--env-file", "variables"), 1, "is not a store URL; use memory"),
        (
            ("agent:app", "--check", "--store", STORES[0]),
            2,
            "/nowhere/tasks.db: the folder does not exist; create it",
        ),
        (
            ("agent:app", "--check", "--store", "sqlite:///."),
            2,
            ".: a folder; name a file in it, such as tasks.db",
        ),
        pytest.param(
            ("agent:app", "--check", "--store", STORES[1]),
            1,
            "is not a store URL; use memory",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_a_start_that_fails_is_one_line_and_an_exit_code(
    tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    """1 for a configuration that cannot be used, 2 for a start that fails."""
    (tmp_path / "shouting.py").write_text(
        SKILLS.replace("nothing = 7", "from litestar import Litestar\nnothing = Litestar()")
    )
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "tokens.py").write_text("raise ModuleNotFoundError(name='jwt')\n")
    (tmp_path / "variables").write_text(f"A2A_STORE={STORES[1]}\n")
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        port = str(taken.getsockname()[1])
        free = str(other.getsockname()[1])
        other.close()
        arguments = [word.format(taken=port) for word in words]
        server = run(
            tmp_path, "-c", SERVE, *arguments, *(() if "--port" in words else ("--port", free))
        )
        output, _ = server.communicate(timeout=120)
    assert server.returncode == code, output
    assert said in output.splitlines()[-1]
    assert "Traceback" not in output


def test_a_check_opens_the_store(tmp_path: Path) -> None:
    """Also beside a process that runs on it; what could be served is printed."""
    (tmp_path / "agent.py").write_text(AGENT)
    for _ in range(2):
        check = run(tmp_path, "-c", SERVE, "agent:app", "--check", "--store", "sqlite:///tasks.db")
        output, _ = check.communicate(timeout=120)
        assert (check.returncode, output) == (0, "ready to serve: a at /, 1 skill; SqliteStore\n")
    assert (tmp_path / "tasks.db").exists()


def test_an_app_that_raises_at_start_shows_where(tmp_path: Path) -> None:
    """Its traceback begins at its own code."""
    (tmp_path / "broken.py").write_text(
        "from litestar import Litestar\n\ndef fail():\n    raise KeyError('tea')\n\napp = "
        "Litestar(on_startup=[fail])\n"
    )
    server = run(tmp_path, "-c", SERVE, "broken:app", "--port", "0")
    output, _ = server.communicate(timeout=120)
    assert server.returncode == 2, output
    assert "in fail" in output
    assert output.splitlines()[-1] == "KeyError: 'tea'"
