"""Execution of skill handlers.

    engine ── tasks as requests see them, without HTTP: start, send_message, get, list, cancel, …
      │       follow_ups: messages to existing tasks
    runner ── runs tasks in this process: leases, orphans, deadlines
      │
    run ───── one run of one task: calls the handler, turns its end into exactly one outcome
      │
    handlers/ context: argument of the handler; skill: handlers and their options
      │       results: conversion of the values of handlers; jobs: work after the handler's return
    replay ── records of earlier runs
      │
    writer ── writes of a run: fenced by its epoch; commit, then publish
      │       chunk_queue: chunks that the handler does not wait for
    hub ───── events of committed writes on their way to readers
      │
    dependencies ── what all runs of a process share

**Running again.** After a crash, and after the answer to a question, the handler runs again from
the top. ``ctx.attempt`` is the number of the run. ``ctx.ask`` and ``ctx.once`` return what was
recorded, under an explicit key or as the n-th call. If a record does not fit the call, the task
fails with "handler changed". The first write to an artifact in a run replaces what an earlier run
wrote under the same name. Status texts before the last recorded answer are not repeated.

**End of a task.** The runtime ends it, never the handler. A handler returns a value, raises, is
canceled, times out, or asks a question; ``run`` turns each of these into one state. A handler that
ignores a stop request is abandoned: its writer is closed, and the task ends without it.

**Memory.** One asyncio task and one small object for each task that runs here; nothing for a task
that is suspended or has ended.

**States that a reader sees.** A task is ``submitted`` until its run writes or some milliseconds
have passed; then it is ``working``. A handler that returns at once goes straight from ``submitted``
to its end, in one commit. An answer puts a suspended task back to ``submitted``, in the commit that
records it: an orphan that is ``submitted`` was not started, one that is ``working`` was.
"""
