"""Running the handlers of skills, so that no accepted task is lost and none is told lies about.

    engine ─ what a request can do with tasks: start, message, get, list, cancel, wait, follow; no HTTP
      │
    runner ─ who runs a task: a port; the embedded one runs it here, under a lease, and takes over from dead processes
      │
    run ──── one run of one task: calls the handler, and makes of whatever it does exactly one lawful end
      │
    context ─ what the handler sees          skill ─── what a user registers
      │                                      answers ─ what each kind of value that a handler returns stands for (one table)
    replay ── what earlier runs recorded     job ───── work that goes on after the handler has returned
      │
    desk ──── every write of a run: under its epoch; commit, then tell

**One rule for running again.** After a crash, and after an answer to a question, the handler runs again from the top. ``ctx.attempt`` counts the
runs. ``ctx.ask`` and ``ctx.once`` give back what was recorded, by an explicit key or as the n-th call; when a record does not fit the call any
more, the task fails with "handler changed". The first write to an artifact in a run replaces what an earlier run wrote under the same name.
Status texts that come before the last recorded answer are not repeated.

**Who ends a task.** The runtime, never the handler. A handler returns a value, raises, is canceled, runs out of time, or asks something; ``run``
turns each of these into one state. A handler that does not stop when it is told to is left behind: its desk is closed, so that it can write
nothing more, and the task ends without it.

**What is in memory.** One asyncio task and one small object for every task that runs here. Nothing for a task that is parked or done.

**States that a reader may see.** A task is ``submitted`` until its run has something to show for: it becomes ``working`` with its first write, or
after a few milliseconds. A handler that returns at once goes straight from ``submitted`` to its end, in one commit. An answer puts a parked task
back to ``submitted``, in the same commit that records it: so an orphan that is ``submitted`` has not been begun, and one that is ``working`` has.
"""
