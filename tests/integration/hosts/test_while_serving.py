"""Agents of an app while it serves: those added and removed, the catalog of all of them, tasks of
the host's own code, and its command line.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from integration.host_app import books, build_saying_agent
from integration.hosts.users import MESSAGE, build_agent
from integration.outcome_agent import serve_on_socket
from litestar import Litestar, get
from litestar.cli.main import litestar_group
from litestar.exceptions import ImproperlyConfiguredException

from a2a_contract.errors import TaskNotFoundError, UnavailableError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth import ApiKeyAuthenticator, AuthGate, Identity, OpenGate, digest_key
from a2a_runtime.base.caller import Caller
from a2a_runtime.client import A2AClient, CardNotFoundError, InvalidResponseError, read_catalog
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.catalog.document import CATALOG_PATH
from a2a_runtime.local import connect
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.anyio

KEY = "k" * 32
GATE = AuthGate(ApiKeyAuthenticator({digest_key(KEY): Identity("ada")}))


@asynccontextmanager
async def serve(
    *surfaces: Surface | Agent, host: bool = True, store: str | None = None
) -> AsyncIterator[tuple[A2APlugin, Litestar, httpx.AsyncClient]]:
    """Run an app with agents in this event loop."""
    given = [
        Surface(each, "/agent", gate=OpenGate()) if isinstance(each, Agent) else each
        for each in surfaces
    ]
    app = (
        Litestar(
            [books],
            plugins=[A2APlugin(*given, store=store, settings=FAST_SETTINGS)],
            logging_config=None,
        )
        if host
        else create_app(*given, settings=FAST_SETTINGS)
    )
    plugin = app.plugins.get(A2APlugin)
    async with (
        app.lifespan(),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://host.example"
        ) as client,
    ):  # type: ignore[arg-type]
        yield plugin, app, client


async def ask(client: httpx.AsyncClient, path: str) -> str:
    """Send a message to the agent at a path and return its answer, or the status of the error."""
    response = await client.post(f"{path}/message:send", json=MESSAGE)
    if response.is_success:
        return str(response.json()["task"]["artifacts"][0]["parts"][0]["text"])
    return str(response.status_code)


@pytest.mark.parametrize("host", [True, False], ids=["host", "agents alone"])
async def test_an_agent_is_added_and_removed(
    host: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Its routes, card and document come and go, also at paths that were asked for before; others
    do not notice.
    """
    async with serve(build_saying_agent("one"), host=host) as (plugin, _, client):
        for _ in range(2):
            assert await ask(client, "/two") == "404"
            await plugin.add(build_saying_agent("two"), path="/two", gate=OpenGate())
            assert await ask(client, "/two") == "two"
            assert (await client.get("/two/.well-known/agent-card.json")).json()["name"] == "two"
            assert (
                await client.post(
                    "/two",
                    json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": MESSAGE},
                )
            ).status_code == 200
            assert "/two/message:send" in (await client.get("/schema/openapi.json")).json()["paths"]
            await plugin.remove("/two")
            assert await ask(client, "/two") == "404"
            assert (await client.get("/two/.well-known/agent-card.json")).status_code == 404
            assert (await client.post("/two", json={})).status_code == 404
            assert (
                "/two/message:send"
                not in (await client.get("/schema/openapi.json")).json()["paths"]
            )
            assert await ask(client, "/agent") == "one"


async def test_dependencies_of_an_added_agent_live_as_long_as_it_is_there(tmp_path: Path) -> None:
    """They are open before its first run, and close after the last one: a running task is given up
    and can be run again.
    """
    log: list[str] = []
    agent = Agent("late")

    async def open_pool() -> AsyncIterator[str]:
        log.append("+pool")
        yield "pool"
        log.append("-pool")

    agent.provide(pool=open_pool)

    @agent.skill("wait")
    async def wait(ctx: TaskContext, pool: str) -> str:
        if ctx.attempt > 1:
            return pool
        try:  # a reader of the store may see the status before this handler goes on
            await ctx.status(pool)
            await asyncio.sleep(1000)
        finally:
            log.append("run ended")
        return ""

    async with serve(build_saying_agent("one"), store=f"sqlite:///{tmp_path}/tasks.db") as (
        plugin,
        app,
        client,
    ):
        await plugin.add(agent, path="/late", gate=OpenGate())
        local = connect(app, Caller(), "/late")
        task = await local.send("go", wait=False)
        assert isinstance(task, Task)
        stream = asyncio.create_task(client.get(f"/late/tasks/{task.id}:subscribe"))
        async for event in local.subscribe(task):
            if "pool" in str(event):
                break
        await plugin.remove("/late")
        assert log == ["+pool", "run ended", "-pool"]
        assert "error" in (await stream).text
        with pytest.raises(UnavailableError, match="the agent was removed"):
            await local.get(task)
        await plugin.add(agent, path="/late", gate=OpenGate())
        again = await asyncio.wait_for(_settle(connect(app, Caller(), "/late"), task), 20)
        assert again.artifacts
    assert log[-1] == "-pool"


