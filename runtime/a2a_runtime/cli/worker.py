"""``a2a-gen worker``: runs the skills that are placed on workers."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import click

from a2a_runtime.base.importing import explain_missing

with explain_missing("a2a-gen worker", "workers"):
    from litestar import Litestar

    from a2a_runtime.features.workers.probes import serve_probes
    from a2a_runtime.features.workers.worker import run_worker

from a2a_runtime.agent import Agent
from a2a_runtime.cli.process import PROJECT_APP, load_app, process_options
from a2a_runtime.cli.startup import InvalidConfigurationError, check_port, report_start_error
from a2a_runtime.cli.usage_errors import StrictCommand
from a2a_runtime.plugin import AGENT_PATH, A2APlugin
from a2a_runtime.process import AgentRuntime
from a2a_runtime.surface import Surface

_EXAMPLES = """\b
Examples:
  a2a-gen worker                              of the a2a.toml in this folder or above
  a2a-gen worker agent:app --concurrency 4    of an app; or name a Surface, an Agent or an A2APlugin
  a2a-gen worker --queue reports --port 8081  one queue only, with probes at /livez and /ready

\b
Exit codes: 0 stopped, 1 invalid configuration, 2 failed to start or crashed."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Queues that a worker fetches from, and the address of its probes."""

    queues: Sequence[str]
    concurrency: int
    host: str
    port: int | None


@click.command(cls=StrictCommand, epilog=_EXAMPLES)
@click.argument("app", default=PROJECT_APP)
@click.option(
    "--queue", "queues", multiple=True, help="Queue to serve; may be given again. [default: all]"
)
@click.option(
    "--concurrency",
    default=16,
    show_default=True,
    type=click.IntRange(1),
    help="Runs at once, of queues without a number of their own.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of the probes.")
@click.option(
    "--port",
    default=None,
    type=click.IntRange(0, 65535),
    help="Port of the probes /livez and /ready. [default: none]",
)
@process_options("worker")
def command(
    app: str, queues: tuple[str, ...], concurrency: int, host: str, port: int | None
) -> None:
    """Run the skills of an agent that are placed on workers, until it is stopped.

    Any number of workers may run, on any number of machines, beside the processes that serve the
    agent. They need its code, its environment and its Postgres store.
    """
    if port:
        check_port(host, port)
    plugin = find_plugin(app, load_app(app))
    try:
        asyncio.run(
            _run(plugin.build_worker_runtime, WorkerConfig(queues, concurrency, host, port))
        )
    except Exception as error:
        # this is the edge of the process: whatever the code raises is reported
        raise report_start_error(error) from error


def find_plugin(name: str, app: object) -> A2APlugin:
    """Find the agents of an app, also of one that is mounted in a host."""
    if isinstance(app, A2APlugin):
        return app
    if isinstance(app, Surface):
        return A2APlugin(app)
    # apps mount one without a surface at two places: for agents alone, and for a host
    if isinstance(app, Agent):
        return A2APlugin(Surface(app), Surface(app, path=AGENT_PATH))
    mounted = (getattr(route, "app", None) for route in getattr(app, "routes", ()))
    for each in (app, *mounted):
        plugins = each.plugins if isinstance(each, Litestar) else ()
        for plugin in plugins:
            if isinstance(plugin, A2APlugin):
                return plugin
    raise InvalidConfigurationError(
        f"{name}: no agent in {type(app).__name__}; name an app with A2APlugin or "
        "mount_agents, a Surface or an Agent"
    )


async def _run(build_runtime: Callable[[], AgentRuntime], config: WorkerConfig) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(
            run_worker(build_runtime(), queues=config.queues, concurrency=config.concurrency)
        )
        if config.port is not None:
            port = await stack.enter_async_context(serve_probes(state, config.host, config.port))
            click.echo(f"probes: http://{config.host}:{port}", err=True)
        for queue, concurrency in state.queues.items():
            skills = ", ".join(state.skills[queue])
            click.echo(f"queue {queue}: {skills} ({concurrency} at once)", err=True)
        click.echo("worker: ready", err=True)
        await stop.wait()
        click.echo("worker: stopping; running handlers have their grace time", err=True)
