"""The gRPC server: a port of a surface, beside HTTP (extra ``grpc``).

Loaded where a surface, a setting or ``create_app(grpc=…)`` has an address for gRPC.

    options        the port of a surface: its address, its checks, its interface on the card
    feature        opens the port of each surface
    server         grpc.aio with its options, start and graceful stop
    certificates   TLS, with files that may change while the server runs
    calls          the methods of the contract: a call becomes a request of the ``Dispatcher``,
                   its result or its events become messages
    request        a call as an ``HttpRequest``: metadata as headers, the peer as the client;
                   its error as a status
    messages       a message of protocol buffers as JSON of its dialect, and back
    services       health and reflection

    call ─► CallRequest ─► Dispatcher.run ─► admit ─► message ─► JSON of the dialect ─► binding ─┐
                                │                                                                │
                                │                            messages ◄─ invoke, open_stream ◄───┘
                                └── any error ──► CallRequest.failure
                                                  ──► google.rpc.Status in the trailing metadata

Gate, limits, rates, versions, extensions, idempotency, cursors, errors and audit are those of HTTP,
because a call passes the same steps. What HTTP has and gRPC has not: CORS and cards. The client is
``a2a_runtime.client.grpc``.

A bidirectional method would be one more kind of handler in ``calls``: a request that is read while
it is answered.
"""
