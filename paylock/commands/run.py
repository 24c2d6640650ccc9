"""`paylock run`: pay runs, and what became of each payment."""

import csv
import json
import sys
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import click
import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row
from rich.console import Console
from rich.table import Table

from paylock.cli import database_option
from paylock.tables import amount_text, asset_text, counted, moment_text

_RUN_STATES = (
    "open", "awaiting_approval", "approved", "paying", "awaiting_funds", "held", "paid", "partly_paid",
    "cancelled",
)  # fmt: skip
_PAYMENT_STATES = ("pending", "in_flight", "held", "paid", "failed", "cancelled")
_COUNTS = ("pending", "in_flight", "held", "paid", "failed", "cancelled")

_LIST = sql.SQL("""
    SELECT *
      FROM payroll.run_overview
     WHERE (%(organization)s::text IS NULL OR lower(organization) = lower(%(organization)s))
       AND (%(schedule)s::text IS NULL OR lower(schedule) = lower(%(schedule)s))
       AND (%(state)s::text IS NULL OR state = %(state)s)
     ORDER BY pay_at DESC, run_id DESC
     LIMIT %(limit)s
""")


@click.group("run")
def command() -> None:
    """List pay runs and show what became of each payment."""


@command.command("list")
@database_option
@click.option("--organization", metavar="NAME", help="Only this employer's.")
@click.option("--schedule", metavar="NAME", help="Only this schedule's.")
@click.option("--state", type=click.Choice(_RUN_STATES), help="Only runs in this state.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The newest so many."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_runs(
    database_url: str,
    organization: str | None,
    schedule: str | None,
    state: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """The newest pay runs, newest first."""
    rows = _query(
        database_url,
        _LIST,
        {"organization": organization, "schedule": schedule, "state": state, "limit": limit},
    )
    if as_json:
        click.echo(json.dumps(rows, default=_plain, ensure_ascii=False))
        return
    table = Table(
        "run", "organization", "schedule", "date", "pays at", "state", "paid", "failed", "other", "payments"
    )
    for row in rows:
        other = row["pending"] + row["in_flight"] + row["held"] + row["cancelled"]
        table.add_row(
            str(row["run_id"]),
            row["organization"],
            row["schedule"],
            str(row["nominal_date"]),
            f"{row['local_time']:%Y-%m-%d %H:%M} {row['time_zone']}",
            row["state"],
            *(f"{number:,}" for number in (row["paid"], row["failed"], other, row["payments"])),
        )
    Console().print(table if rows else "There is no such run.")


@command.command("show")
@database_option
@click.argument("run_id", type=click.IntRange(1))
@click.option("--state", type=click.Choice(_PAYMENT_STATES), help="Only payments in this state.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the run, its totals and payments as one JSON object."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the payments as CSV.")
def show_run(database_url: str, run_id: int, state: str | None, as_json: bool, as_csv: bool) -> None:
    """One run: each payment with its state, reason, transaction hash and ledger."""
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    key = {"run_id": run_id, "state": state}
    runs = _query(database_url, sql.SQL("SELECT * FROM payroll.run_overview WHERE run_id = %(run_id)s"), key)
    if not runs:
        raise click.ClickException(f"there is no run {run_id} (see: paylock run list)")
    totals = _query(
        database_url,
        sql.SQL("SELECT * FROM payroll.run_totals WHERE run_id = %(run_id)s ORDER BY asset"),
        key,
    )
    payments = _query(
        database_url,
        sql.SQL(
            "SELECT * FROM payroll.payment_overview WHERE run_id = %(run_id)s"
            " AND (%(state)s::text IS NULL OR state = %(state)s) ORDER BY employee_id, line"
        ),
        key,
    )
    if as_json:
        content = {"run": runs[0], "totals": totals, "payments": payments}
        click.echo(json.dumps(content, default=_plain, ensure_ascii=False))
    elif as_csv:
        _write_csv(payments)
    else:
        _show(runs[0], totals, payments)


def _query(database_url: str, query: sql.SQL, parameters: dict[str, Any]) -> list[DictRow]:
    with psycopg.connect(
        database_url, autocommit=True, row_factory=dict_row, application_name="paylock run"
    ) as connection:
        return connection.execute(query, parameters).fetchall()


def _plain(value: object) -> str:
    """Amounts as exact strings, moments and dates as ISO 8601."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value)


_CSV_COLUMNS = (
    "employee_id", "name", "line", "destination", "memo_type", "memo_value", "asset", "amount", "state",
    "reason", "failure_code", "tx_hash", "ledger", "closed_at",
)  # fmt: skip


def _write_csv(payments: list[DictRow]) -> None:
    writer = csv.writer(sys.stdout)
    writer.writerow(_CSV_COLUMNS)
    for row in payments:
        writer.writerow(["" if row[name] is None else _cell(row[name]) for name in _CSV_COLUMNS])


def _cell(value: object) -> str:
    """A spreadsheet must not take somebody's name for a formula."""
    text = _plain(value)
    return "'" + text if isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _show(run: DictRow, totals: list[DictRow], payments: list[DictRow]) -> None:
    console = Console()
    console.print(
        f"Run {run['run_id']}: {run['organization']}, {run['schedule']}, {run['nominal_date']}",
        highlight=False,
    )
    console.print(
        f"pays at {run['local_time']} {run['time_zone']} ({moment_text(run['pay_at'])})", highlight=False
    )
    counts = ", ".join(f"{run[name]:,} {name.replace('_', ' ')}" for name in _COUNTS if run[name])
    console.print(f"{run['state']}: {counts or 'no payments'}", highlight=False)
    if run["reason"]:
        console.print(run["reason"], highlight=False, markup=False)
    summary = Table("asset", "payments", "amount", "paid", "paid amount", "failed", "failed amount")
    for row in totals:
        summary.add_row(
            asset_text(row["asset"]),
            f"{row['payments']:,}",
            amount_text(row["amount"]),
            f"{row['paid_payments']:,}",
            amount_text(row["paid_amount"]),
            f"{row['failed_payments']:,}",
            amount_text(row["failed_amount"]),
        )
    console.print(summary)
    table = Table("employee", "name", "amount", "state", "ledger", "transaction", "reason")
    for row in payments:
        table.add_row(
            row["employee_id"] + (f"/{row['line']}" if row["line"] > 1 else ""),
            row["name"],
            f"{amount_text(row['amount'])} {asset_text(row['asset']).split(' ')[0]}",
            row["state"],
            str(row["ledger"] or ""),
            (row["tx_hash"] or "")[:12],
            row["reason"] or "",
        )
    console.print(table)
    console.print(counted(len(payments), "payment"))
