"""HTTP: everything between an ASGI server and the service.

middleware         CORS, origin policy, HSTS
exact_paths        a short way past Litestar's router, where nothing of a host would run
mounting           controllers in a Litestar app, path checks, requests without a route
  │
endpoints          all endpoints of a surface: cards, and
jsonrpc  rest
  │
dispatcher         the request path that they share: admit, read the body, call the service, send
  │
negotiation        dialect and form of a request: a pure table
asgi               the request while it is processed, its body, plain responses
event_stream       streams as server-sent events
watchers           disconnect, body timeout, expired credentials
errors             exception → protocol error → response
audit              entries of requests in the audit log
health             probes of the process
"""
