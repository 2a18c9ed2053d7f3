"""The gRPC server of an app: ports, TLS, health, reflection, stop and limits."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest
from integration.client.tls_proxy import Authority
from integration.features.grpc.calls import CallClient, CallError, build_send, run_app, serve_agent
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import build_test_agent
from peers.environments import interpreter

from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import MtlsAuthenticator
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.auth.host import host_user
from a2a_runtime.errors import ListenError
from a2a_runtime.features.grpc.messages import decode_message, encode_message
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.anyio
HEALTH = "/grpc.health.v1.Health/"


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


def test_a_port_belongs_to_one_surface() -> None:
    """Two surfaces on one port, and one port for several surfaces, are refused when the app is
    made.
    """
    one, other = (
        Surface(build_test_agent(), path, grpc=GrpcOptions("127.0.0.1:50051"))
        for path in ("/one", "/other")
    )
    with pytest.raises(
        ValueError,
        match=r"'/other'.*'/one' .*listens on 127\.0\.0\.1:50051; a port belongs to one surface",
    ):
        create_app(one, other)
    with pytest.raises(Exception, match="there are 2 surfaces, and a port belongs to one"):
        create_app(
            Surface(build_test_agent(), "/one"),
            Surface(build_test_agent(), "/other"),
            grpc="127.0.0.1:50051",
        )


@pytest.mark.parametrize(
    "address",
    [
        "50051",
        "127.0.0.1",
        "http://127.0.0.1:50051",
        "127.0.0.1:0",
        "127.0.0.1:70000",
        "host:1/path",
        "unix:relative",
    ],
)
def test_an_address_is_checked(address: str) -> None:
    """Port 0 too: the card names the port."""
    with pytest.raises(ValueError, match="is not an address to listen on; write host:port"):
        GrpcOptions(address)


def test_users_of_the_host_are_no_callers_of_grpc() -> None:
    """A surface whose callers the HTTP application knows is refused, with what to do."""
    with pytest.raises(ValueError, match="calls over gRPC do not pass; set gate="):
        Surface(build_test_agent(), caller=host_user(), grpc=GrpcOptions("127.0.0.1:50051"))


async def test_a_used_port_is_refused() -> None:
    """Two servers never share a port silently; several processes of one app may."""
    async with serve_agent(build_test_agent()) as client:
        await client.send("x")
        address = client.address
        with pytest.raises((ListenError, ExceptionGroup)) as caught:
            async with run_app(
                create_app(
                    Surface(build_test_agent(), grpc=GrpcOptions(address)), settings=FAST_SETTINGS
                )
            ):
                pass
        assert "cannot be listened on; stop what runs there" in describe(caught.value)
    shared = GrpcOptions(find_free_address(), reuse_port=True)
    async with (
        serve_agent(build_test_agent(), shared),
        run_app(create_app(Surface(build_test_agent(), grpc=shared), settings=FAST_SETTINGS)),
    ):
        pass


def describe(error: BaseException) -> str:
    """Return the texts of an error, and of those in its group."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(map(describe, error.exceptions))
    return str(error)


async def test_a_stopping_server_ends_streams_at_once_and_waits_for_calls() -> None:
    """A stream ends with UNAVAILABLE; a call under way gets the grace."""
    options = GrpcOptions(find_free_address(), grace=5)
    async with run_app(
        create_app(Surface(build_test_agent(), grpc=options), settings=FAST_SETTINGS)
    ) as app:
        client = CallClient(options.address)
        stream = client.stream("SendStreamingMessage", build_send("x", "wait"))
        await anext(stream)
        call = asyncio.create_task(client.send("6", "tick"))
        # Only the server knows the state.
        while not (await client.call("ListTasks", {})).get("totalSize", 0) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        began = time.monotonic()
        stopping = asyncio.create_task(app.__aexit__(None, None, None))
        with pytest.raises(CallError) as caught:
            [each async for each in stream]
        assert caught.value.failure.reason == "UNAVAILABLE"
        assert (await call)["status"]["state"] == "TASK_STATE_COMPLETED"
        await stopping
        assert time.monotonic() - began < 5
        await client.channel.close()
        await app.__aenter__()


async def test_the_server_starts_again() -> None:
    """An app may be started twice."""
    options = GrpcOptions(find_free_address())
    app = create_app(Surface(build_test_agent(), grpc=options), settings=FAST_SETTINGS)
    for _ in range(2):
        async with run_app(app):
            client = CallClient(options.address)
            await client.send("x")
            await client.channel.close()


