"""Where surfaces are reached from outside, as a registry has told it."""

from __future__ import annotations

from collections.abc import Iterable

from a2a_runtime.surface import Surface


class PublicAddresses:
    """The addresses that were told last, by the path of a surface and the id of its skill."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    def learn(self, path: str, skill_id: str, url: str | None) -> None:
        """Keep the address of a surface, however the slash at the end of its path is written, or that it has none."""
        self._known[path.rstrip("/"), skill_id] = url or ""

    def of(self, surface: Surface) -> str | None:
        """Find the address of a surface."""
        if not self._known:
            return None
        return next((found for found in self._found(surface)), None)

    def _found(self, surface: Surface) -> Iterable[str]:
        return (url for skill_id in surface.skills if (url := self._known.get((surface.path, skill_id))))
