"""The gRPC port of a surface as a feature of an app."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from a2a_runtime.features.grpc.attach import attach_grpc
from a2a_runtime.features.grpc.options import GrpcOptions, check_grpc
from a2a_runtime.http.dispatcher import Dispatcher
from a2a_runtime.ports.feature import Feature, RunningApp
from a2a_runtime.surface import Surface


class GrpcFeature(Feature):
    """Serves gRPC for the surfaces that have a port, as long as they are mounted."""

    is_attached = False

    def prepare(self, surfaces: Sequence[Surface]) -> Sequence[Surface]:
        """Give the address of the settings or of the app to its surface, once."""
        address = self.parts.settings.grpc or self.parts.options.get("grpc")
        if self.is_attached or not address:
            return surfaces
        self.is_attached = True
        if not isinstance(address, GrpcOptions | str):
            raise TypeError(f"grpc: {address!r} is neither GrpcOptions nor an address")
        return attach_grpc(surfaces, address)

    def check(self, surfaces: Sequence[Surface]) -> None:
        """Refuse two surfaces on one port, and a port without the libraries that serve it."""
        check_grpc(surfaces)

    async def open_surface(
        self,
        running: RunningApp,  # noqa: ARG002 - for features
        dispatcher: Dispatcher,
        stack: AsyncExitStack,
    ) -> None:
        """Serve the port of a surface."""
        port = dispatcher.surface.grpc
        if isinstance(port, GrpcOptions):
            # An extra, which apps without a port do not need.
            from a2a_runtime.features.grpc.server import serve_surface  # noqa: PLC0415 - as said

            await stack.enter_async_context(serve_surface(dispatcher, port))
