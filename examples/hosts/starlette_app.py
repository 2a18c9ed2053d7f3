"""An agent in a Starlette application with an authentication middleware."""

from reports import build_agent, open_database
from starlette.applications import Starlette
from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    BaseUser,
    SimpleUser,
    requires,
)
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_runtime import Caller, Surface
from a2a_runtime.auth import host_user
from a2a_runtime.local import connect
from a2a_runtime.starlette import mount_agents

TOKENS = {"Bearer token-of-ada": "ada", "Bearer token-of-bob": "bob"}


class TokenBackend(AuthenticationBackend):
    """Finds the user of a token."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        """Return the user, or none."""
        user = TOKENS.get(conn.headers.get("authorization", ""))
        return (AuthCredentials(["authenticated"]), SimpleUser(user)) if user else None


@requires("authenticated", status_code=401)
async def me(request: Request) -> JSONResponse:
    """Count the reports of the user: the application calls its own agent."""
    tasks = [task async for task in connect(agents, Caller(request.user.username)).list()]
    return JSONResponse({"reports": len(tasks)})


app = Starlette(
    routes=[Route("/me", me)],
    middleware=[Middleware(AuthenticationMiddleware, backend=TokenBackend())],
    lifespan=open_database,
)
agents = mount_agents(app, "/agent", Surface(build_agent(), caller=host_user()))
