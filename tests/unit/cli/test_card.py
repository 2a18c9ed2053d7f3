"""``a2a-gen card``: keys and signatures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from a2a_runtime.cli.card import command

CARD = {
    "name": "x",
    "description": "",
    "version": "1",
    "capabilities": {},
    "skills": [],
    "supportedInterfaces": [],
}


class CardCommand:
    """The command, in a folder with a card."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "card.json").write_text(json.dumps(CARD))

    def run(self, *words: str, **environment: str) -> Result:
        """Run a command; arguments with a dot are files of the folder."""
        placed = [
            str(self.folder / word) if word.endswith((".pem", ".json")) else word for word in words
        ]
        return CliRunner().invoke(command, placed, env=dict(environment))

    def write(self, name: str, *words: str) -> None:
        """Write the output of a command to a file."""
        done = self.run(*words)
        assert done.exit_code == 0, done.output
        (self.folder / name).write_text(done.stdout)


@pytest.fixture
def card_command(tmp_path: Path) -> CardCommand:
    """A folder with a key, and a card that is signed with it."""
    card_command = CardCommand(tmp_path)
    card_command.write("keys.json", "keygen", "key.pem")
    card_command.write("signed.json", "sign", "card.json", "--key", "key.pem")
    return card_command


def test_a_signed_card_is_verified(card_command: CardCommand) -> None:
    """A changed card, or one without signatures, is not."""
    assert card_command.run("verify", "signed.json", "--keys", "keys.json").exit_code == 0
    changed = {**json.loads((card_command.folder / "signed.json").read_text()), "name": "y"}
    (card_command.folder / "changed.json").write_text(json.dumps(changed))
    for card, said in (("changed.json", "no signature"), ("card.json", "not signed")):
        done = card_command.run("verify", card, "--keys", "keys.json")
        assert (done.exit_code, said in done.stderr) == (1, True)


def test_a_card_may_have_several_signatures(card_command: CardCommand) -> None:
    """Each key adds its own to the existing ones."""
    card_command.write("others.json", "keygen", "other.pem")
    card_command.write(
        "twice.json",
        "sign",
        "signed.json",
        "--key",
        "other.pem",
        "--kid",
        "o",
        "--jku",
        "https://x.example/keys",
    )
    for keys in ("keys.json", "others.json"):
        done = card_command.run("verify", "twice.json", "--keys", keys)
        assert done.exit_code == (
            0 if keys == "keys.json" else 1
        )  # the other one is known under its thumbprint only


def test_a_key_may_come_from_the_environment(card_command: CardCommand) -> None:
    """Itself, for containers without files, or in a file; not as both."""
    variables = {
        "A2A_CARD_KEY": (card_command.folder / "key.pem").read_text(),
        "A2A_CARD_KEY_FILE": str(card_command.folder / "key.pem"),
    }
    for name, value in variables.items():
        done = card_command.run("sign", "card.json", **{name: value})
        assert len(json.loads(done.stdout)["signatures"]) == 2
    done = card_command.run("sign", "card.json", **variables)
    assert (
        done.exit_code,
        "A2A_CARD_KEY_FILE: A2A_CARD_KEY is set too; set one of them" in done.stderr,
    ) == (2, True)


def test_a_key_is_for_its_owner_and_is_never_overwritten(card_command: CardCommand) -> None:
    """Other users cannot read the file."""
    assert (card_command.folder / "key.pem").stat().st_mode & 0o777 == 0o600
    assert card_command.run("keygen", "key.pem").exit_code == 2


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "no key": (("sign", "card.json"), "--key: not given"),
    "not a key": (("sign", "card.json", "--key", "card.json"), "not a private key"),
    "not a card": (("sign", "key.pem", "--key", "key.pem"), "the card: not JSON"),
    "one id for two keys": (
        ("sign", "card.json", "--key", "key.pem", "--key", "key.pem", "--kid", "a"),
        "--kid: names one key",
    ),
    "no keys": (("verify", "signed.json", "--keys", "card.json"), "not a key set"),
    "keys in the open": (
        ("verify", "signed.json", "--keys", "http://x.example/keys"),
        "keys need https",
    ),
    "no file": (("verify", "nothing.json", "--keys", "keys.json"), "cannot be read"),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG.keys())
def test_usage_errors_have_a_fix(
    card_command: CardCommand, words: tuple[str, ...], said: str
) -> None:
    """A usage error names the fix and has exit code 2."""
    done = card_command.run(*words)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
