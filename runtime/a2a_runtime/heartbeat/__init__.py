"""Being known to the registry of a mesh: who is here, which surfaces it has, and that it is alive.

    heart ──────── beats for as long as the app runs, and says goodbye
      │
    registry ───── the registry, over HTTP
    announcement ─ what is said to it
    identity ───── who says it
    membership ─── what a user says about it
    decision ───── what is done next, and when; pure

A registry that is away or refuses is asked again for ever, and the agent serves all the same. Nothing here decides who may call.
"""
