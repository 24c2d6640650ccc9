"""`paylock import`: a payroll file becomes payees, schedules and lines."""

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import click
import psycopg
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from paylock.cli import database_option
from paylock.payroll_file import ProblemList, ScheduleTerms, TermsRefused, terms_from_words
from paylock.payroll_import import ImportOptions, PayrollRefused, import_payroll
from paylock.tables import amount_text, asset_text, counted

_SHOWN_SCHEDULES = 50
_TERM_OPTIONS = {
    "frequency": "--frequency",
    "rule": "--rule",
    "first_pay_date": "--first-pay-date",
    "pay_time": "--pay-time",
    "time_zone": "--time-zone",
    "end_date": "--end-date",
}


@click.command("import")
@database_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option(
    "--organization", metavar="NAME", help="The employer, for a file without the column organization."
)
@click.option(
    "--frequency", metavar="WORDS", help="once, weekly, every two weeks, semi-monthly, monthly, last day."
)
@click.option("--rule", metavar="RRULE", help="Instead of --frequency, as FREQ=MONTHLY;BYMONTHDAY=15.")
@click.option("--first-pay-date", metavar="YYYY-MM-DD", help="The first day on which it pays.")
@click.option("--pay-time", metavar="HH:MM", help="The local time at which it pays.")
@click.option("--time-zone", metavar="ZONE", help="The IANA zone of that time, as Europe/Berlin.")
@click.option("--end-date", metavar="YYYY-MM-DD", help="The last day on which it may pay.")
@click.option("--replace", is_flag=True, help="Stop paying those whom the file no longer names.")
@click.option("--dry-run", is_flag=True, help="Check everything and show what would happen; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
def command(
    database_url: str,
    file: Path,
    organization: str | None,
    replace: bool,
    dry_run: bool,
    as_json: bool,
    **terms: str | None,
) -> None:
    """Import a payroll FILE (CSV; '-' reads standard input).

    The file is checked whole first, and all problems are listed with their row and column. It is imported
    as a whole or not at all, and importing it again changes nothing. It is the whole content of the schedules
    that it names; schedules that it doesn't name are left alone.

    \b
    Columns (any order): schedule, employee_id, name, destination, asset, amount
      and where they apply: organization, memo_type, memo, issuer, line
      and when a schedule pays: frequency or rule, first_pay_date, pay_time, time_zone, end_date
      (or the options of these names, for a new schedule whose file has no such columns)
    """
    options = ImportOptions(organization, _terms(terms), replace, dry_run)
    console = Console(stderr=as_json)
    try:
        with psycopg.connect(database_url, autocommit=True, application_name="paylock import") as connection:
            summary = _import(connection, file, options, Console(stderr=True))
    except PayrollRefused as refused:
        if as_json:
            click.echo(json.dumps(_problems_as_json(refused.problems), ensure_ascii=False))
        else:
            _say_problems(file, refused.problems)
        sys.exit(1)
    if as_json:
        click.echo(json.dumps({"imported": not dry_run, **summary}, ensure_ascii=False))
    else:
        _say_summary(console, file, summary, dry_run)


def _terms(texts: dict[str, str | None]) -> ScheduleTerms | None:
    if not any(texts.values()):
        return None
    try:
        return terms_from_words(**{name: texts[name] or "" for name in _TERM_OPTIONS})
    except TermsRefused as refused:
        lines = [f"{_TERM_OPTIONS[column]} {message}" for column, message in refused.problems]
        raise click.UsageError("\n".join(lines)) from refused


def _opened(file: Path) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb")


def _import(
    connection: psycopg.Connection, file: Path, options: ImportOptions, console: Console
) -> dict[str, Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with (
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
        _opened(file) as stream,
    ):
        total = None if str(file) == "-" else file.stat().st_size
        task = progress.add_task("reading", total=total)

        def advance(bytes_read: int, rows: int) -> None:
            progress.update(task, completed=bytes_read, description=f"{rows:,} rows")

        return import_payroll(connection, stream, options, advance)


def _problems_as_json(problems: ProblemList) -> dict[str, Any]:
    return {
        "imported": False,
        "problems_total": problems.total,
        "problems": [
            {"row": problem.row, "column": problem.column, "message": problem.message} for problem in problems
        ],
    }


def _say_problems(file: Path, problems: ProblemList) -> None:
    for problem in problems:
        click.echo(f"{file.name}: {problem}", err=True)
    if problems.left_out:
        click.echo(f"… and {problems.left_out:,} more", err=True)
    click.echo(
        f"{counted(problems.total, 'problem')}. Nothing was imported: correct the file and import it again.",
        err=True,
    )


def _say_summary(console: Console, file: Path, summary: dict[str, Any], dry_run: bool) -> None:
    counts = Table("", "added", "changed", "removed", "unchanged")
    for kind in ("payees", "schedules", "lines"):
        numbers = summary[kind]
        counts.add_row(
            kind, *(f"{numbers.get(how, 0):,}" for how in ("added", "changed", "removed", "unchanged"))
        )
    console.print(counts)
    schedules = Table("organization", "schedule", "lines", "total", "next pay date", "in UTC", "state")
    for entry in summary["content"][:_SHOWN_SCHEDULES]:
        totals = "\n".join(
            f"{amount_text(total)} {asset_text(asset)}" for asset, total in entry["totals"].items()
        )
        local = f"{entry['next_local_time']} {entry['time_zone']}" if entry["next_local_time"] else "–"
        utc = (entry["next_pay_at"] or "–")[:19].replace("T", " ")
        schedules.add_row(
            entry["organization"],
            entry["schedule"],
            f"{entry['lines']:,}",
            totals,
            local,
            utc,
            entry["state"],
        )
    console.print(schedules)
    left_out = len(summary["content"]) - _SHOWN_SCHEDULES
    if left_out > 0:
        console.print(f"… and {counted(left_out, 'more schedule')} (see: paylock schedule list)")
    changed = summary["destinations_changed"]
    if changed:
        moved = Table(
            "organization",
            "employee",
            "name",
            "was paid to",
            "is paid to from now on",
            title="New destinations",
        )
        for entry in changed:
            moved.add_row(*(entry[key] for key in ("organization", "employee_id", "name", "old", "new")))
        console.print(moved)
    if dry_run:
        console.print(f"{file.name}: nothing is wrong. This was a dry run: nothing was changed.")
    elif summary["changed"]:
        console.print(f"{file.name}: imported {counted(summary['rows'], 'row')}.")
    else:
        console.print(f"{file.name}: everything in it was imported before; nothing was changed.")
