"""The columns of a payroll file, and the other headers under which each is accepted.

Headers may stand in any case and order; spaces, hyphens and underscores in them are the same. Only the
names below are known (docs list them from here): an unknown column is refused by name, never skipped.
"""

from dataclasses import dataclass, field

from paylock.payroll_file.problems import Problem, ProblemList, spreadsheet_letter
from paylock.payroll_file.records import Record, trimmed
from paylock.payroll_file.text_source import refuse_unreadable

SYNONYMS: dict[str, tuple[str, ...]] = {
    "organization": ("organisation", "employer", "company"),
    "schedule": ("pay_schedule", "payroll", "pay_group"),
    "employee_id": ("employee", "employee_no", "employee_number", "personnel_number", "staff_id", "payee_id"),
    "name": ("full_name", "employee_name", "payee", "payee_name"),
    "destination": ("address", "stellar_address", "wallet", "wallet_address", "account", "public_key"),
    "memo_type": (),
    "memo": ("memo_value",),
    "asset": ("asset_code", "currency"),
    "issuer": ("asset_issuer",),
    "amount": ("net_amount", "net_pay"),
    "line": ("line_no", "line_number"),
    "frequency": (),
    "rule": ("rrule", "recurrence", "recurrence_rule"),
    "first_pay_date": ("start_date", "first_date"),
    "pay_time": ("time", "time_of_day"),
    "time_zone": ("timezone", "tz", "zone"),
    "end_date": ("last_date", "until"),
}
REQUIRED = ("schedule", "employee_id", "name", "destination", "asset", "amount")
TERMS = ("frequency", "rule", "first_pay_date", "pay_time", "time_zone", "end_date")
REQUIRED_TERMS = ("first_pay_date", "pay_time", "time_zone")
BY_NAME: dict[str, str] = {
    alias: column for column, aliases in SYNONYMS.items() for alias in (column, *aliases)
}


def normalized(header: str) -> str:
    """A header as it is looked up: trimmed, lower case, words joined by underscores."""
    return "_".join(trimmed(header).casefold().replace("_", " ").replace("-", " ").split())


@dataclass(frozen=True, slots=True)
class Columns:
    """Where each column stands. `places` maps a column to its index; `width` counts the header's cells."""

    places: dict[str, int]
    headers: dict[str, str]
    width: int
    has_terms: bool
    separator: str = field(default=",")

    def problem(self, row: int, column: str, message: str) -> Problem:
        """A problem in this column, named as the file's own header names it."""
        place = self.places.get(column)
        letter = None if place is None else spreadsheet_letter(place)
        return Problem(row, self.headers.get(column, column), message, letter)


def read_header(
    record: Record, separator: str, organization_given: bool, terms_given: bool, problems: ProblemList
) -> Columns | None:
    """The columns that the header names, or None (reasons in `problems`) if the file can't be used."""
    before = problems.total
    cells = list(record.fields)
    while cells and not cells[-1]:
        cells.pop()
    places: dict[str, int] = {}
    headers: dict[str, str] = {}
    for index, cell in enumerate(cells):
        letter = spreadsheet_letter(index)
        if not cell:
            problems.add(Problem(record.row, letter, "has no header; name the column or delete it"))
            continue
        try:
            refuse_unreadable(cell)
        except ValueError as refused:
            problems.add(Problem(record.row, letter, f"the header {refused}"))
            continue
        column = BY_NAME.get(normalized(cell))
        if column is None:
            problems.add(
                Problem(
                    record.row,
                    cell,
                    f"is not a column of a payroll file; delete it, or use one of: {', '.join(SYNONYMS)}",
                    letter,
                )
            )
        elif column in places:
            problems.add(
                Problem(
                    record.row,
                    cell,
                    f"means the same as column {headers[column]} "
                    f"({spreadsheet_letter(places[column])}); keep one of them",
                    letter,
                )
            )
        else:
            places[column] = index
            headers[column] = cell
    _check_presence(record.row, places, organization_given, terms_given, problems)
    if problems.total > before:
        return None
    has_terms = any(column in places for column in TERMS)
    return Columns(places, headers, len(record.fields), has_terms, separator)


def _check_presence(
    row: int, places: dict[str, int], organization_given: bool, terms_given: bool, problems: ProblemList
) -> None:
    for column in REQUIRED:
        if column not in places:
            problems.add(Problem(row, None, f"the column {column} is missing; add it to the header"))
    if "organization" not in places and not organization_given:
        problems.add(
            Problem(
                row,
                None,
                "the column organization is missing; add it, or say --organization for the whole file",
            )
        )
    if "organization" in places and organization_given:
        problems.add(
            Problem(row, "organization", "the file names organizations itself; leave out --organization")
        )
    present = [column for column in TERMS if column in places]
    if present and terms_given:
        problems.add(
            Problem(
                row,
                ", ".join(present),
                "the file gives the schedules' terms itself; leave out the options "
                "--frequency, --rule, --first-pay-date, --pay-time, --time-zone and --end-date",
            )
        )
    if present:
        if "frequency" not in places and "rule" not in places:
            problems.add(Problem(row, None, "the column frequency (or rule) is missing; terms need it"))
        if "frequency" in places and "rule" in places:
            problems.add(
                Problem(row, "rule", "frequency and rule say the same thing; keep one of the two columns")
            )
        for column in REQUIRED_TERMS:
            if column not in places:
                problems.add(Problem(row, None, f"the column {column} is missing; terms need it"))
