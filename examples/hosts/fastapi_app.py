"""An agent in a FastAPI application whose dependency authenticates every request."""

from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from reports import build_agent, open_database

from a2a_runtime import Caller, Identity, Surface
from a2a_runtime.auth import Credentials
from a2a_runtime.local import connect
from a2a_runtime.starlette import mount_agents

TOKENS = {"token-of-ada": "ada", "token-of-bob": "bob"}


def require_user(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]
) -> str:
    """Authenticate the user, and leave the name for the agent."""
    user = TOKENS.get(credentials.credentials)
    if user is None:
        raise HTTPException(401, "unknown token", headers={"WWW-Authenticate": "Bearer"})
    request.state.user = user
    return user


def read_user(connection: Credentials) -> Identity | None:
    """Name the caller: the user whom the dependency has left in the state."""
    user = connection.scope["state"].get("user")
    return Identity(user) if user else None


app = FastAPI(dependencies=[Depends(require_user)], lifespan=open_database)
agents = mount_agents(app, "/agent", Surface(build_agent(), caller=read_user))


@app.get("/me")
async def me(request: Request) -> dict[str, int]:
    """Count the reports of the user: the application calls its own agent."""
    tasks = [task async for task in connect(agents, Caller(request.state.user)).list()]
    return {"reports": len(tasks)}
