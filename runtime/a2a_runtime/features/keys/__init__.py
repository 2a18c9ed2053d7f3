"""Signatures and encryption: signed cards, signed webhooks, encrypted secrets.

Loaded where there are signing or encryption keys, tokens (JWT), or a client that verifies cards.

card_signatures ──── sign and verify agent cards
webhook_signatures ─ sign notifications; ``a2a_runtime.features.push.verify`` is for receivers
  ├─ signing ─────── private keys of the agent, read at start, kept in memory, and never written
  └─ jcs ─────────── canonical JSON (RFC 8785)
project ──────────── tokens in an ``a2a.toml``
secret_box ───────── encrypt the credentials of webhooks that a store keeps
"""
