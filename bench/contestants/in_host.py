"""Our own agent, by the plugin in the app of a host that has a page of its own."""

from __future__ import annotations

from litestar import Litestar, get
from ours import agent, settings

from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Surface


@get("/hello")
async def hello() -> str:
    """Say hello."""
    return "hello"


app = Litestar(
    [hello],
    plugins=[A2APlugin(Surface(agent, "", gate=OpenGate()), settings=settings)],
    logging_config=None,
)
