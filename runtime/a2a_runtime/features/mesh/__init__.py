"""Service of the ``tasks/*`` dialect of mcp-mesh; tasks, handlers and streams are those of all
other dialects.

Loaded where a surface has the dialect ``mesh``.

    dialect ──────── rules of the dialect, for ``ports.registry``
      │
    service ──────── the five operations, and the checks of a surface
      ├─ projection      tasks and events in this dialect
      └─ sent_messages   messages of a history as they were sent
    card ─────────── the card, which has one skill

- A client chooses the ids of its tasks. An id is reserved before a handler runs, belongs to its
  surface, and can be reused some time after the end.
- Every surface has one skill. Its handler gets every message, whatever it contains.
- A handler that returns ends its task; one that returns a job leaves it working. A status text of a
  handler is progress.
- A disconnect does not cancel a task.
- While the store is unavailable, a task is reported as working: consumers give a task up at the
  first error.
"""
