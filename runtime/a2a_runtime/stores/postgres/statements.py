"""The statements of the store, by their names in the ``.sql`` files beside this one."""

from __future__ import annotations

import re

from a2a_runtime.stores import sql

_SECTIONS = sql.load(__package__ or "", "tasks.sql", "contexts.sql", "runs.sql", "pushes.sql", "counts.sql")
_INCLUDE = re.compile(r"\{(\w+)\}")


def _included(text: str) -> str:
    """Put other sections where a statement names them."""
    return _INCLUDE.sub(lambda name: _included(_SECTIONS[name[1]]), text)


SQL = {name: _included(text) for name, text in _SECTIONS.items()}
