"""``a2a-gen card show``: the card of an agent as its clients see it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from a2a_contract.v1_0 import AgentCard
from a2a_runtime.commands.terminal.command import EXIT_CODES, run
from a2a_runtime.commands.terminal.report import print_json
from a2a_runtime.commands.terminal.target import Target, target_options
from a2a_runtime.commands.terminal.text import to_safe_line
from a2a_runtime.commands.usage_errors import StrictCommand

_EXAMPLES = f"""\b
Examples:
  a2a-gen card show https://agent.example
  a2a-gen card show https://agent.example --extended --token @token.txt
  a2a-gen card show https://agent.example --card-key keys.pem     only if it is signed with that key

{EXIT_CODES}"""


@click.command(cls=StrictCommand, epilog=_EXAMPLES)
@target_options
@click.option("--extended", is_flag=True, help="The card for authenticated callers.")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON (1.0), whatever the agent speaks.")
def show(target: Target, *, extended: bool, as_json: bool) -> None:
    """Show what an agent offers, and how it is called."""

    async def print_card() -> None:
        async with target.open() as client:
            card = await (client.get_extended_card() if extended else client.get_card())
        print_json(card) if as_json else click.echo("\n".join(map(to_safe_line, describe_card(card))))

    run(print_card())


def describe_card(card: AgentCard) -> Iterator[str]:
    """Describe a card, line by line."""
    yield f"{card.name} {card.version}".rstrip()
    yield from (f"  {line}" for line in card.description.splitlines())
    capabilities = card.capabilities
    flags = {"streaming": capabilities.streaming, "webhooks": capabilities.push_notifications, "extended card": capabilities.extended_agent_card}
    yield f"capabilities: {', '.join(name for name, is_set in flags.items() if is_set) or 'none'}"
    for interface in card.supported_interfaces:
        tenant = f" (tenant {interface.tenant})" if interface.tenant else ""
        yield f"interface: {interface.url}  {interface.protocol_binding} {interface.protocol_version}{tenant}"
    yield f"requires: {_describe_requirements(card)}"
    for skill in card.skills:
        yield f"skill {skill.id}: {skill.name}"
        yield from (f"    {line}" for line in skill.description.splitlines())
        if skill.input_modes or skill.output_modes:
            modes = (", ".join(each or ()) or "default" for each in (skill.input_modes, skill.output_modes))
            yield f"    {' -> '.join(modes)}"
        yield from (f"    e.g. {example}" for example in skill.examples or ())


def _describe_requirements(card: AgentCard) -> str:
    """Describe the credentials that a card requires: alternatives of schemes, each with its kind."""
    schemes = card.security_schemes or {}

    def describe(name: str) -> str:
        kinds = schemes[name].model_dump(exclude_none=True) if name in schemes else {}
        kind = next(iter(kinds), "unknown").removesuffix("_security_scheme").replace("_", " ")
        return f"{name} ({kind})"

    found = [" with ".join(map(describe, each.schemes or {})) or "nothing" for each in card.security_requirements or ()]
    return " or ".join(found) or "nothing"
