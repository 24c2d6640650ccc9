"""`paylock channel`: accounts that lend sequence numbers, so that payments fly side by side."""

import json

import click
import psycopg
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from paylock.channels import AddedChannel, FundingAccountUnclear, add_channels, sponsor_for
from paylock.cli import database_option
from paylock.keys import KeysNotGiven, keys_from_environment
from paylock.network_setup import NetworkUnreachable, SetupRefused, WrongNetwork, connect
from paylock.tables import counted


@click.group("channel")
def command() -> None:
    """Add and list channel accounts.

    Each channel account lets one transaction of up to 100 payments be on its way. Ten of them pay 1,000
    people in one ledger.
    """


@command.command("add")
@database_option
@click.option("--horizon-url", envvar="PAYLOCK_HORIZON_URL", required=True, show_envvar=True, metavar="URL")
@click.option(
    "--network-passphrase",
    envvar="PAYLOCK_NETWORK_PASSPHRASE",
    required=True,
    show_envvar=True,
    metavar="TEXT",
    help="Names the network; the node must belong to it, and so does this database from now on.",
)
@click.option("--organization", required=True, metavar="NAME", help="Whose payments the channels carry.")
@click.option("--funding-account", metavar="G…", help="Who carries the reserves, if there are several.")
@click.option("--json", "as_json", is_flag=True, help="Print the channels as one JSON object.")
@click.argument("total", type=click.IntRange(1, 10_000))
def add(
    database_url: str,
    horizon_url: str,
    network_passphrase: str,
    organization: str,
    funding_account: str | None,
    as_json: bool,
    total: int,
) -> None:
    """Add channel accounts until the organization has TOTAL of them.

    They are created on the network with a balance of 0; the funding account carries their reserves (1 XLM
    each, which it gets back when a channel is closed). Their keys come from the channel seed
    (PAYLOCK_CHANNEL_SEED or PAYLOCK_CHANNEL_SEED_FILE), the funding account's from PAYLOCK_FUNDING_SECRETS
    or PAYLOCK_FUNDING_SECRETS_FILE. A call that was interrupted is simply repeated.
    """
    console = Console(stderr=True)
    try:
        keys = keys_from_environment()
        network = connect(horizon_url, network_passphrase)
        with (
            psycopg.connect(database_url, autocommit=True, application_name="paylock channel") as connection,
            Progress(
                TextColumn("channels"),
                BarColumn(),
                MofNCompleteColumn(),
                console=console,
                transient=True,
                disable=not console.is_terminal,
            ) as progress,
        ):
            connection.execute("SELECT payroll.set_network(network_passphrase => %s)", (network_passphrase,))
            sponsor = sponsor_for(connection, organization, keys, funding_account)
            task = progress.add_task("channels", total=total)
            added = add_channels(
                connection, network, keys, sponsor, organization, total, lambda _: progress.advance(task)
            )
    except (KeysNotGiven, WrongNetwork, NetworkUnreachable, SetupRefused, FundingAccountUnclear) as error:
        raise click.ClickException(str(error)) from error
    _say_added(added, organization, total, as_json)


def _say_added(added: list[AddedChannel], organization: str, total: int, as_json: bool) -> None:
    if as_json:
        channels = [
            {
                "address": c.address,
                "key_index": c.key_index,
                "sequence": str(c.sequence),
                "created": c.created,
            }
            for c in added
        ]
        click.echo(json.dumps({"organization": organization, "added": channels}))
        return
    if not added:
        click.echo(f"{organization} has {counted(total, 'channel')} or more already; nothing was changed.")
        return
    created = sum(1 for channel in added if channel.created)
    click.echo(
        f"{organization}: {counted(created, 'channel')} created on the network, {len(added)} registered."
    )


@command.command("list")
@database_option
@click.option("--organization", metavar="NAME", help="Only this organization's.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_(database_url: str, organization: str | None, as_json: bool) -> None:
    """List channel accounts and what each is doing."""
    with psycopg.connect(database_url, autocommit=True, application_name="paylock channel") as connection:
        rows = connection.execute(
            "SELECT organization, address, key_index, sequence, state, reason, live_batch_id,"
            " live_batch_state FROM payroll.channel_overview WHERE %(name)s::text IS NULL OR"
            " lower(organization) = lower(%(name)s) ORDER BY organization, key_index",
            {"name": organization},
        ).fetchall()
    if as_json:
        names = (
            "organization",
            "address",
            "key_index",
            "sequence",
            "state",
            "reason",
            "batch",
            "batch_state",
        )
        records = [dict(zip(names, row, strict=True)) | {"sequence": str(row[3])} for row in rows]
        click.echo(json.dumps(records, ensure_ascii=False))
        return
    table = Table("organization", "channel", "key", "last sequence", "state", "carries")
    for name, address, key_index, sequence, state, reason, batch, batch_state in rows:
        carries = f"batch {batch} ({batch_state})" if batch is not None else "–"
        table.add_row(
            name, address, str(key_index), str(sequence), f"{state}: {reason}" if reason else state, carries
        )
    Console().print(table)