async def _settle(client: A2AClient, task: Task) -> Task:
    async for _ in client.subscribe(task):
        pass
    return await client.get(task)


async def test_what_cannot_be_added_is_refused() -> None:
    """The app goes on as it was."""
    one = build_saying_agent("one")
    async with serve(one) as (plugin, _, client):
        for surface, message in (
            (
                Surface(build_saying_agent("x"), "/agent", gate=OpenGate()),
                "another agent has the same path",
            ),
            (Surface(build_saying_agent("x"), "/x"), "nothing identifies its callers"),
            (Surface(one, "/x", gate=OpenGate()), "its agent is mounted already"),
        ):
            with pytest.raises((ValueError, ImproperlyConfiguredException), match=message):
                await plugin.add(surface)
            assert await ask(client, "/x") == "404"
        with pytest.raises(ImproperlyConfiguredException, match="its route /books is taken"):
            await plugin.add(build_saying_agent("x"), path="/books", gate=OpenGate())
        with pytest.raises(ValueError, match="no agent at '/y'; the paths are /agent"):
            await plugin.remove("/y")
        assert await ask(client, "/agent") == "one"
    with pytest.raises(RuntimeError, match="the app is not running"):
        await plugin.remove()


async def test_the_host_starts_a_task_for_a_caller_and_follows_it() -> None:
    """The task is that of the caller: others do not find it, whether they come over HTTP or not."""
    async with serve(Surface(build_agent(), "/agent", gate=GATE)) as (_, app, client):
        ada = connect(app, Caller("ada"))
        bob = connect(app, Caller("bob"), "/agent")
        events = [event async for event in ada.stream("hi")]
        assert isinstance(events[0], Task)
        task = await ada.get(events[0].id)
        assert task.status.state == State.COMPLETED
        assert "ada" in str(task.artifacts)
        assert [each.id async for each in ada.list()] == [task.id]
        assert [each async for each in bob.list()] == []
        with pytest.raises(TaskNotFoundError):
            await bob.get(task)
        assert (await client.get(f"/agent/tasks/{task.id}", headers={"X-API-Key": KEY})).json()[
            "id"
        ] == task.id
        assert (await ada.get_card()).name == "who"
        sent = await ada.send("again")
        assert isinstance(sent, Task)
        with pytest.raises(ValueError, match="no agent at this path; pass one of /agent"):
            connect(app, Caller("ada"), "/nowhere")
        with pytest.raises(ValueError, match="the app has no A2APlugin"):
            connect(Litestar([]), Caller("ada"))
    with pytest.raises(UnavailableError, match="lifespan of its app has not run"):
        await ada.get(task)


async def test_a_question_is_answered_by_the_host() -> None:
    """The host answers a question of a task as any client does."""
    agent = Agent("asks")

    @agent.skill("ask")
    async def ask_name(ctx: TaskContext) -> str:
        return f"Hello, {(await ctx.ask('Who?')).text}"

    async with serve(agent) as (_, app, _client):
        client = connect(app, Caller("ada"))
        task = await client.send("hi")
        assert isinstance(task, Task)
        assert task.status.state == State.INPUT_REQUIRED
        assert "Hello, Ada" in str(await client.send("Ada", task=task))
        other = await client.send("hi", wait=False)
        assert isinstance(other, Task)
        assert (await client.cancel(other)).status.state == State.CANCELED


@pytest.fixture(scope="module")
def catalog_server() -> Iterator[httpx.Client]:
    """An app with a public agent and one whose card is not."""
    public = Surface(build_saying_agent("public"), "/public", gate=OpenGate())
    secret = Surface(build_saying_agent("secret"), "/secret", gate=GATE, public_card=False)
    with serve_on_socket(
        Litestar(plugins=[A2APlugin(public, secret, settings=FAST_SETTINGS)], logging_config=None)
    ) as client:
        yield client


