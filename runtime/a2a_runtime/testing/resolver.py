"""Resolver with scripted answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from a2a_runtime.net.policy import Address


class TableResolver:
    """Resolves names from a table: one answer after the other, the last one repeatedly.

    An answer is a list of addresses separated by blanks; an empty one means that the name has no
    address.
    """

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self._answers = {name: list(texts) for name, texts in answers.items()}
        self.lookups: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[Address]:
        """Return the next answer."""
        self.lookups.append(host)
        answers = self._answers.get(host, [""])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if not answer:
            raise OSError(f"{host}:{port} has no address")
        return [ip_address(text) for text in answer.split()]

    async def close(self) -> None:
        """Do nothing: there are no resources."""
