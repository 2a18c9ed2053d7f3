"""pydantic-ai: its agents as skills, and the skills of remote agents as its tools.

Loaded where it is imported.

source ──► turns      one run of the model, its record, and the question to the caller
   │
   └─────► history    the last turns of a conversation, in its state

toolset               tools that are skills of a remote agent; their questions wait as turns do
"""

from typing import TYPE_CHECKING

from a2a_runtime.base.importing import lazy_names

if TYPE_CHECKING:
    from a2a_runtime.features.pydantic_ai.history import HistoryLimits
    from a2a_runtime.features.pydantic_ai.source import PydanticAISource, from_pydantic_ai
    from a2a_runtime.features.pydantic_ai.toolset import A2AToolset

__all__ = ["A2AToolset", "HistoryLimits", "PydanticAISource", "from_pydantic_ai"]
if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, __all__, "source", "history", "toolset")
