"""Conversations in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from a2a_contract.v1_0 import Message
from a2a_runtime.caller import Scope
from a2a_runtime.stores import fragments
from a2a_runtime.stores.memory.base import Conversation, MemoryBase, when


class MemoryContexts(MemoryBase):
    """What belongs to a conversation as a whole."""

    async def load_context(self, scope: Scope, context_id: str) -> Mapping[str, object] | None:
        """Read what a handler has stored with a conversation."""
        conversation = self._conversations.get((scope, context_id))
        if conversation is None or conversation.data is None or self._is_over(conversation, scope, context_id):
            return None
        return fragments.members_of(conversation.data)

    async def update_context(self, scope: Scope, context_id: str, data: Mapping[str, object]) -> None:
        """Store something with a conversation."""
        text = fragments.object_bytes(data)
        conversation = self._touched(scope, context_id)
        conversation.data, conversation.updated_at = text, self._shelf.now()

    async def delete_context(self, scope: Scope, context_id: str) -> int:
        """Delete a conversation with all its tasks."""
        rows = list(self._shelf.in_context(scope, context_id))
        for row in rows:
            self._drop(row)
        self._conversations.pop((scope, context_id), None)
        return len(rows)

    async def conversation(self, scope: Scope, context_id: str, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of a conversation."""
        recent = self._options.expired(self._options.conversation)
        before = self._conversations.get((scope, context_id))
        said = [] if before is None else list(before.turns)
        for row in self._shelf.in_context(scope, context_id):
            said += row.history
        newest = sorted(((at, body) for at, body in said if at > recent), key=when)
        return [Message.model_validate_json(body) for _, body in newest[max(0, len(newest) - limit) :]]

    async def scopes(self) -> Sequence[Scope]:
        """Say whose tasks and conversations there are."""
        return sorted({*self._shelf.rooms, *(scope for scope, _ in self._conversations)}, key=Scope.to_text)

    async def delete_scope(self, scope: Scope) -> int:
        """Delete all tasks and conversations of a caller."""
        room = self._shelf.rooms.get(scope)
        contexts = {context_id for owner, context_id in self._conversations if owner == scope}
        return sum([await self.delete_context(scope, context_id) for context_id in contexts.union(room.by_context if room else ())])

    async def sweep(self, limit: int = 500) -> int:
        """Delete what has expired, but no task with deliveries left."""
        ended_by = self._options.expired(self._options.retention)
        swept = 0
        while swept < limit and (row := self._shelf.take_ended(ended_by, self._is_delivered)) is not None:
            self._outlive(row)
            swept += 1
        for (scope, context_id), conversation in list(self._conversations.items()):
            recent = self._options.expired(self._options.conversation)
            conversation.turns = [(at, body) for at, body in conversation.turns if at > recent]
            if self._is_over(conversation, scope, context_id):
                conversation.data = None
            if not conversation.turns and conversation.data is None:
                del self._conversations[scope, context_id]
        self._counts.sweep()
        now = self._options.clock.millis()
        self._processes = {process: until for process, until in self._processes.items() if until > now}
        return swept

    def _is_over(self, conversation: Conversation, scope: Scope, context_id: str) -> bool:
        """Tell whether nobody needs the data of a conversation any more: it is old, and there are no tasks."""
        return conversation.updated_at <= self._options.expired(self._options.conversation) and not self._shelf.in_context(scope, context_id)
