"""The agent of all examples: it writes reports from the database that the application has
opened.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from a2a_runtime import Agent
from a2a_runtime.engine.handlers.context import TaskContext


class Database:
    """Stands for a pool of connections."""

    is_open = False

    async def count_sales(self, user: str) -> int:
        """Count something that belongs to a user."""
        if not self.is_open:
            raise RuntimeError("the database is closed")
        return len(user)


database = Database()


@asynccontextmanager
async def open_database(_app: object = None) -> AsyncIterator[None]:
    """Open the database with the application: a lifespan for every framework."""
    database.is_open = True
    yield
    database.is_open = False


def get_database() -> Database:
    """Give handlers the database: a dependency, which tests can replace."""
    return database


def build_agent() -> Agent:
    """Build the agent; each application has its own."""
    agent = Agent("reports", description="Writes reports.")
    agent.provide(sales=get_database)

    @agent.skill("write", tags=["sales"])
    async def write(ctx: TaskContext, sales: Database) -> str:
        """Write a report."""
        user = ctx.caller.subject
        return f"{user} has sold {await sales.count_sales(user)} books."

    return agent
