"""Runs in the environment of an official SDK: channels of gRPC whose calls have the credentials of
a caller.
"""

import grpc


class WithToken(grpc.aio.UnaryUnaryClientInterceptor):
    """Adds the token to the metadata of calls with one response."""

    # grpcio has no types for the parameters.
    async def intercept_unary_unary(self, continuation, details, request):  # noqa: ANN001, ANN201
        """Make the call."""
        return await continuation(add_token(details), request)


class StreamsWithToken(grpc.aio.UnaryStreamClientInterceptor):
    """Adds the token to the metadata of calls with a stream."""

    # As above.
    async def intercept_unary_stream(self, continuation, details, request):  # noqa: ANN001, ANN201
        """Make the call."""
        return await continuation(add_token(details), request)


def add_token(details):  # noqa: ANN001, ANN201 - as above
    """Add the token to the metadata of a call."""
    metadata = grpc.aio.Metadata(*(details.metadata or ()), ("authorization", "Bearer ada"))
    return details._replace(metadata=metadata)


def create_channel(url: str):  # noqa: ANN201 - as above
    """Create a channel for the address on a card, which is a URL in 0.3."""
    return grpc.aio.insecure_channel(
        url.removeprefix("http://"), interceptors=[WithToken(), StreamsWithToken()]
    )
