"""Webhooks: telling a client what becomes of its task while no stream is open.

    deliverer ───── takes what is due from the store's outbox, calls, and carries out the verdict
      │
    verdict ─────── what follows from an answer or its absence: pure
    notification ── what is sent: URL, headers, body; pure

An event and its deliveries are one commit, so whatever was acknowledged is delivered, or its configuration is marked as failed. No task and no stream
ever waits for a webhook. Each configuration hears events in their order, at least once: a receiver that was called before the process died is called
again, with the same ``Webhook-Id``.

| the receiver | what follows |
|---|---|
| answers 2xx | the next event |
| answers 408, 425, 429, 5xx, 3xx, or not at all | tried again, after 1, 2, 4 … seconds, or when its ``Retry-After`` says |
| answers any other 4xx, such as 410 | the configuration has failed |
| still fails after many tries | the configuration has failed |

A configuration that has failed hears nothing more until it is put again. It stays readable, the store says since when and why
(``push_failures``), and its task's metadata says so too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_runtime.push.verification import verify

__all__ = ["verify"]


def __getattr__(name: str) -> object:
    """Load what receivers of webhooks check them with only when it is named: it stands on an extra."""
    if name == "verify":
        from a2a_runtime.push.verification import verify  # noqa: PLC0415 - see above

        return verify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
