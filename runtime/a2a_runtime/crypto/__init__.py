"""Proof of who we are: signed cards and signed webhooks.

    cards ────── signing a card, and finding out whose signature one has
      │
    webhooks ─── signing what webhooks are sent; receivers check it with ``a2a_runtime.push.verify``
      │
    keys ─────── a private key with its id and algorithm, from a file or the environment, and what of it is published
    presence ─── which members of a card count: the rules of the protocol, from the contract's schema
    canonical ── one spelling for equal JSON (RFC 8785)

Keys are read when the agent starts and stay in memory; nothing here writes one.
"""
