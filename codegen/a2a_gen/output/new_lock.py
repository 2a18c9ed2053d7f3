"""The lock of a build that is under way."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version

import a2a_gen
from a2a_gen.output.lock import TOOLS, GeneratorInfo, Lock, hash_bytes, hash_sources
from a2a_gen.source.project import Project


def build_lock(project: Project, inputs: Mapping[str, bytes]) -> Lock:
    """Build the lock without its outputs, which are not known yet."""
    return Lock(
        describe_generator(),
        project.options,
        {path: hash_bytes(content) for path, content in inputs.items()},
        {},
    )


@cache
def describe_generator() -> GeneratorInfo:
    """Describe this generator: its version, its sources, and the tools that it uses."""
    return GeneratorInfo(
        a2a_gen.__version__, hash_sources(), {tool: version(tool) for tool in TOOLS}
    )
