"""Signatures and encryption: signed cards, signed webhooks, encrypted secrets.

card_signatures ──── sign and verify agent cards
webhook_signatures ─ sign notifications; receivers verify them with ``a2a_runtime.features.push.verify``
  ├─ keys ────────── private keys of the agent, read at start and kept in memory; nothing here writes one
  └─ jcs ─────────── canonical JSON (RFC 8785)
secret_box ───────── encrypt the credentials of webhooks that a store keeps
"""
