"""Types of the package root for type checkers.

Never run: `make check` reads it with mypy and basedpyright, both strict.
"""

from typing import assert_type

import a2a_runtime
from a2a_runtime import A2APlugin, Agent, Settings, Surface, create_app
from a2a_runtime import agent as agent_module


def names_have_the_types_of_their_modules(settings: Settings) -> None:
    """A lazily loaded name is the class or function of its module, not an object of any type."""
    agent = Agent("hello")
    assert_type(agent, agent_module.Agent)
    assert_type(A2APlugin(Surface(agent)).surfaces[0], Surface)
    create_app(agent, settings=settings)
    _ = a2a_runtime.Agnet  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
