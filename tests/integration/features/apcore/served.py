"""A process that serves the world: ``serve(registry, **options)`` with options as JSON."""

from __future__ import annotations

import json
import sys

from integration.features.apcore.world import Add, Count, Slow, build_registry

from a2a_runtime.features.apcore import serve

if __name__ == "__main__":
    serve(
        build_registry(math__add=Add(), count__up_to=Count(), time__wait=Slow()),
        **json.loads(sys.argv[1]),
    )
