"""Operations of an agent in the canonical model, for all dialects and bindings.

    service ──────── all operations, and the extended card; authorization wraps it where a surface
      │              has a policy or its skills have requirements
    messages         send: a new task, a follow-up to an existing task, or a reply without a task
    tasks            get, list, cancel, subscribe, push configurations
      │
    routing ──────── the skill of a message that names none
    validation ───── checks of a message before anything is stored; pure
    context ──────── call context: caller, surface, dialect; task scope

The store keeps the tasks, the engine runs the handlers, and ``http`` knows the requests. This
package decides what the protocol leaves to an agent:

- A request names its skill in the metadata (``skillId``). Without a name it is the only skill; of
  several, ``routing`` selects one or refuses.
- An ``Idempotency-Key`` holds for a caller, a tenant, a surface and the conversation of the
  message. Skills that reply without a task store nothing,
  so they run again.
- The credentials of webhooks are never returned.
- The extended card exists if a skill is ``only_extended``.
"""
