"""``a2a-gen call``: a message to any agent, and its result."""

from __future__ import annotations

from contextlib import aclosing

import click

from a2a_runtime.base.importing import explain_missing

with explain_missing("a2a-gen call", "client"):
    from a2a_contract.v1_0 import Message, Task
    from a2a_runtime.cli.terminal.command import EXIT_CODES, run
    from a2a_runtime.cli.terminal.message import Order, order_options
    from a2a_runtime.cli.terminal.report import CallReport, finish, print_line
    from a2a_runtime.cli.terminal.text import to_safe_line
    from a2a_runtime.cli.usage_errors import StrictCommand
    from a2a_runtime.client import SendOptions
    from a2a_runtime.client.typed.conversation import CallConversation
    from a2a_runtime.client.typed.errors import InputRequiredError
    from a2a_runtime.client.typed.results import with_deadline

_EXAMPLES = f"""\b
Examples:
  a2a-gen call http://127.0.0.1:8000 greet Ada                       a text to the skill `greet`
  a2a-gen call https://agent.example report --data '{{"topic": "tea"}}'  JSON to a typed skill
  a2a-gen call https://agent.example --auto "Book a flight"          the agent chooses the skill
  a2a-gen call https://agent.example --task 7f3c Green               the answer to a question
  a2a-gen call https://agent.example scan --file scan.pdf --output . files in both directions
  A2A_CALL_TOKEN=... a2a-gen call https://agent.example greet Ada --json | jq .task.status

{EXIT_CODES}"""


@click.command(cls=StrictCommand, epilog=_EXAMPLES)
@order_options
@click.option(
    "--no-wait",
    is_flag=True,
    help="Print the id of the task as soon as it exists, and leave it running.",
)
def command(order: Order, *, no_wait: bool) -> None:
    """Call a skill of an agent and print its result.

    URL is that of an agent, of its card, or grpc://host:port. Questions of the agent are asked
    here, on a terminal. Ctrl-C cancels the task.
    """
    run(_start(order) if no_wait else _call(order))


async def _call(order: Order) -> None:
    report = CallReport(as_json=order.as_json, output=order.output)
    async with order.target.open() as client:
        message = await order.build_message(client)
        last = None
        streams = None if order.target.has_card else False
        conversation = CallConversation(client, order.build_options(), streams=streams)
        try:
            async with aclosing(
                with_deadline(conversation.run(message), order.target.timeout)
            ) as events:
                async for event in events:
                    last = event if isinstance(event, Task | Message) else last
        except InputRequiredError as error:
            if order.as_json and error.task is not None:
                report.print_result(error.task)
            raise
    if last is not None:
        report.print_result(last)
    finish(last)


async def _start(order: Order) -> None:
    """Send a message, and leave its task."""
    async with order.target.open() as client:
        started = await client.send(
            await order.build_message(client), wait=False, options=SendOptions()
        )
    report = CallReport(as_json=order.as_json, output=order.output)
    if order.as_json or isinstance(started, Message):
        report.print_result(started)
        return
    click.echo(to_safe_line(started.id))
    print_line(
        f"follow it with: a2a-gen tasks follow {to_safe_line(order.target.url)} "
        f"{to_safe_line(started.id)}"
    )
