"""The server on the port of a surface: grpc.aio on the event loop of the app, started and stopped
in its lifespan.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from grpc.aio import Server
from grpc.aio import server as create_server

from a2a_runtime.base.descriptors import take_share
from a2a_runtime.errors import ListenError
from a2a_runtime.features.grpc.calls import CallEndpoint, UnknownMethods
from a2a_runtime.features.grpc.certificates import CertificateFiles
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.features.grpc.services import HealthService, ReflectionService
from a2a_runtime.http.dispatcher import Dispatcher

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# The stubs of grpcio leave the types of messages open.

log = logging.getLogger(__name__)

_ENVELOPE_BYTES = 1024
_CONNECTION_SHARE = 0.125
"""Of the descriptors that a process may have."""
_MANY = 1_000_000


@asynccontextmanager
async def serve_surface(dispatcher: Dispatcher, options: GrpcOptions) -> AsyncGenerator[None, None]:
    """Serve a surface on its port."""
    surface = dispatcher.surface
    has_certificates = options.client_authorities is not None
    endpoint = CallEndpoint(dispatcher, has_certificates=has_certificates)
    health = HealthService(endpoint.services)
    server = create_server(
        options=list(_list_channel_arguments(options, surface.limits.body_bytes).items())
    )
    server.add_generic_rpc_handlers((endpoint, *((health,) if options.health else ())))
    if options.reflection:
        server.add_generic_rpc_handlers((ReflectionService(endpoint.services),))
    # This is the last one, because gRPC asks them in their order.
    server.add_generic_rpc_handlers((UnknownMethods(dispatcher, endpoint.services),))
    _bind(server, options)
    await server.start()
    log.info(
        "%s: gRPC on %s%s",
        surface,
        options.address,
        "" if options.certificate is None else " with TLS",
    )
    try:
        yield
    finally:
        health.stop()
        endpoint.end_streams()
        await server.stop(options.grace)


def _list_channel_arguments(options: GrpcOptions, body_bytes: int) -> dict[str, int]:
    """List the options of gRPC itself; what they refuse is refused in its own words, before any
    code of ours.
    """
    return {
        "grpc.max_receive_message_length": body_bytes + _ENVELOPE_BYTES,
        "grpc.max_send_message_length": -1,
        # Between two different limits metadata would be refused at random.
        "grpc.max_metadata_size": options.metadata_bytes,
        "grpc.absolute_max_metadata_size": options.metadata_bytes,
        "grpc.max_concurrent_streams": options.calls_per_connection,
        # With it, a second server would take half of the connections, silently.
        "grpc.so_reuseport": int(options.reuse_port),
        # Without a bound, silent connections take all descriptors of the process, those of HTTP
        # too.
        "grpc.max_allowed_incoming_connections": options.connections
        or take_share(_CONNECTION_SHARE)
        or _MANY,
        "grpc.server_handshake_timeout_ms": _to_millis(options.handshake_timeout),
        "grpc.max_connection_idle_ms": _to_millis(options.idle_timeout),
        "grpc.keepalive_time_ms": _to_millis(options.keep_alive_interval),
        "grpc.keepalive_timeout_ms": _to_millis(options.keep_alive_interval),
        "grpc.keepalive_permit_without_calls": 0,
        "grpc.http2.min_ping_interval_without_data_ms": _to_millis(
            min(options.keep_alive_interval, 10.0)
        ),
    }


def _to_millis(seconds: float) -> int:
    return max(int(seconds * 1000), 1)


def _bind(server: Server, options: GrpcOptions) -> None:
    try:
        if options.certificate is None:
            server.add_insecure_port(options.address)
        else:
            server.add_secure_port(
                options.address, CertificateFiles(options, options.certificate).build_credentials()
            )
    except RuntimeError as error:
        raise ListenError(
            f"gRPC: {options.address} cannot be listened on; stop what runs there, choose "
            "another address, "
            "or set reuse_port if several processes of this app share it"
        ) from error
