"""``a2a-gen card show``: the card of an agent as its clients see it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

import click
from pydantic_core import from_json

from a2a_contract.errors import A2AError
from a2a_contract.extension_table import SKILL_SCHEMAS
from a2a_contract.v1_0 import AgentCard
from a2a_runtime.base.card_extensions import find_params
from a2a_runtime.cli.terminal.command import EXIT_CODES, run
from a2a_runtime.cli.terminal.credentials import describe_requirements
from a2a_runtime.cli.terminal.inputs import describe_input
from a2a_runtime.cli.terminal.report import print_json
from a2a_runtime.cli.terminal.target import Target, target_options
from a2a_runtime.cli.terminal.text import to_safe_line
from a2a_runtime.cli.usage_errors import StrictCommand
from a2a_runtime.client import A2AClient, A2AClientError

_MAX_SCHEMAS = 50

_EXAMPLES = f"""\b
Examples:
  a2a-gen card show https://agent.example
  a2a-gen card show https://agent.example --extended --token @token.txt
  a2a-gen card show https://agent.example --card-key keys.pem     only if it is signed with that key

{EXIT_CODES}"""


@click.command(cls=StrictCommand, epilog=_EXAMPLES)
@target_options
@click.option("--extended", is_flag=True, help="The card for authenticated callers.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the card as JSON (1.0), whatever the agent speaks.",
)
def show(target: Target, *, extended: bool, as_json: bool) -> None:
    """Show what an agent offers, and how it is called."""

    async def print_card() -> None:
        async with target.open() as client:
            if extended:
                card = await client.get_extended_card()
            else:
                card = await client.get_card()
            if as_json:
                print_json(card)
                return
            inputs = await _read_inputs(client, card)
        click.echo("\n".join(map(to_safe_line, describe_card(card, inputs))))

    run(print_card())


async def _read_inputs(client: A2AClient, card: AgentCard) -> dict[str, object]:
    """Read the schemas of what the skills take, as far as they can be read."""
    params = find_params(card, SKILL_SCHEMAS)
    described = params.skills if params else {}
    urls = {name: each.input.url for name, each in described.items() if each.input is not None}
    names = [skill.id for skill in card.skills if skill.id in urls][:_MAX_SCHEMAS]
    schemas = await asyncio.gather(*(_read_schema(client, urls[name]) for name in names))
    return {name: schema for name, schema in zip(names, schemas, strict=True) if schema is not None}


async def _read_schema(client: A2AClient, url: str) -> object:
    """Read a schema; ``None`` if it cannot be read here, e.g. without credentials."""
    try:
        schema: object = from_json(await client.fetch_document(url))
    except (A2AClientError, A2AError, ValueError):
        return None
    return schema


def describe_card(card: AgentCard, inputs: Mapping[str, object] | None = None) -> Iterator[str]:
    """Describe a card, line by line, with the schemas of what its typed skills take."""
    yield f"{card.name} {card.version}".rstrip()
    yield from (f"  {line}" for line in card.description.splitlines())
    capabilities = card.capabilities
    flags = {
        "streaming": capabilities.streaming,
        "webhooks": capabilities.push_notifications,
        "extended card": capabilities.extended_agent_card,
    }
    yield f"capabilities: {', '.join(name for name, is_set in flags.items() if is_set) or 'none'}"
    for interface in card.supported_interfaces:
        tenant = f" (tenant {interface.tenant})" if interface.tenant else ""
        yield (
            f"interface: {interface.url}  {interface.protocol_binding} "
            f"{interface.protocol_version}{tenant}"
        )
    yield f"requires: {describe_requirements(card)}"
    for skill in card.skills:
        yield f"skill {skill.id}: {skill.name}"
        yield from (f"    {line}" for line in skill.description.splitlines())
        if skill.input_modes or skill.output_modes:
            modes = (
                ", ".join(each or ()) or "default"
                for each in (skill.input_modes, skill.output_modes)
            )
            yield f"    {' -> '.join(modes)}"
        if inputs and skill.id in inputs:
            yield "    takes (* is required):"
            yield from (f"      {line}" for line in describe_input(inputs[skill.id]))
        yield from (f"    e.g. {example}" for example in skill.examples or ())
