"""One payroll row: its fields checked one by one, every problem named."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from paylock.payroll_file.addresses import destination_of, refuse_secret
from paylock.payroll_file.amounts import amount_of
from paylock.payroll_file.assets import asset_code_of, asset_issuer_of
from paylock.payroll_file.columns import TERMS, Columns
from paylock.payroll_file.memos import memo_of, memo_type_of
from paylock.payroll_file.problems import FieldRefused, Problem, ProblemList
from paylock.payroll_file.spreadsheet_damage import refuse_error_value, refuse_rounded
from paylock.payroll_file.terms import ScheduleTerms, TermsRefused, terms_from_words
from paylock.payroll_file.text_source import JOINERS, refuse_unreadable

T = TypeVar("T")
_LINE = re.compile(r"[0-9]{1,5}", re.ASCII)
_MAYBE_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}", re.ASCII)
_REST_OF_THOUSANDS = re.compile(r"[0-9]{3}(?:\.[0-9]*)?", re.ASCII)
LARGEST_LINE = 32_767
LONGEST_SHORT_LABEL = 100  # what the database takes
LONGEST_LABEL = 200


@dataclass(frozen=True, slots=True)
class PayrollRow:
    """One line of a schedule. asset_code and issuer are None for XLM; terms is None if the file has none."""

    row: int
    organization: str
    schedule: str
    employee_id: str
    name: str
    destination: str
    memo_type: str
    memo: str | None
    asset_code: str | None
    issuer: str | None
    amount: Decimal
    line: int
    terms: ScheduleTerms | None


def folded(text: str) -> str:
    """The text as it is compared: two spellings that look alike or differ in case only are one."""
    return unicodedata.normalize("NFKC", text).casefold()


class RowChecker:
    """Checks the fields of one row after the other; problems go to the list."""

    def __init__(
        self, columns: Columns, organization: str | None, terms: ScheduleTerms | None, problems: ProblemList
    ) -> None:
        self._columns = columns
        self._organization = organization
        self._terms = terms
        self._problems = problems
        self._terms_by_text: dict[tuple[str, ...], ScheduleTerms | None] = {}

    def check(self, row: int, fields: list[str]) -> PayrollRow | None:
        """The row, or None if anything in it was refused."""
        before = self._problems.total
        readable = self._readable(row, fields)
        if readable is None:
            return None
        cell = readable.get

        def checked(column: str, check: Callable[[str], T]) -> T | None:
            try:
                return check(cell(column, ""))
            except FieldRefused as refused:
                self._problems.add(self._columns.problem(row, column, str(refused)))
                return None

        organization = self._organization or checked("organization", short_label_of)
        schedule = checked("schedule", short_label_of)
        employee_id = checked("employee_id", employee_id_of)
        name = checked("name", label_of)
        destination = checked("destination", destination_of)
        memo_text = cell("memo", "")
        memo_type = checked("memo_type", lambda text: memo_type_of(text, memo_text))
        memo: str | None = None
        if memo_type is not None:
            memo = checked(
                "memo", lambda text: memo_of(memo_type, text, destination or cell("destination", ""))
            )
        asset_refused = self._problems.total
        asset_code = checked("asset", asset_code_of)
        issuer: str | None = None
        if self._problems.total == asset_refused:
            issuer = checked("issuer", lambda text: asset_issuer_of(asset_code, text))
        amount = checked("amount", self._amount_of)
        line = checked("line", line_of)
        terms = self._terms_of(row, cell) if self._columns.has_terms else self._terms
        if self._problems.total > before:
            return None
        # Each check gave a value or a problem, and there is no problem.
        assert organization is not None
        assert schedule is not None
        assert employee_id is not None
        assert name is not None
        assert destination is not None
        assert memo_type is not None
        assert amount is not None
        assert line is not None
        return PayrollRow(
            row,
            organization,
            schedule,
            employee_id,
            name,
            destination,
            memo_type,
            memo,
            asset_code,
            issuer,
            amount,
            line,
            terms,
        )

    def _amount_of(self, text: str) -> Decimal:
        """Semicolons come from spreadsheets of countries where 1.500 is one thousand and five hundred."""
        if self._columns.separator == ";" and _MAYBE_THOUSANDS.fullmatch(text):
            raise FieldRefused(
                f"{text!r} may mean {text.replace('.', '')} in a file with semicolons; write {text}0, or"
                f" {text.replace('.', '')}"
            )
        return amount_of(text)

    def _is_ragged(self, fields: list[str]) -> bool:
        """Fields too few or too many. Empty ones too many are let pass, unless 1,500 became two fields."""
        columns = self._columns
        if len(fields) <= columns.width:
            return len(fields) < columns.width
        after_amount = fields[columns.places["amount"] + 1]
        return any(fields[columns.width :]) or _REST_OF_THOUSANDS.fullmatch(after_amount) is not None

    def _readable(self, row: int, fields: list[str]) -> dict[str, str] | None:
        """The row's cells by column; None (with the reason) if it is ragged."""
        columns = self._columns
        if self._is_ragged(fields):
            self._problems.add(
                Problem(
                    row,
                    None,
                    f"has {len(fields)} columns where the header has {columns.width}; a separator or a "
                    "line break stands in a field without quotes, or a column is missing",
                )
            )
            return None
        cells: dict[str, str] = {}
        before = self._problems.total
        for column, place in columns.places.items():
            text = fields[place]
            try:
                refuse_error_value(text)
                if not (text.isascii() and text.isprintable()):
                    refuse_unreadable(text)
            except FieldRefused as refused:
                self._problems.add(columns.problem(row, column, str(refused)))
            cells[column] = text
        return cells if self._problems.total == before else None

    def _terms_of(self, row: int, cell: Callable[[str, str], str]) -> ScheduleTerms | None:
        texts = tuple(cell(column, "") for column in TERMS)
        if texts in self._terms_by_text:
            known = self._terms_by_text[texts]
            if known is not None or not any(texts):
                return known
        terms: ScheduleTerms | None = None
        if any(texts):
            try:
                terms = terms_from_words(**dict(zip(TERMS, texts, strict=True)))
            except TermsRefused as refused:
                for column, message in refused.problems:
                    self._problems.add(self._columns.problem(row, column, message))
        if len(self._terms_by_text) < 10_000:
            self._terms_by_text[texts] = terms
        return terms


def short_label_of(text: str) -> str:
    """An organization's, a schedule's or an employee's short name."""
    return label_of(text, LONGEST_SHORT_LABEL)


def employee_id_of(text: str) -> str:
    """The name under which a person is known: nothing in it that can't be seen, nothing rounded."""
    refuse_rounded(text)
    for joiner in JOINERS:
        if joiner in text:
            raise FieldRefused(f"holds the invisible character U+{ord(joiner):04X}; type it anew")
    return short_label_of(text)


def label_of(text: str, longest: int = LONGEST_LABEL) -> str:
    """A name that people read: not empty, not too long, one normal space wherever there is white space."""
    if not text:
        raise FieldRefused("is empty; write it")
    refuse_secret(text)
    if "  " in text or not text.isascii():
        text = unicodedata.normalize("NFC", " ".join(text.split()))
    if len(text) > longest:
        raise FieldRefused(f"has {len(text)} characters; the longest allowed is {longest}")
    return text


def line_of(text: str) -> int:
    """The line's number, 1 when the cell is empty."""
    if not text:
        return 1
    if not _LINE.fullmatch(text) or not 1 <= int(text) <= LARGEST_LINE:
        raise FieldRefused(f"{text[:20]!r} is not a line number; write 1, 2, 3 …")
    return int(text)
