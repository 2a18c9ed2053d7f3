"""What an agent can be asked, answered once for all dialects and bindings, in the canonical model.

    service ──── all of it, and the extended card
      │
    sending      a message: a new task, more for one that exists, or an answer without a task
    following    streams of tasks that exist, and where each dialect ends a stream
    tasks        read, list, cancel
    pushes       webhooks of a task
      │
    order ────── what a message asks for and whether it may; pure
    modes ────── media types; pure
    call ─────── who asks, where and how; whose tasks that is about

What is true about tasks is the store's, how handlers run is the engine's, and what a request looks like is the exchange's matter. What is decided
here is what the protocol leaves to an agent:

- A request names its skill in the metadata (``skillId``); one that names none means the first skill of the surface.
- An ``Idempotency-Key`` is good for a caller, a tenant, a surface and the conversation that the message names. Skills that answer without a task
  store nothing, and so are asked again.
- The credentials of webhooks are told to nobody.
- The extended card is there when a skill is ``only_extended``.
"""
