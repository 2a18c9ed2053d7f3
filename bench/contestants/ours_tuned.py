"""Our own server, with Python's garbage collector set as ``a2a-gen serve --tune-gc`` sets it."""

from ours import app

from a2a_runtime.commands.serve import _tune_gc

_tune_gc()

__all__ = ["app"]
