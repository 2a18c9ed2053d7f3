"""``a2a-gen card keygen``, ``sign`` and ``verify``: signatures of cards."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import click

from a2a_contract.dialects import CANONICAL, V0_3
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_runtime.base.importing import explain_missing

with explain_missing("a2a-gen card", "auth"):
    import httpx

    from a2a_runtime.features.keys.card_signatures import (
        CardSigner,
        TrustStore,
        UntrustedCardError,
        verify_card,
    )
    from a2a_runtime.features.keys.jcs import CanonicalizationError
    from a2a_runtime.features.keys.jwks import DocumentFetchError, check_key_url, fetch_document
    from a2a_runtime.features.keys.signing import SigningKey, build_jwks
    from a2a_runtime.features.keys.verification import parse_jwks
from a2a_runtime.settings import FILE_SUFFIX

_VERSIONS = {CANONICAL.version or "": CANONICAL.name, V0_3.version or "": V0_3.name}
_EXIT_UNTRUSTED = 1
_OWNER_ONLY_MODE = 0o600
_KEY_VARIABLE = "A2A_CARD_KEY"

_version_option = click.option(
    "--version",
    type=click.Choice(list(_VERSIONS)),
    default=CANONICAL.version,
    show_default=True,
    help="Protocol version of the card.",
)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def keygen(file: Path) -> None:
    """Generate a signing key.

    Writes an ES256 key to the new FILE, and prints its public key as a key set.
    """
    key = SigningKey.generate()
    try:
        with os.fdopen(
            os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY_MODE), "w"
        ) as out:
            out.write(key.to_pem())
    except FileExistsError:
        raise click.UsageError(f"{file}: exists already; name a new file") from None
    click.echo(build_jwks([key]))


@click.command()
@click.argument("card", type=click.File("rb"))
@click.option(
    "--key",
    "keys",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    envvar=f"{_KEY_VARIABLE}{FILE_SUFFIX}",
    show_envvar=True,
    multiple=True,
    help="PEM file of a private key.",
)
@click.option(
    "--key-pem", envvar=_KEY_VARIABLE, show_envvar=True, help="The private key itself, as PEM."
)
@click.option("--kid", help="Id of the key. [default: its thumbprint]")
@click.option("--jku", help="URL of the published public keys.")
@_version_option
def sign(card: click.File, keys: tuple[Path, ...], **options: str | None) -> None:
    """Sign a card.

    Adds signatures to CARD (a file, or - for standard input), and prints it.
    """
    if os.environ.get(_KEY_VARIABLE) and os.environ.get(f"{_KEY_VARIABLE}{FILE_SUFFIX}"):
        raise click.UsageError(
            f"{_KEY_VARIABLE}{FILE_SUFFIX}: {_KEY_VARIABLE} is set too; set one of them"
        )
    # click passes an open file
    document = _parse_object(card.read(), "the card")  # type: ignore[attr-defined]
    try:
        signer = CardSigner(_load_keys(keys, options["key_pem"], options["kid"], options["jku"]))
        signatures = signer.sign(document, _VERSIONS[options["version"] or ""])
    except (CanonicalizationError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    former = document.get("signatures")
    kept = former if is_json_array(former) else ()
    document["signatures"] = [*kept, *(each.to_dict() for each in signatures)]
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


@click.command()
@click.argument("card")
@click.option(
    "--keys", "keys", required=True, help="Key set with the trusted keys: a file or an https URL."
)
@_version_option
@click.pass_context
def verify(context: click.Context, card: str, keys: str, version: str) -> None:
    """Verify the signature of a card.

    Checks that CARD (a file or a URL) is signed by a trusted key.
    """
    try:
        known = asyncio.run(
            verify_card(
                _parse_object(_read_document(card), "the card"),
                _load_trust_store(keys),
                _VERSIONS[version],
            )
        )
    except UntrustedCardError as error:
        click.echo(f"not trusted: {error}", err=True)
        context.exit(_EXIT_UNTRUSTED)
    click.echo(f"signed by a trusted key: {known.get('name')}")


def _load_keys(
    files: tuple[Path, ...], pem: str | None, key_id: str | None, jku: str | None
) -> list[SigningKey]:

    if key_id and len(files) + bool(pem) > 1:
        raise click.UsageError(
            "--kid: names one key, but several are given; sign with one key at a time, or "
            "leave it out"
        )
    found = [SigningKey.from_file(file, key_id, jku) for file in files]
    if pem:
        found.append(SigningKey.from_pem(pem, key_id, jku))
    if not found:
        raise click.UsageError(
            f"--key: not given; use --key FILE, or set {_KEY_VARIABLE}{FILE_SUFFIX} or "
            f"{_KEY_VARIABLE}"
        )
    return found


def _load_trust_store(keys: str) -> TrustStore:

    try:
        if "://" in keys:
            check_key_url(keys)
        return TrustStore(parse_jwks(_read_document(keys)))
    except ValueError as error:
        raise click.UsageError(f"--keys {keys}: {error}") from error


def _read_document(source: str) -> bytes:

    try:
        if "://" in source:
            return asyncio.run(fetch_document(source))
        return Path(source).read_bytes()
    except (DocumentFetchError, httpx.InvalidURL, OSError) as error:
        raise click.UsageError(f"{source}: cannot be read: {error}") from error


def _parse_object(text: bytes, subject: str) -> dict[str, object]:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{subject}: not JSON: {error}") from error
    if not is_json_object(value):
        raise click.UsageError(f"{subject}: not a JSON object")
    return value
