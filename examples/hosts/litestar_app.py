"""An agent in a Litestar application with JWT authentication."""

import os

from litestar import Litestar, Request, get
from litestar.connection import ASGIConnection
from litestar.security.jwt import JWTAuth, Token
from reports import build_agent, open_database

from a2a_runtime import A2APlugin, Caller
from a2a_runtime.auth import host_user
from a2a_runtime.local import connect


async def load_user(token: Token, _connection: ASGIConnection) -> str:
    """Load the user of a token."""
    return token.sub


secret = os.environ.get("TOKEN_SECRET", "a secret of thirty-two characters")
jwt = JWTAuth[str, Token](
    retrieve_user_handler=load_user, token_secret=secret, exclude=["^/schema"]
)


@get("/me")
async def me(request: Request) -> dict[str, int]:
    """Count the reports of the user: the application calls its own agent."""
    tasks = [task async for task in connect(request.app, Caller(request.user)).list()]
    return {"reports": len(tasks)}


app = Litestar(
    [me],
    plugins=[A2APlugin(build_agent(), caller=host_user(), public_card=True)],
    on_app_init=[jwt.on_app_init],
    lifespan=[open_database],
)
