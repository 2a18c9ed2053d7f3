"""Hot reload: modules whose files change are loaded again by their registry.

The watcher of the framework needs another library, which in some releases it does not understand.
This one uses the watcher of uvicorn, and leaves the rest to the registry: it loads the file, keeps
the old module if that fails, and announces the change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from a2a_runtime.base.importing import explain_missing
from a2a_runtime.errors import SkillSourceError

with explain_missing(__name__, "apcore"):
    # types of its watch filters are open
    from watchfiles import Change, awatch  # pyright: ignore[reportUnknownVariableType]

_DEBOUNCE_MILLIS = 200
_STEP_MILLIS = 50
_SUFFIX = ".py"

log = logging.getLogger(__name__)


def find_roots(registry: Any) -> Sequence[str]:
    """Find the folders of a registry, or raise ``SkillSourceError``."""
    roots = [str(each.get("root", "")) for each in getattr(registry, "_extension_roots", ())]
    found = [each for each in roots if Path(each).is_dir()]
    if not found or not hasattr(registry, "_handle_file_change"):
        raise SkillSourceError(
            "source ApcoreSource: watch: the registry has no folder of extensions; give it "
            "one, or remove watch"
        )
    return found


async def watch_files(registry: Any, roots: Sequence[str]) -> None:
    """Reload the modules of changed files until this is canceled."""
    async for changes in awatch(
        *roots, watch_filter=_is_module, debounce=_DEBOUNCE_MILLIS, step=_STEP_MILLIS
    ):
        for change, path in sorted(changes):
            try:
                if change is Change.deleted:
                    # as its own watcher does
                    await asyncio.to_thread(registry._handle_file_deletion, path)  # noqa: SLF001
                else:
                    await asyncio.to_thread(registry._handle_file_change, path)  # noqa: SLF001
            except Exception:
                # this is the edge of a background task: imported code may raise anything
                log.exception("module not reloaded: %s", path)


def _is_module(_change: Change, path: str) -> bool:
    return path.endswith(_SUFFIX) and not Path(path).name.startswith(("_", "."))
