"""``a2a-gen stream``: a message to any agent, and its events as they arrive."""

from __future__ import annotations

from contextlib import aclosing

import click

from a2a_runtime.base.importing import explain_missing

with explain_missing("a2a-gen stream", "client"):
    from a2a_contract.v1_0 import Message, Task
    from a2a_runtime.cli.terminal.command import EXIT_CODES, run
    from a2a_runtime.cli.terminal.message import Order, order_options
    from a2a_runtime.cli.terminal.report import CallReport, finish
    from a2a_runtime.cli.usage_errors import StrictCommand
    from a2a_runtime.client.typed.conversation import CallConversation
    from a2a_runtime.client.typed.results import with_deadline

_EXAMPLES = f"""\b
Examples:
  a2a-gen stream https://agent.example write --data '{{"topic": "tea"}}'   chunks as they come
  a2a-gen stream https://agent.example --auto "Tell me more" --json      one event in each line

With --json, each line is an event (task, message, statusUpdate or
artifactUpdate); the last one is the task as it is at its end.

{EXIT_CODES}"""


@click.command(cls=StrictCommand, epilog=_EXAMPLES)
@order_options
def command(order: Order) -> None:
    """Call a skill of an agent and print its result as it is made.

    Works as `a2a-gen call`; an agent that does not stream gives its result at once. A connection
    that breaks is resumed.
    """
    run(_stream(order))


async def _stream(order: Order) -> None:
    report = CallReport(as_json=order.as_json, output=order.output)
    async with order.target.open() as client:
        message = await order.build_message(client)
        last = None
        streams = None if order.target.has_card else True
        conversation = CallConversation(client, order.build_options(), streams=streams)
        try:
            async with aclosing(
                with_deadline(conversation.run(message), order.target.timeout)
            ) as events:
                async for event in events:
                    report.print_event(event)
                    last = event if isinstance(event, Task | Message) else last
        finally:
            report.close()
    finish(last)
