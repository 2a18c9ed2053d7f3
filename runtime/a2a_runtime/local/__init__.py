"""Agents of this process for code of their host: start a task in the name of a caller, without
HTTP, and follow it.

Loaded where code of the host starts tasks (``connect``).

    client = connect(request.app, Caller("ada"), "/agent")
    task = await client.send("Write the report", wait=False)
    async for event in client.subscribe(task):
        …

The host vouches for the caller: no gate is asked, and limits of requests do not count. Everything
else is as over HTTP: a task belongs to its caller, and the policy and the requirements of skills
apply.

    await release(request.app, authorization)
        a task that waits for an authorization goes on, see ``ctx.require_auth``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import Litestar

from a2a_contract.dialects import MESH
from a2a_contract.errors import UnavailableError
from a2a_contract.v1_0 import Message, Part, Role, Task
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.engine.handlers.questions import AuthorizationRequest
from a2a_runtime.engine.handlers.results import to_parts
from a2a_runtime.plugin import A2APlugin

if TYPE_CHECKING:
    from a2a_runtime.client.client import A2AClient


def connect(app: Litestar, caller: Caller, path: str | None = None) -> A2AClient:
    """Connect to the agent at a path of an app, for a caller; without a path, to the only agent of
    the app.
    """
    # imported only here: it loads httpx, which agents without clients do not need
    from a2a_runtime.client.client import A2AClient  # noqa: PLC0415
    from a2a_runtime.local.connection import LocalConnection  # noqa: PLC0415 - as above

    plugin = _find_plugin(app, "connect")
    found = [each for each in plugin.surfaces if path is None or each.path == path.rstrip("/")]
    if len(found) != 1:
        paths = ", ".join(each.path or "/" for each in plugin.surfaces)
        problem = "no agent at this path" if path is not None else "the app has several agents"
        raise ValueError(f"connect: {problem}; pass one of {paths}")
    if MESH.name in found[0].dialects and len(found[0].dialects) == 1:
        raise ValueError(
            f"connect: {found[0]} has only the mesh dialect, which has no questions; add "
            "another dialect"
        )
    return A2AClient.over(LocalConnection(plugin, found[0], caller))


async def release(app: Litestar, authorization: str, *values: object) -> Task:
    """Release a task that waits for an authorization, such as in the callback route of an OAuth
    provider, and return it.

    ``authorization`` is what ``ctx.authorization`` has returned, and ``values`` are the answer that
    the handler gets. They stay in the history of the task, so pass no secrets.
    ``TaskNotAcceptingMessagesError`` if the task does not wait for this authorization, such as a
    second time.
    """
    request = AuthorizationRequest.from_text(authorization)
    runtime = _find_plugin(app, "release").runtime
    if runtime is None:
        raise UnavailableError("The agents are not running: the lifespan of their app has not run")
    parts: list[Part] = []
    for value in values or ("Authorized",):
        parts += to_parts(value)
    message = Message(message_id=IdGenerator(runtime.clock).new(), role=Role.USER, parts=parts)
    accepted = await runtime.engine.send_message(
        request.scope, request.task_id, message, authorization=request.key
    )
    return (await runtime.engine.load(request.scope, accepted.stored.wire_id)).task.model


def _find_plugin(app: Litestar, function: str) -> A2APlugin:
    plugin = next((each for each in app.plugins if isinstance(each, A2APlugin)), None)
    if plugin is None:
        raise ValueError(
            f"{function}: the app has no A2APlugin; pass the Litestar app that has it, or "
            "what mount_agents has returned"
        )
    return plugin
