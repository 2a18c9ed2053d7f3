"""Push notifications: webhooks that report the events of a task while no stream is open.

Loaded where the agent has webhooks (``Capabilities(push_notifications=True)``).

    sender ──────── claims due deliveries from the store's outbox, sends them, applies the outcome
      │
    retry_policy ── outcome of an attempt: delivered, retry, give up; pure
    notification ── request of a webhook: URL, headers, body; encrypted configs
    verification ── for receivers: checks a notification (``verify``)

An event and its deliveries are one commit, so each acknowledged event is delivered, or its config
is marked as failed. No task and no stream waits for a webhook. Each config receives events in order
and at least once: after a crash a delivery is repeated with the same ``Webhook-Id``.

| response of the receiver | outcome |
|---|---|
| 2xx | delivered; the next event follows |
| 408, 425, 429, 5xx, 3xx, or none | retry after 1, 2, 4 … seconds, or after its ``Retry-After`` |
| any other 4xx, such as 410 | give up: the config has failed |
| still an error after the last attempt | give up: the config has failed |

A failed config receives nothing more until it is set again. It stays readable. The store records
the time and reason (``push_failures``), and so does the metadata of its task.
"""

from typing import TYPE_CHECKING

from a2a_runtime.base.importing import lazy_names

if TYPE_CHECKING:
    from a2a_runtime.features.push.verification import (
        TrustedSender,
        VerificationError,
        VerifiedNotification,
        verify,
    )

__all__ = ["TrustedSender", "VerificationError", "VerifiedNotification", "verify"]

if not TYPE_CHECKING:  # verification needs the ``auth`` extra
    __getattr__ = lazy_names(__name__, __all__, "verification")
