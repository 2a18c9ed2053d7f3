"""The sender of webhooks as a part of a process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from a2a_runtime.features.push.sender import PushSender, SenderOptions, skip_signing
from a2a_runtime.ports.process_part import ProcessPart
from a2a_runtime.process import AgentRuntime
from a2a_runtime.surface import Surface


class PushPart(ProcessPart):
    """Sends the webhooks of all surfaces."""

    serves_all_surfaces = True

    async def open(
        self,
        process: AgentRuntime,
        surfaces: Sequence[Surface],  # noqa: ARG002 - it reads those that the process has
        stack: AsyncExitStack,
    ) -> None:
        """Start the sender."""
        options = SenderOptions(
            process.settings,
            process.storage_keys,
            process.clock,
            process.keys.build_webhook_signer() or skip_signing,
            process.keys.secret_cipher,
            process.observation,
        )
        sender = PushSender(process.store, process.http_client.client, options)
        process.engine.hub.add_listener(await stack.enter_async_context(sender))
