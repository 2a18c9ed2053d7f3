"""Files of `a2a-gen init --deploy`: checked by the tools of their formats, their commands by ours,
their proxy in front of agents.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import asyncpg
import click
import httpx
import pytest
import yaml
from integration.client.tls_proxy import Authority
from integration.outcome_agent import build_test_agent, build_test_app, serve_on_socket
from peers.debian import unpack
from peers.environments import interpreter
from style.deployment_example import FOLDER, read_files, render_files

from a2a_gen.entry import main
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.cli import db, serve, worker
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface
from a2a_runtime.testing.ports import find_free_port

DOCUMENTS = {
    path.relative_to(FOLDER).as_posix(): list(yaml.safe_load_all(path.read_text()))
    for path in sorted(FOLDER.rglob("*.yaml"))
}

UNITS = {path.name: path.read_text() for path in sorted((FOLDER / "deploy" / "systemd").iterdir())}


def run_tool(name: str, *words: str) -> str:
    """Run a tool on the example; its output is that of a check without findings."""
    done = subprocess.run(
        [str(interpreter("deployment-tools").with_name(name)), *words],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def find_containers() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Find the pods of the manifests, with their containers."""
    for name, documents in DOCUMENTS.items():
        for document in documents:
            pod = document.get("spec", {}).get("template", {}).get("spec")
            for container in (pod or {}).get("containers", ()):
                yield name, pod, container


def find_commands() -> Iterator[tuple[str, list[str]]]:
    """Find the commands of ours in all files."""
    for name, _, container in find_containers():
        yield name, container["args"]
    for service in DOCUMENTS["compose.yaml"][0]["services"].values():
        if "build" in service:
            yield "compose.yaml", service["command"]
    for unit in UNITS.values():
        for line in re.findall(r"^Exec\w+=\S+/a2a-gen (.*)$", unit, re.MULTILINE):
            yield "systemd", line.replace("%i", "8000").split()
    (line,) = re.findall(r"^CMD (.*)$", (FOLDER / "Dockerfile").read_text(), re.MULTILINE)
    yield "Dockerfile", yaml.safe_load(line)


