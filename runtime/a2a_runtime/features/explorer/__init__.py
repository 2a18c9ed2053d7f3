"""The explorer: one page to see, try and debug agents, and the API behind it.

Loaded where the explorer is on (``A2A_EXPLORER``, ``a2a-gen explore``).

    browser ──► app: page with its policy, guards
                  │
                api: agents, operations, streams, snippets, sign-in
                  │
                session: the client for one request, over any binding
                  │            │
           card: description   wire: exchanges, secrets masked

Two places serve it, each with its own ``AgentDirectory`` (``directory``):

    mounted    agents of the app that it is mounted in, in process, with the visitor's credentials
    command    ``a2a-gen explore``: any agent at a URL, on loopback, for the holder of a token

The page speaks canonical JSON only; dialects and bindings are the client's.
"""