async def test_health_is_served() -> None:
    """Of the server and of each service, by Check and by Watch, without credentials."""
    async with serve_agent(build_test_agent(), gate=AuthGate(MtlsAuthenticator())) as client:
        for service in ("", "lf.a2a.v1.A2AService", "a2a.v1.A2AService"):
            request = encode_message("grpc.health.v1.HealthCheckRequest", {"service": service})
            answer = await client.channel.unary_unary(f"{HEALTH}Check")(request)
            assert decode_message("grpc.health.v1.HealthCheckResponse", answer).status == 1
            watch = client.channel.unary_stream(f"{HEALTH}Watch")(request)
            assert await watch.read() == answer
            watch.cancel()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.channel.unary_unary(f"{HEALTH}Check")(
                encode_message("grpc.health.v1.HealthCheckRequest", {"service": "x"})
            )
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    async with serve_agent(
        build_test_agent(), GrpcOptions(find_free_address(), health=False)
    ) as client:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.channel.unary_unary(f"{HEALTH}Check")(b"")
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


REFLECTION = """
import sys, grpc
from grpc_reflection.v1alpha import proto_reflection_descriptor_database as reflection
from google.protobuf.descriptor_pool import DescriptorPool
channel = grpc.insecure_channel(sys.argv[1])
database = reflection.ProtoReflectionDescriptorDatabase(channel)
pool = DescriptorPool(database)
for name in database.get_services():
    print(name, len(pool.FindServiceByName(name).methods))
"""


