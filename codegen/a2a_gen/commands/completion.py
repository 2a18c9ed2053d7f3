"""``a2a-gen completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

EXAMPLES = """\b
Examples:
  eval "$(a2a-gen completion bash)"                                     in ~/.bashrc
  eval "$(a2a-gen completion zsh)"                                      in ~/.zshrc
  a2a-gen completion fish > ~/.config/fish/completions/a2a-gen.fish"""


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "fish", "zsh"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"{shell}: no completion available", ctx)
    click.echo(completion(ctx.find_root().command, {}, "a2a-gen", "_A2A_GEN_COMPLETE").source())
