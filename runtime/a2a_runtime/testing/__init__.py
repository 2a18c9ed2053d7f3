"""Test doubles and tools for tests of agents: small real implementations, no mocks.

    agent             an agent in this process:
                      ``async with agent(handler) as echo: task = await echo.send("hello")``
    asgi_transport    an app in this process as a transport for clients
    clock             a clock that a test advances
    fail_points       processes that die at chosen points of a write
    faults            kills, freezes and cuts under an agent in processes of its own, for pytest
    notifiers         notifiers between agents in one process that lose, repeat or delay
                      notifications
    postgres          a real PostgreSQL server, without an installation
    registry          a mesh registry that can reject, forget and be unreachable
    store_contract    the contract of a store, as a suite for your own
    storage_contract  the contract of a storage for `simple_stores`, as a suite for your own
    dict_storage      such a storage in dictionaries
    token_issuer      an issuer of signed tokens
    webhook_receiver  a receiver of push notifications

Nothing in the runtime imports this package. Only the modules that need pytest or a database driver
import them.
"""
