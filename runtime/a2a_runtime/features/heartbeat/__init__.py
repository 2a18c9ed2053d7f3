"""Registration at the registry of a mesh, kept alive by heartbeats.

Loaded where a surface has the dialect ``mesh``, or the app has a ``MeshConfig``.

    loop ───────── run_heartbeat: registers, renews, deregisters; the registry's HTTP client
      │
    registration ─ the registration document, the identity of the agent, MeshConfig
    schedule ───── the next action and its delay; pure

A registry that is unreachable or rejects the agent is retried without end, and the agent serves
meanwhile. Nothing here decides who may call.
"""
