"""The gRPC address of an app, given to one of its surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from litestar.exceptions import ImproperlyConfiguredException

from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.surface import Surface


def attach_grpc(surfaces: Sequence[Surface], grpc: GrpcOptions | str) -> tuple[Surface, ...]:
    """Give a gRPC address to the surface that has one already, or to the only surface."""
    chosen = [each for each in surfaces if each.grpc is not None] or surfaces
    if len(chosen) != 1:
        raise ImproperlyConfiguredException(
            f"grpc: there are {len(chosen)} surfaces, and a port belongs to one; set "
            "Surface(grpc=GrpcOptions(…)), or surface in [grpc]"
        )
    current = chosen[0].grpc
    options = GrpcOptions.of(grpc)
    if isinstance(grpc, str) and isinstance(current, GrpcOptions):
        options = replace(current, address=grpc)
    return tuple(replace(each, grpc=options) if each is chosen[0] else each for each in surfaces)
