"""Brings a payroll file into the database: read, stage, check, apply; in one transaction, or not at all.

The file is read once and its rows go to the database in chunks, so that memory stays bounded. What is wrong
with the file itself is listed first; what only the database can tell (a schedule's missing lines, an unknown
organization) when the file itself is right.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import psycopg

from paylock.payroll_file import PayrollReader, PayrollRow, Problem, ProblemList, ScheduleTerms

CHUNK_ROWS = 1_000


class PayrollRefused(Exception):
    """The file can't be imported as it is; `problems` says why. Nothing was changed."""

    def __init__(self, problems: ProblemList) -> None:
        super().__init__(f"{problems.total} problems")
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """organization, terms: for files without these columns. replace: missing lines are removed."""

    organization: str | None = None
    terms: ScheduleTerms | None = None
    replace: bool = False
    dry_run: bool = False


def import_payroll(
    connection: psycopg.Connection,
    stream: BinaryIO,
    options: ImportOptions,
    progress: Callable[[int, int], None] = lambda bytes_read, rows: None,
) -> dict[str, Any]:
    """The summary that payroll.apply_payroll_import returns; raises PayrollRefused with all problems.

    connection: an operator's, not inside a transaction. progress is called with bytes and rows read so far.
    """
    import_id = uuid.uuid4()
    reader = PayrollReader(stream, options.organization, options.terms)
    with connection.transaction(force_rollback=options.dry_run):
        _stage(connection, import_id, reader, progress)
        if reader.problems:
            raise PayrollRefused(reader.problems)
        try:
            with connection.transaction():
                return _apply(connection, import_id, options.replace)
        except psycopg.Error as error:
            if error.sqlstate != "PL001":
                raise
            problems = _problems(connection, import_id, options.replace, reader)
            if not problems:
                raise
            raise PayrollRefused(problems) from error


def _stage(
    connection: psycopg.Connection,
    import_id: uuid.UUID,
    reader: PayrollReader,
    progress: Callable[[int, int], None],
) -> None:
    """Sends rows while the file is right; after the first problem only reads on, to find the others."""
    rows = reader.rows()
    while chunk := list(islice(rows, CHUNK_ROWS)):
        progress(reader.bytes_read.count, reader.rows_read)
        if not reader.problems:
            connection.execute(
                "SELECT payroll.stage_payroll_rows(import_id => %s, first_row => %s, rows => %s)",
                (import_id, chunk[0].row, json.dumps([_as_json(row) for row in chunk])),
            )
    progress(reader.bytes_read.count, reader.rows_read)


def _as_json(row: PayrollRow) -> dict[str, object]:
    staged: dict[str, object] = {
        "row": row.row,
        "organization": row.organization,
        "schedule": row.schedule,
        "employee_id": row.employee_id,
        "name": row.name,
        "destination": row.destination,
        "memo_type": row.memo_type,
        "memo": row.memo,
        "asset": row.asset_code or "XLM",
        "issuer": row.issuer,
        "amount": format(row.amount, "f"),
        "line": str(row.line),
    }
    if row.terms is not None:
        staged |= {
            "rule": row.terms.rule,
            "first_pay_date": row.terms.first_pay_date.isoformat(),
            "pay_time": row.terms.pay_time.isoformat(),
            "time_zone": row.terms.time_zone,
            "end_date": row.terms.end_date and row.terms.end_date.isoformat(),
        }
    return staged


def _apply(connection: psycopg.Connection, import_id: uuid.UUID, replace: bool) -> dict[str, Any]:
    row = connection.execute(
        "SELECT payroll.apply_payroll_import(import_id => %s, replace_lines => %s)", (import_id, replace)
    ).fetchone()
    assert row is not None
    summary: dict[str, Any] = row[0]
    return summary


def _problems(
    connection: psycopg.Connection, import_id: uuid.UUID, replace: bool, reader: PayrollReader
) -> ProblemList:
    problems = ProblemList()
    for problem in _problem_rows(connection, import_id, replace):
        columns = reader.columns
        if columns is not None and problem.column is not None and problem.row is not None:
            problem = columns.problem(problem.row, problem.column, problem.message)
        problems.add(problem)
    return problems


def _problem_rows(connection: psycopg.Connection, import_id: uuid.UUID, replace: bool) -> Iterator[Problem]:
    cursor = connection.execute(
        "SELECT row_number, column_name, problem"
        " FROM payroll.payroll_import_problems(import_id => %s, replace_lines => %s)",
        (import_id, replace),
    )
    for row_number, column_name, problem in cursor:
        yield Problem(row_number, column_name, problem)
