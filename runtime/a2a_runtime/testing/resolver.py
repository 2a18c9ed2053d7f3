"""A resolver that knows what a test has told it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from a2a_runtime.net.policy import Address


class TableResolver:
    """Answers from a table: for each name one answer after the other, the last one again and again.

    Each answer is some addresses, separated by blanks; an empty one says that the name has none.
    """

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self._answers = {name: list(texts) for name, texts in answers.items()}
        self.lookups: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[Address]:
        """Answer from the table."""
        self.lookups.append(host)
        answers = self._answers.get(host, [""])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if not answer:
            raise OSError(f"{host}:{port} has no address")
        return [ip_address(text) for text in answer.split()]

    async def close(self) -> None:
        """Forget nothing."""
