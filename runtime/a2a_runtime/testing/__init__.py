"""Tools for tests of agents, yours and ours: real servers and stores in small, no mocks.

    agent           an agent in this process: ``async with agent(handler) as echo: task = await echo.send("hello")``
    clock           a clock that stands still until a test moves it
    notifiers       notifiers between agents in one process that lose notifications and connections
    faults          stores that fail where a test says so
    store_contract  everything that a store must do, as a suite for your own
    postgres        a real PostgreSQL without installing one
    registry        the registry of a mesh, with its refusals, lapses and outages

Nothing in the runtime imports this package. pytest and a database driver are needed only by the modules that say so.
"""
