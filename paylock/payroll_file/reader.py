"""Reads the whole file row by row and checks what only several rows together can tell."""

from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain
from typing import BinaryIO

from paylock.payroll_file.columns import BY_NAME, Columns, normalized, read_header
from paylock.payroll_file.problems import Problem, ProblemList
from paylock.payroll_file.records import Record, records_of, separator_of
from paylock.payroll_file.row import PayrollRow, RowChecker, folded
from paylock.payroll_file.terms import ScheduleTerms
from paylock.payroll_file.text_source import ByteCounter, LineTooLong, NotTheRightFile, lines_of, open_text

_KNOWN = frozenset(BY_NAME)


class PayrollReader:
    """One pass over a payroll file.

    organization: the short name for every row of a file without that column, or None.
    terms: the terms for every schedule of a file without terms' columns, or None.
    After rows() has ended, `problems` holds everything that is wrong; use nothing if it holds anything.
    """

    def __init__(
        self,
        stream: BinaryIO,
        organization: str | None = None,
        terms: ScheduleTerms | None = None,
        problems: ProblemList | None = None,
    ) -> None:
        self._stream = stream
        self._organization = organization
        self._terms = terms
        self.problems = ProblemList() if problems is None else problems
        self.bytes_read = ByteCounter()
        self.rows_read = 0
        self.columns: Columns | None = None
        self._separator = ","

    def rows(self) -> Iterator[PayrollRow]:
        """The rows that have no problem, in file order. Memory grows with the number of payees only."""
        try:
            text = open_text(self._stream, self.bytes_read)
        except NotTheRightFile as refused:
            self.problems.add(Problem(None, None, str(refused)))
            return
        records = self._records(lines_of(text))
        header = next((record for record in records if record.damage or any(record.fields)), None)
        if header is None:
            self.problems.add(
                Problem(None, None, "the file is empty; it needs a header row and one row per payee")
            )
            return
        if header.damage:
            self.problems.add(Problem(header.row, None, header.damage))
            return
        self.columns = read_header(
            header, self._separator, self._organization is not None, self._terms is not None, self.problems
        )
        if self.columns is None:
            return
        yield from self._checked(records, self.columns)

    def _records(self, lines: Iterator[str]) -> Iterator[Record]:
        """Records of the whole file; the separator comes from the first line that is not blank."""
        skipped = 0
        first = ""
        try:
            for first in lines:
                if first.strip("\ufeff").casefold().startswith("sep=") and not skipped:
                    continue  # Excel's hint about the separator; it shows no such row
                if first.strip():
                    break
                skipped += 1
            else:
                return
        except LineTooLong:
            yield Record(
                skipped + 1, [], "is far too long to be a row; are the line breaks missing?", ends_file=True
            )
            return
        self._separator = separator_of(first, _KNOWN, normalized)
        yield from records_of(chain([first], lines), self._separator, skipped + 1)

    def _checked(self, records: Iterator[Record], columns: Columns) -> Iterator[PayrollRow]:
        checker = RowChecker(columns, self._organization, self._terms, self.problems)
        together = _Together(columns, self.problems)
        for record in records:
            if record.damage:
                self.problems.add(Problem(record.row, None, record.damage))
                continue
            if not any(record.fields):
                continue
            self.rows_read += 1
            row = checker.check(record.row, record.fields)
            if row is not None and together.agrees(row):
                yield row
        if self.rows_read == 0 and not self.problems:
            self.problems.add(Problem(None, None, "the file has a header but no rows; add one row per payee"))


class _Together:
    """What rows must agree on: one line per payee and number, one person per id, one set of terms."""

    def __init__(self, columns: Columns, problems: ProblemList) -> None:
        self._columns = columns
        self._problems = problems
        self._lines: dict[bytes, int] = {}
        self._payees: dict[bytes, tuple[bytes, int]] = {}
        self._schedules: dict[tuple[str, str], tuple[str, ScheduleTerms | None, int]] = {}

    def agrees(self, row: PayrollRow) -> bool:
        before = self._problems.total
        self._one_set_of_terms(row)
        payee = _digest(folded(row.organization), folded(row.employee_id))
        if self._one_line(row, payee):
            self._one_person(row, payee)
        return self._problems.total == before

    def _one_line(self, row: PayrollRow, payee: bytes) -> bool:
        first = self._lines.setdefault(_digest(payee.hex(), folded(row.schedule), str(row.line)), row.row)
        if first == row.row:
            return True
        if "line" in self._columns.places:
            message = (
                f"{row.employee_id!r} has line {row.line} in row {first} already; give this row another line"
                " number"
            )
        else:
            message = (
                f"{row.employee_id!r} stands in row {first} already; delete one of the two rows, or add a"
                " column 'line' (1, 2, …) if both are meant"
            )
        self._problems.add(self._columns.problem(row.row, "employee_id", message))
        return False

    def _one_person(self, row: PayrollRow, payee: bytes) -> None:
        person = _digest(row.employee_id, row.name, row.destination, row.memo_type, row.memo or "")
        known, first = self._payees.setdefault(payee, (person, row.row))
        if known != person:
            message = (
                f"{row.employee_id!r} stands in row {first} with another spelling, name, destination or memo;"
                " one person has one of each: make the rows alike, or give the other person another id"
            )
            self._problems.add(self._columns.problem(row.row, "employee_id", message))

    def _one_set_of_terms(self, row: PayrollRow) -> None:
        key = (folded(row.organization), folded(row.schedule))
        spelling, terms, first = self._schedules.setdefault(key, (row.schedule, row.terms, row.row))
        if spelling != row.schedule:
            message = (
                f"{row.schedule!r} is spelled {spelling!r} in row {first}; spell one schedule in one way"
            )
            self._problems.add(self._columns.problem(row.row, "schedule", message))
        if terms == row.terms:
            return
        for column, name in _TERM_FIELDS.items():
            one, other = (None if side is None else getattr(side, name) for side in (terms, row.terms))
            if one == other:
                continue
            shown = column if column in self._columns.places else "rule"
            self._problems.add(
                self._columns.problem(
                    row.row,
                    shown,
                    f"says {_shown(other)} for schedule {row.schedule!r}, but row {first} says "
                    f"{_shown(one)}; a schedule has one set of terms, the same on each of its rows",
                )
            )


_TERM_FIELDS = {
    "frequency": "rule",
    "first_pay_date": "first_pay_date",
    "pay_time": "pay_time",
    "time_zone": "time_zone",
    "end_date": "end_date",
}


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)


def _digest(*parts: str) -> bytes:
    return blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