@pytest.mark.peer
async def test_reflection_describes_the_services() -> None:
    """To the client of grpcio-reflection, with all methods; by default it is not served."""
    python = str(interpreter("a2a-sdk-1.3.0"))
    async with serve_agent(
        build_test_agent(), GrpcOptions(find_free_address(), reflection=True)
    ) as client:
        process = await asyncio.create_subprocess_exec(
            python, "-I", "-c", REFLECTION, client.address, stdout=subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert output.decode().splitlines() == ["lf.a2a.v1.A2AService 11", "a2a.v1.A2AService 10"]
    async with serve_agent(build_test_agent()) as client:
        with pytest.raises(grpc.aio.AioRpcError):
            await client.channel.stream_stream(
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
            )(iter([b""])).read()


async def test_client_certificates_name_the_callers(tmp_path: Path) -> None:
    """Mutual TLS by the same authenticator as over HTTP; a client without a certificate, or without
    TLS, gets no connection.
    """
    authority = Authority.at(tmp_path)
    authority.server()
    files = [tmp_path / name for name in ("server.pem", "authority.pem")]
    options = GrpcOptions(find_free_address(), certificate=files[0], client_authorities=files[1])
    authority.client("box")
    client_pem = (tmp_path / "box.pem").read_bytes()
    roots = files[1].read_bytes()
    async with serve_agent(
        build_test_agent(),
        options,
        gate=AuthGate(MtlsAuthenticator(callers={"CN=box": Identity("box")})),
    ) as plain:
        known = CallClient(
            options.address, credentials=grpc.ssl_channel_credentials(roots, client_pem, client_pem)
        )
        assert (await known.send("x"))["status"]["state"] == "TASK_STATE_COMPLETED"
        anonymous = CallClient(options.address, credentials=grpc.ssl_channel_credentials(roots))
        for client in (plain, anonymous):
            assert (await client.fail("ListTasks", {})).code == "UNAVAILABLE"
        for client in (known, anonymous):
            await client.channel.close()


async def test_renewed_certificates_need_no_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """New connections get the files as they are; files that cannot be used are in the log once, and
    the ones before stay.
    """
    old, new = (Authority.at(make_folder(tmp_path / name)) for name in ("old", "new"))
    used = make_folder(tmp_path / "used")
    options = GrpcOptions(
        find_free_address(),
        certificate=used / "server.pem",
        client_authorities=used / "authority.pem",
    )

    def install(authority: Authority) -> None:
        authority.server()
        for name in ("server.pem", "authority.pem"):
            (used / name).write_bytes((authority.folder / name).read_bytes())

    async def connect(authority: Authority) -> str:
        authority.client("box")
        pem, roots = (
            (authority.folder / name).read_bytes() for name in ("box.pem", "authority.pem")
        )
        async with CallClient(
            options.address,
            credentials=grpc.ssl_channel_credentials(roots, pem, pem),
            use_local_subchannel_pool=1,
        ) as client:
            try:
                return str((await client.send("x"))["status"]["state"])
            except CallError as error:
                return error.failure.code

    install(old)
    async with serve_agent(
        build_test_agent(),
        options,
        gate=AuthGate(MtlsAuthenticator(callers={"CN=box": Identity("box")})),
    ):
        assert [await connect(old), await connect(new)] == ["TASK_STATE_COMPLETED", "UNAVAILABLE"]
        install(new)
        assert [await connect(old), await connect(new)] == ["UNAVAILABLE", "TASK_STATE_COMPLETED"]
        (used / "server.pem").write_text("half of a file")
        assert [await connect(new), await connect(new)] == ["TASK_STATE_COMPLETED"] * 2
        (used / "server.pem").unlink()
        assert [await connect(new), await connect(new)] == ["TASK_STATE_COMPLETED"] * 2
        install(old)
        assert [await connect(old), await connect(new)] == ["TASK_STATE_COMPLETED", "UNAVAILABLE"]
    warnings = [each.getMessage() for each in caplog.records if "stay in use" in each.getMessage()]
    assert [str(used / "server.pem") in each for each in warnings] == [True, True], warnings


def make_folder(folder: Path) -> Path:
    """Make a folder."""
    folder.mkdir()
    return folder


async def test_a_wrong_certificate_is_in_the_error_of_the_start(tmp_path: Path) -> None:
    """The error of the start names the file with the invalid certificate."""
    (tmp_path / "server.pem").write_text("no certificate")
    app = create_app(
        Surface(
            build_test_agent(),
            grpc=GrpcOptions(find_free_address(), certificate=tmp_path / "server.pem"),
        ),
        settings=FAST_SETTINGS,
    )
    with pytest.raises((ListenError, ExceptionGroup)) as caught:
        async with run_app(app):
            pass
    assert "server.pem: " in describe(caught.value)


async def test_messages_beyond_the_limit_are_refused() -> None:
    """Of 4 MB within the limit, of more than the limit, and of 100 MB; the server serves others
    meanwhile and afterwards.
    """
    big = {
        **build_send("x"),
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x" * 4_000_000}]},
    }
    async with serve_agent(build_test_agent(), limits=Limits(body_bytes=5_000_000)) as client:
        task = (
            await CallClient(client.address, max_receive_message_length=-1).call("SendMessage", big)
        )["task"]
        assert len(task["history"][0]["parts"][0]["text"]) == 4_000_000
        for size in (6_000_000, 100_000_000):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await client.channel.unary_unary("/lf.a2a.v1.A2AService/SendMessage")(bytes(size))
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            await client.send("x")


async def test_metadata_beyond_the_limit_are_always_refused() -> None:
    """Not at random, and what is below the limit is taken."""
    async with serve_agent(
        build_test_agent(), GrpcOptions(find_free_address(), metadata_bytes=16_384)
    ) as client:
        for _ in range(10):
            await client.send("x", metadata={"x-fill": "a" * 15_000})
            assert (
                await client.fail("SendMessage", build_send("x"), {"x-fill": "a" * 17_000})
            ).code == "RESOURCE_EXHAUSTED"


async def test_lists_without_end_are_refused_before_they_cost_memory() -> None:
    """Two million empty parts take 4 MB on the wire."""
    part = b"\x2a\x00" * 2_000_000
    message = b"\x0a\x01m\x20\x01" + part
    size = len(message)
    prefix = b"\x12" + bytes(
        [size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14 & 0x7F | 0x80, size >> 21]
    )
    async with serve_agent(build_test_agent()) as client:
        failure = await client.fail("SendMessage", prefix + message)
        assert (failure.code, failure.fields) == ("INVALID_ARGUMENT", ["message.parts"])


MISSING = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "grpc" or name.startswith("google"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
from a2a_runtime import Agent, Surface, create_app
agent = Agent("a", description="b")
@agent.skill("echo")
async def echo(ctx): return ctx.text
create_app(Surface(agent))
print("without")
try:
    create_app(Surface(agent), grpc="127.0.0.1:50051")
except ValueError as error:
    print(error)
from a2a_contract.dialects import V1_0
from a2a_contract.v1_0 import AgentCapabilities, AgentCard, AgentInterface
from a2a_runtime.client import GRPC, Pin
from a2a_runtime.client.interface import choose_interfaces
def choose(pin, *listed):
    interfaces = [
        AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")
        for url, binding in listed
    ]
    card = AgentCard(
        name="a",
        description="",
        version="1",
        capabilities=AgentCapabilities(),
        supported_interfaces=interfaces,
    )
    try:
        print(choose_interfaces(card, V1_0, "http://a.example/card.json", pin)[0].url)
    except Exception as error:
        print(error)
choose(Pin(), ("a.example:50051", "GRPC"), ("http://a.example", "JSONRPC"))
choose(Pin(transport=GRPC), ("a.example:50051", "GRPC"), ("http://a.example", "JSONRPC"))
choose(Pin(), ("a.example:50051", "GRPC"))
"""


def test_without_the_extra_nothing_changes() -> None:
    """And who asks for a port, as an agent or as a client, is told what to install; a client takes
    the next interface of the card.
    """
    output = subprocess.run(
        [sys.executable, "-c", MISSING], capture_output=True, text=True, check=True
    ).stdout
    first, refused, chosen, *errors = output.splitlines()
    assert (first, chosen) == ("without", "http://a.example")
    assert "the client is pinned to GRPC" in errors[0]
    for error in (refused, *errors):
        assert error.endswith(
            "grpcio or protobuf is not installed; install the extra: pip install 'a2a-gen[grpc]'"
        )
