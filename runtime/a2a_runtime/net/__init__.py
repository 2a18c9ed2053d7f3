"""Calling addresses that strangers name: webhooks, and files that messages refer to.

    dialler ─── GET and POST, with limits of time and size
      │
    connections  kept open for the next call to the same place
      │
    backend ─── opens connections: resolves a name once, and connects to the addresses that were judged, not to the name
      │
    target ──── what a URL leads to, or why it is not called          resolver ─ a port: the addresses of a name
      │
    policy ──── which addresses may be called: pure, one table

Whoever makes a URL may own the name in it, and lets it lead anywhere, to something else for each question. So nothing is decided by a name, but
everything by the address that the connection then goes to. Redirects are calls of their own. No proxy, cookie or credential of the environment is
ever used.
"""
