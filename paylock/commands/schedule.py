"""`paylock schedule`: pay schedules, their dates, and stopping them."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click
import psycopg
from psycopg.rows import DictRow, dict_row
from rich.console import Console
from rich.table import Table

from paylock.cli import database_option
from paylock.tables import counted, moment_text

_STATES = ("active", "paused", "ended", "cancelled")
_CALENDAR_COLUMNS = ("nominal date", "pays (local time)", "in UTC", "why")


def schedule_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the arguments ORGANIZATION and SCHEDULE."""
    return click.argument("organization")(click.argument("schedule")(function))


def reason_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--reason`, which auditors read."""
    return click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept for auditors.")(
        function
    )


@click.group("schedule")
def command() -> None:
    """List, preview, pause, resume and cancel pay schedules.

    `paylock import` creates and changes them.
    """


@command.command("list")
@database_option
@click.option("--organization", metavar="NAME", help="Only this employer's.")
@click.option("--state", type=click.Choice(_STATES), help="Only those in this state.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_(database_url: str, organization: str | None, state: str | None, as_json: bool) -> None:
    """List schedules, the next to pay first."""
    rows = _query(
        database_url,
        "SELECT * FROM payroll.schedule_overview"
        " WHERE (%(organization)s::text IS NULL OR lower(organization) = lower(%(organization)s))"
        " AND (%(state)s::text IS NULL OR state = %(state)s)"
        " ORDER BY next_pay_at NULLS LAST, organization, schedule",
        {"organization": organization, "state": state},
    )
    if as_json:
        click.echo(_json(rows))
        return
    table = Table("organization", "schedule", "state", "pays", "next pay date", "lines")
    for row in rows:
        state_text = f"{row['state']}: {row['reason']}" if row["reason"] else row["state"]
        local = row["next_local_time"]
        upcoming = f"{local:%Y-%m-%d %H:%M:%S} {row['time_zone']}" if local else "–"
        table.add_row(
            row["organization"], row["schedule"], state_text, row["rule"], upcoming, f"{row['lines']:,}"
        )
    Console().print(table)


@command.command("preview")
@database_option
@schedule_arguments
@click.option("--count", type=click.IntRange(1, 1000), default=12, show_default=True, help="How many dates.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def preview(database_url: str, organization: str, schedule: str, count: int, as_json: bool) -> None:
    """Show the next pay dates of SCHEDULE of ORGANIZATION, in local time and UTC."""
    rows = _query(
        database_url,
        "SELECT * FROM payroll.preview_schedule(organization => %s, schedule => %s, count => %s)",
        (organization, schedule, count),
    )
    if as_json:
        click.echo(_json(rows))
        return
    if not rows:
        click.echo(f"{schedule} pays no more: it has ended or was cancelled.")
        return
    table = Table(*_CALENDAR_COLUMNS)
    for row in rows:
        utc = moment_text(row["pay_at"])
        table.add_row(
            str(row["nominal_date"]), f"{row['local_time']:%a %Y-%m-%d %H:%M:%S}", utc, row["note"] or ""
        )
    Console().print(table)


@command.command("pause")
@database_option
@schedule_arguments
@reason_option
def pause(database_url: str, organization: str, schedule: str, reason: str) -> None:
    """Open no run of SCHEDULE until it is resumed. Runs that are open go on (see: paylock run list)."""
    _query(
        database_url,
        "SELECT payroll.pause_schedule(organization => %s, schedule => %s, reason => %s)",
        (organization, schedule, reason),
    )
    click.echo(f"{schedule} is paused.")


@command.command("resume")
@database_option
@schedule_arguments
@click.option(
    "--missed",
    required=True,
    type=click.Choice(["skip", "open"]),
    help="What becomes of dates missed while it was paused: skip them, or open (and pay) each of them now.",
)
@reason_option
def resume(database_url: str, organization: str, schedule: str, missed: str, reason: str) -> None:
    """Let a paused SCHEDULE go on."""
    (row,) = _query(
        database_url,
        "SELECT * FROM payroll.resume_schedule("
        "organization => %s, schedule => %s, missed => %s, reason => %s)",
        (organization, schedule, missed, reason),
    )
    skipped = f" {counted(row['skipped'], 'date')} skipped." if row["skipped"] else ""
    if row["next_nominal_date"] is None:
        click.echo(f"{schedule} has ended: no date is left.{skipped}")
    else:
        click.echo(
            f"{schedule} is {row['state']}; it pays next for {row['next_nominal_date']},"
            f" at {moment_text(row['next_pay_at'])}.{skipped}"
        )


@command.command("cancel")
@database_option
@schedule_arguments
@reason_option
@click.option("--yes", is_flag=True, help="Don't ask.")
def cancel(database_url: str, organization: str, schedule: str, reason: str, yes: bool) -> None:
    """End SCHEDULE for ever, and stop what its open runs have not sent yet.

    What is on its way to the ledger can't be called back; it settles as the ledger says.
    """
    if not yes:
        click.confirm(f"Cancel {schedule} of {organization} for ever?", abort=True)
    (row,) = _query(
        database_url,
        "SELECT payroll.cancel_schedule(organization => %s, schedule => %s, reason => %s) AS outcome",
        (organization, schedule, reason),
    )
    outcome = row["outcome"]
    click.echo(
        f"{schedule} is cancelled. {counted(outcome['runs'], 'open run')} stopped,"
        f" {counted(outcome['cancelled'], 'payment')} cancelled, {outcome['in_flight']:,} on the way to the"
        " ledger."
    )


def _query(database_url: str, query: str, parameters: Any) -> list[DictRow]:
    """The rows, with all moments in UTC."""
    with psycopg.connect(
        database_url, autocommit=True, application_name="paylock schedule", row_factory=dict_row
    ) as connection:
        connection.execute("SET timezone = 'UTC'")
        return connection.execute(query.encode(), parameters).fetchall()


def _json(rows: list[DictRow]) -> str:
    return json.dumps(rows, ensure_ascii=False, default=_as_text)


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