async def test_a_catalog_lists_the_agents_of_a_host_for_each_caller(
    catalog_server: httpx.Client,
) -> None:
    """Clients find the card of each, and call it; an agent whose card is not public is listed for
    those who may read it.
    """
    url = str(catalog_server.base_url)
    async with httpx.AsyncClient() as http:
        response = await http.get(url + CATALOG_PATH)
        with_wrong_key = await http.get(url + CATALOG_PATH, headers={"X-API-Key": "wrong"})
    assert with_wrong_key.json() == response.json()
    assert response.headers["content-type"] == "application/ai-catalog+json"
    assert response.headers["cache-control"] == "private, no-store"
    assert {"specVersion", "host", "entries"} == response.json().keys()
    assert {"identifier", "displayName", "type", "url", "version"} <= response.json()["entries"][
        0
    ].keys()
    (entry,) = await read_catalog(url)
    assert (entry.name, entry.url) == ("public", f"{url}/public/.well-known/agent-card.json")
    async with A2AClient(entry.url) as client:
        assert "public" in str(await client.send("hi"))

    class Key(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
            request.headers["X-API-Key"] = KEY
            yield request

    assert [each.name for each in await read_catalog(f"{url}/anything", auth=Key())] == [
        "public",
        "secret",
    ]


async def test_a_catalog_is_read_with_care() -> None:
    """Entries of other kinds and URLs of other schemes are left out; what is no catalog is an error
    with its cure.
    """
    card = "application/a2a-agent-card+json"
    entries = [
        {"type": card, "url": "/a/card.json", "displayName": "a", "tags": ["x", 1], "more": {}},
        {"mediaType": card, "url": "https://b.example/card.json"},
        {"type": "application/mcp-server-card+json", "url": "https://c.example"},
        {"type": card, "url": "javascript:alert(1)"},
        {"type": card, "url": "http://[broken"},
        {"type": card},
        "text",
    ]
    bodies = {
        "/cat.json": json.dumps({"entries": entries}),
        "/list.json": "[]",
        "/html.json": "<html>",
    }

    def respond(request: httpx.Request) -> httpx.Response:
        body = bodies.get(request.url.path)
        if body is None:
            return httpx.Response(404)
        return httpx.Response(200, text=body)

    transport = httpx.MockTransport(respond)
    found = await read_catalog("https://a.example/cat.json", transport=transport)
    assert [each.url for each in found] == [
        "https://a.example/a/card.json",
        "https://b.example/card.json",
    ]
    assert (found[0].name, found[0].tags) == ("a", ("x",))
    for path in ("/list.json", "/html.json"):
        with pytest.raises(InvalidResponseError, match="not a catalog"):
            await read_catalog(f"https://a.example{path}", transport=transport)
    with pytest.raises(
        CardNotFoundError,
        match=r"No catalog at https://a.example/x/.well-known/ai-catalog.json, https://a.example/.well-known",
    ):
        await read_catalog("https://a.example/x", transport=transport)


def test_a_host_keeps_its_own_catalog() -> None:
    """A catalog of the host is served in place of ours."""

    @get(CATALOG_PATH)
    async def own() -> dict[str, str]:
        return {"mine": "yes"}

    app = Litestar(
        [own],
        plugins=[A2APlugin(build_agent(), gate=OpenGate(), settings=FAST_SETTINGS)],
        logging_config=None,
    )
    with serve_on_socket(app) as client:
        assert client.get(CATALOG_PATH).json() == {"mine": "yes"}


def test_the_command_line_of_the_host_shows_its_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of them, a card, and whether the store can be opened."""
    monkeypatch.setenv("LITESTAR_APP", f"{__name__}:command_line_app")
    monkeypatch.syspath_prepend(".")
    runner = CliRunner()

    def run(*arguments: str) -> str:
        result = runner.invoke(
            litestar_group, ["--app", f"{__name__}:command_line_app", "a2a", *arguments]
        )
        assert result.exit_code in {0, 1, 2}, result.output
        return result.output

    assert [line.split()[:2] for line in run("agents").splitlines()] == [
        ["PATH", "AGENT"],
        ["/one", "one"],
        ["/two", "two"],
    ]
    assert "apiKey" in run("agents")
    assert (
        json.loads(run("card", "/one", "--url", "https://shop.example"))["supportedInterfaces"][0][
            "url"
        ]
        == "https://shop.example/one"
    )
    assert "use one of /one, /two" in run("card")
    assert "can be used" in run("check")


_SURFACES = (
    Surface(build_saying_agent("one"), "/one", gate=OpenGate()),
    Surface(build_saying_agent("two"), "/two", gate=GATE),
)
command_line_app = Litestar(
    plugins=[A2APlugin(*_SURFACES, store="memory", settings=FAST_SETTINGS)], logging_config=None
)
