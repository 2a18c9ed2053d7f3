"""What is different on a surface that speaks the ``tasks/*`` dialect of mcp-mesh; tasks, handlers and streams are those of all other dialects.

    service ── the five operations, as consumers of mcp-mesh take them
      │
    news ───── which of the things that happen to a task a stream tells, and how it ends; pure
    showing ── a task as this dialect shows it: one text as its result, one message as its history; pure
    asking ─── whether a handler asks questions, which nobody could answer in this dialect
    checks ─── what a surface must be, when the app starts

- A client chooses the ids of its tasks. An id is taken before a handler runs, belongs to its surface, and is free again some time after the end.
- Every surface has one skill. Whatever a message contains, its handler gets it.
- A handler that returns ends its task; one that hands back a job leaves it working. What a handler says on the way is progress.
- A client that goes away leaves its task alone.
- Nobody is told that a task does not exist because a store is away: consumers give a task up at the first error, so they read that it is working.
"""
