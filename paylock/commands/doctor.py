"""`paylock doctor`: is this database fit to pay from?"""

import asyncio
import dataclasses
import json
import sys
from pathlib import Path

import click
import psycopg
from rich.console import Console
from rich.markup import escape

from paylock.cli import database_option
from paylock.doctor import Finding, Level, NetworkSettings, check_database, check_network

_COLOURS = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


@click.command("doctor")
@database_option
@click.option("--horizon-url", envvar="PAYLOCK_HORIZON_URL", default="", show_envvar=True, metavar="URL")
@click.option(
    "--network-passphrase",
    envvar="PAYLOCK_NETWORK_PASSPHRASE",
    default="",
    show_envvar=True,
    metavar="TEXT",
)
@click.option(
    "--channel-seed-file",
    envvar="PAYLOCK_CHANNEL_SEED_FILE",
    show_envvar=True,
    type=click.Path(path_type=Path),
)
@click.option(
    "--funding-secrets-file",
    envvar="PAYLOCK_FUNDING_SECRETS_FILE",
    show_envvar=True,
    type=click.Path(path_type=Path),
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON array.")
def command(
    database_url: str,
    horizon_url: str,
    network_passphrase: str,
    channel_seed_file: Path | None,
    funding_secrets_file: Path | None,
    as_json: bool,
) -> None:
    """Check the database, its functions and grants, the network, keys, channels and clocks.

    Changes nothing. Exits with 1 when something fails: then don't start pods before it is mended. Works with
    any login that may read the views; more is compared as the installing role, and where the keys are.
    """
    settings = NetworkSettings(
        horizon_url,
        network_passphrase,
        _secret(channel_seed_file),
        tuple(_secret(funding_secrets_file).replace(",", " ").split()),
    )
    with psycopg.connect(database_url, autocommit=True, application_name="paylock doctor") as connection:
        findings = asyncio.run(_all(connection, settings))
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        console = Console(soft_wrap=True, highlight=False)
        for finding in findings:
            colour = _COLOURS[finding.level]
            console.print(f"[{colour}]{finding.level:4}[/] {escape(finding.check)}: {escape(finding.detail)}")
            if finding.advice:
                console.print(f"     → {escape(finding.advice)}")
    sys.exit(1 if any(finding.level is Level.FAIL for finding in findings) else 0)


async def _all(connection: psycopg.Connection, settings: NetworkSettings) -> list[Finding]:
    findings = list(check_database(connection))
    row = connection.execute(
        "SELECT coalesce(has_table_privilege(to_regclass('payroll.channel_overview'), 'SELECT'), false)"
    ).fetchone()
    if row is not None and row[0]:
        findings += [finding async for finding in check_network(connection, settings)]
    return findings


def _secret(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{path} can't be read: {type(error).__name__}") from error
