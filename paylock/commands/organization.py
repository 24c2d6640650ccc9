"""`paylock organization`: employers, and the accounts that they pay from."""

import json

import click
import psycopg
from rich.console import Console
from rich.table import Table

from paylock.cli import database_option


@click.group("organization")
def command() -> None:
    """Add and list employers and the accounts that they pay from."""


@command.command("add")
@database_option
@click.argument("name")
@click.option("--display-name", metavar="TEXT", help="As people write it; NAME if not given.")
@click.option("--funding-account", metavar="G…", help="The account that its money leaves from.")
def add(database_url: str, name: str, display_name: str | None, funding_account: str | None) -> None:
    """Add the employer NAME, the short name that files and commands use. Adding it again changes nothing.

    Its funding account is one that exists on the network, holds what is to be paid and some XLM for fees, and
    whose secret the pods get (PAYLOCK_FUNDING_SECRETS). It can be added later by the same command.
    """
    with (
        psycopg.connect(database_url, application_name="paylock organization") as connection,
        connection.transaction(),
    ):
        shown = connection.execute(
            "SELECT display_name FROM payroll.organization_overview WHERE lower(organization) = lower(%s)",
            (name,),
        ).fetchone()
        if shown is None or display_name is not None:
            connection.execute(
                "SELECT payroll.create_organization(organization => %s, display_name => %s)",
                (name, display_name or name),
            )
        if funding_account is not None:
            connection.execute(
                "SELECT payroll.add_funding_account(organization => %s, address => %s)",
                (name, funding_account),
            )
    click.echo(f"{name} can be used." if funding_account is None else f"{name} pays from {funding_account}.")


@command.command("list")
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_(database_url: str, as_json: bool) -> None:
    """List employers with their funding accounts."""
    with psycopg.connect(database_url, application_name="paylock organization") as connection:
        rows = connection.execute(
            "SELECT organization, display_name, payees, active_channels, ARRAY(SELECT f.address FROM"
            " payroll.funding_account_overview AS f WHERE f.organization = o.organization ORDER BY"
            " f.funding_account_id) FROM payroll.organization_overview AS o ORDER BY organization"
        ).fetchall()
    if as_json:
        names = ("organization", "display_name", "payees", "active_channels", "funding_accounts")
        click.echo(json.dumps([dict(zip(names, row, strict=True)) for row in rows], ensure_ascii=False))
        return
    table = Table("organization", "name", "payees", "channels", "pays from")
    for organization, display_name, payees, channels, accounts in rows:
        table.add_row(organization, display_name, f"{payees:,}", f"{channels:,}", "\n".join(accounts) or "–")
    Console().print(table)