def test_the_example_is_what_the_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run tests/style/deployment_example.py to update it.

    An existing project gets the same files, and none of its own is overwritten.
    """
    assert read_files(FOLDER) == render_files()
    monkeypatch.chdir(tmp_path)
    assert main(["init", "hello", "--deploy"]) == 0
    written = read_files(tmp_path / "hello")
    assert render_files().items() <= written.items()
    assert "a2a.toml" in written
    assert main(["init", "hello", "--deploy"]) == 2
    assert "already exists" in capsys.readouterr().err
    for name in render_files():
        (tmp_path / "hello" / name).unlink()
    monkeypatch.chdir(tmp_path / "hello")
    assert main(["init", ".", "--deploy"]) == 0
    assert read_files(tmp_path / "hello") == written


@pytest.mark.peer
def test_the_tools_of_the_formats_find_nothing() -> None:
    """Linters of Dockerfile, compose, Kubernetes and Caddy accept the deployment files."""
    assert run_tool("hadolint", "Dockerfile") == ""
    run_tool("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")
    for name in DOCUMENTS:
        if "kubernetes" in name:
            run_tool("kubernetes-validate", "--strict", name)
    assert "Valid configuration" in run_tool(
        "caddy", "validate", "--adapter", "caddyfile", "--config", "deploy/Caddyfile"
    )


def test_commands_have_options_of_ours() -> None:
    """Every command of every file is parsed as it is at a start."""
    groups: dict[str, click.Command] = {
        "serve": serve.command,
        "worker": worker.command,
        "db": db.command,
    }
    found = list(find_commands())
    assert {place for place, _ in found} == {
        "Dockerfile",
        "compose.yaml",
        "systemd",
        *{name for name, _, _ in find_containers()},
    }
    for _, (name, *words) in found:
        command = groups[name]
        options = words
        if isinstance(command, click.Group):
            command = command.commands[words[0]]
            options = words[1:]
        command.make_parser(click.Context(command, help_option_names=["-h", "--help"])).parse_args(
            [*options]
        )


def test_processes_get_the_time_to_stop() -> None:
    """It is longer than the delay, the open requests, the tasks and their cancellation have
    together.
    """

    def seconds(words: list[str], grace: str) -> int:
        options = dict(pairwise(words))
        requests = int(options.get("--drain-delay", "0")) + int(
            options.get("--drain", "10" if "serve" in words else "0")
        )
        return requests + int(grace) + int(Settings().cancel_grace)

    for _, pod, container in find_containers():
        variables = {each["name"]: each["value"] for each in container.get("env", ())}
        if "A2A_SHUTDOWN_GRACE" in variables:
            assert pod["terminationGracePeriodSeconds"] > seconds(
                container["args"], variables["A2A_SHUTDOWN_GRACE"]
            )
    for service in DOCUMENTS["compose.yaml"][0]["services"].values():
        if "build" in service:
            assert int(service["stop_grace_period"].removesuffix("s")) > seconds(
                service["command"], service["environment"]["A2A_SHUTDOWN_GRACE"]
            )
    for name in ("hello@.service", "hello-worker.service"):
        (limit,) = re.findall(r"^TimeoutStopSec=(\d+)", UNITS[name], re.MULTILINE)
        (line,) = re.findall(r"^ExecStart=\S+ (.*)$", UNITS[name], re.MULTILINE)
        assert int(limit) > seconds(line.split(), str(int(Settings().shutdown_grace)))


def test_a_deploy_leaves_the_number_of_replicas_alone() -> None:
    """A Deployment with an autoscaler names none itself: each apply would scale a busy agent down,
    and hand its tasks over.
    """
    documents = [each for found in DOCUMENTS.values() for each in found]
    scaled = {
        each["spec"]["scaleTargetRef"]["name"]
        for each in documents
        if "scaleTargetRef" in each.get("spec", {})
    }
    deployments = {
        each["metadata"]["name"]: each["spec"]
        for each in documents
        if each.get("kind") == "Deployment"
    }
    assert scaled == set(deployments) == {"hello", "hello-worker"}
    assert [name for name, spec in deployments.items() if "replicas" in spec] == []


def test_what_is_for_the_inside_stays_there() -> None:
    """Metrics and probes lead to a service without pods; only the ingress and Prometheus get to the
    pods.
    """
    ingress, nothing, policy = DOCUMENTS["deploy/kubernetes/ingress.yaml"]
    paths = {
        each["path"]: each["backend"]["service"]["name"]
        for each in ingress["spec"]["rules"][0]["http"]["paths"]
    }
    assert paths.pop("/") == "hello"
    assert set(paths) == {"/metrics", "/livez", "/readyz", "/ready", "/health"}
    assert set(paths.values()) == {nothing["metadata"]["name"]}
    assert "selector" not in nothing["spec"]
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert all(
        "namespaceSelector" in each for rule in policy["spec"]["ingress"] for each in rule["from"]
    )


def test_variables_are_settings_and_pods_get_no_others() -> None:
    """Each variable of ours is read without a problem, and no service of the cluster adds some."""
    variables = dict(DOCUMENTS["compose.yaml"][0]["x-agent"]["environment"])
    for _, pod, container in find_containers():
        variables |= {each["name"]: each["value"] for each in container.get("env", ())}
        assert (pod["enableServiceLinks"], pod["securityContext"]["runAsNonRoot"]) == (False, True)
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        # The path is in the container.
        assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108
        assert pod["volumes"] == [{"name": "tmp", "emptyDir": {}}]
    given = {name: value for name, value in variables.items() if not name.endswith("_FILE")}
    Settings.from_environment(given)


def test_workers_are_scaled_by_a_query_that_runs(postgres_url: str) -> None:
    """It is 0 for an empty queue."""
    assert main(["db", "upgrade", "--store", postgres_url]) == 0
    query = DOCUMENTS["deploy/kubernetes/worker-autoscaling.yaml"][1]["spec"]["triggers"][0][
        "metadata"
    ]["query"]

    async def fetch() -> object:
        connection = await asyncpg.connect(postgres_url)
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    assert asyncio.run(fetch()) == 0


@contextmanager
def run_caddy(folder: Path, *ports: int) -> Iterator[httpx.Client]:
    """Run the proxy of the example in front of agents on this machine."""
    own = find_free_port()
    admin = find_free_port()
    environment = {
        **os.environ,
        "PUBLIC_HOST": f"http://127.0.0.1:{own}",
        "AGENTS": " ".join(f"127.0.0.1:{port}" for port in ports),
        "CADDY_ADMIN": f"127.0.0.1:{admin}",
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    command = [
        str(interpreter("deployment-tools").with_name("caddy")),
        "run",
        "--adapter",
        "caddyfile",
        "--config",
        str(FOLDER / "deploy" / "Caddyfile"),
    ]
    with httpx.Client(base_url=f"http://127.0.0.1:{own}", timeout=30, trust_env=False) as client:
        yield from run_proxy(client, command, folder, environment)


NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/hello.conf;
}}
"""


