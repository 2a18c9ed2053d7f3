"""Who is calling: what a request brings along to prove it, and who decides about it.

    gate ──────── lets a request in as somebody, or refuses it: everybody, whoever has a token, or …
      │
    checkpoint ── … whoever proves who they are, in one of the ways that the card names
      │
    tokens (keys)   api_keys   passwords   certificates ── ways to prove it: authenticators
                        └── guesses ──┘                    who shows many wrong ones waits
      │
    identity ──── what an authenticator proves; the port that your own one fills
    credentials ─ what a request brings along

A gate, and nothing else, says how a surface is protected: the card and the OpenAPI document are written from it. Nothing in here knows paths, so
there is none that could be left out.
"""