@contextmanager
def run_nginx(folder: Path, *ports: int) -> Iterator[httpx.Client]:
    """Run nginx with the server block of the example, on a port and with a certificate of the
    test.
    """
    own = find_free_port()
    authority = Authority.at(folder)
    authority.server()
    server = (FOLDER / "deploy" / "nginx.conf").read_text()
    changes = {
        "127.0.0.1:8000": f"127.0.0.1:{ports[0]}",
        "127.0.0.1:8001": f"127.0.0.1:{ports[1]}",
        "listen 443 ssl": f"listen 127.0.0.1:{own} ssl",
        "/etc/ssl/agent/fullchain.pem": str(folder / "server.pem"),
        "/etc/ssl/agent/privkey.pem": str(folder / "server.pem"),
    }
    for old, new in changes.items():
        assert old in server
        server = server.replace(old, new)
    (folder / "hello.conf").write_text(server)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    command = [
        str(unpack("usr/sbin/nginx", "nginx") / "usr/sbin/nginx"),
        "-c",
        str(folder / "nginx.conf"),
        "-e",
        "stderr",
    ]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert (checked.returncode, "[warn]" in checked.stderr) == (0, False), checked.stderr
    with httpx.Client(
        base_url=f"https://127.0.0.1:{own}", timeout=30, trust_env=False, verify=authority.client()
    ) as client:
        yield from run_proxy(client, command, folder)


def run_proxy(
    client: httpx.Client,
    command: list[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Iterator[httpx.Client]:
    """Run a proxy, and yield its client when it answers."""
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stderr=log, cwd=folder)
        try:
            deadline = time.monotonic() + 30
            while True:
                try:
                    client.get("/")
                    break
                except httpx.TransportError:
                    assert process.poll() is None, (folder / "proxy.log").read_text()
                    assert time.monotonic() < deadline, (folder / "proxy.log").read_text()
                    time.sleep(0.05)
            yield client
        finally:
            process.terminate()
            process.wait(30)


PROXIES = [
    pytest.param(run_caddy, httpx.codes.REQUEST_HEADER_FIELDS_TOO_LARGE, id="caddy"),
    pytest.param(run_nginx, httpx.codes.BAD_REQUEST, id="nginx", marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("run", "too_large"), PROXIES)
@pytest.mark.peer
def test_the_proxy_in_front_of_two_agents(
    run: Callable[..., AbstractContextManager[httpx.Client]], too_large: int, tmp_path: Path
) -> None:
    """Streams pass at once, heads are limited, forwarded addresses are written anew, probes stay
    inside, an agent that is gone is left out.
    """
    heads: list[dict[str, str]] = []
    agent = Agent("hello", description="Greets.")
    goes_on = threading.Event()

    @agent.skill("greet")
    async def greet(ctx: TaskContext) -> Any:  # noqa: ANN401 - a generator
        yield "first"
        if ctx.text == "wait":
            await asyncio.to_thread(goes_on.wait, 30)
        yield "second"

    app = create_app(Surface(agent), store="memory")

    async def note_head(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - of ASGI
        if scope["type"] == "http":
            heads.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await app(scope, receive, send)

    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "wait"}]}
    with ExitStack() as stack:
        first = stack.enter_context(serve_on_socket(note_head))
        gone = ExitStack()
        second = gone.enter_context(serve_on_socket(build_test_app(Surface(build_test_agent()))))
        client = stack.enter_context(
            run(tmp_path, *(int(each.base_url.port or 0) for each in (first, second)))
        )
        gone.close()
        for _ in range(10):  # the other one is tried, and left out
            assert client.get("/.well-known/agent-card.json").json()["name"] == "hello"
        with client.stream(
            "POST",
            "/message:stream",
            json={"message": message},
            headers={"X-Forwarded-For": "6.6.6.6"},
        ) as stream:
            lines = stream.iter_lines()
            assert any("first" in line for line in lines)  # while the handler waits
            goes_on.set()
            assert any("second" in line for line in lines)
        assert heads[-1]["x-forwarded-for"] == "127.0.0.1"
        assert heads[-1]["host"] == client.base_url.netloc.decode()
        assert client.get("/", headers={"X-Large": "x" * 100_000}).status_code == too_large
        assert [
            client.get(path).status_code for path in ("/readyz", "/livez", "/health", "/metrics")
        ] == [404] * 4


@pytest.mark.peer
def test_an_agent_that_is_not_ready_answers_itself(tmp_path: Path) -> None:
    """If no replica is ready, callers get the error of an agent, not an empty one of the proxy
    after a while.
    """
    app = build_test_app(Surface(build_test_agent()))
    probed = threading.Event()

    async def answer(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - of ASGI
        if scope["type"] == "http" and scope["path"] == "/readyz":
            probed.set()
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    with (
        serve_on_socket(answer) as agent,
        run_caddy(tmp_path, int(agent.base_url.port or 0)) as client,
    ):
        assert probed.wait(30)
        call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "missing"}}
        answered = client.post("/", json=call, headers={"A2A-Version": "1.0"})
        assert answered.json()["error"]["code"] == -32001
