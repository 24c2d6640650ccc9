"""Splits lines into records, numbered as a spreadsheet does: the header is row 1, blank lines count."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from paylock.payroll_file.text_source import LineTooLong

SEPARATORS = (",", ";", "\t")
_INVISIBLE = "\ufeff\u200b\u200e\u200f\u2060"
MAX_FIELD_CHARACTERS = 4_000
_MAX_RECORD_LINES = 100


@dataclass(frozen=True, slots=True)
class Record:
    """One row of the sheet: its trimmed fields, or the `damage` that kept it from being split."""

    row: int
    fields: list[str]
    damage: str | None = None
    ends_file: bool = False


class _UnclosedQuote(Exception):
    """A record ran on for too many lines: its quote was never closed."""


def trimmed(value: str) -> str:
    """Without white space at both ends, non-breaking spaces and byte order marks among it."""
    if value and (
        value[0].isspace() or value[-1].isspace() or value[0] in _INVISIBLE or value[-1] in _INVISIBLE
    ):
        before = None
        while before != value:
            before = value
            value = value.strip().strip(_INVISIBLE)
    return value


def separator_of(header: str, known: frozenset[str], normalized: Callable[[str], str]) -> str:
    """The separator that makes most known column names out of the header line; a comma when none does."""
    best, best_count = ",", 0
    for separator in SEPARATORS:
        try:
            cells = next(csv.reader([header], delimiter=separator))
        except (csv.Error, StopIteration):
            continue
        count = sum(1 for cell in cells if normalized(cell) in known)
        if count > best_count:
            best, best_count = separator, count
    return best


class _CountedLines:
    """Feeds lines to the csv reader and stops a record that runs on for ever."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.taken = 0

    def __iter__(self) -> "_CountedLines":
        return self

    def __next__(self) -> str:
        if self.taken >= _MAX_RECORD_LINES:
            raise _UnclosedQuote
        line = next(self._lines)
        self.taken += 1
        return line


def records_of(lines: Iterator[str], separator: str, first_row: int = 1) -> Iterator[Record]:
    """Records in file order. A row that can't be split comes with its damage; reading goes on if it can."""
    counted = _CountedLines(lines)
    reader = csv.reader(counted, delimiter=separator, strict=True)
    row = first_row - 1
    while True:
        counted.taken = 0
        row += 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except _UnclosedQuote:
            yield Record(row, [], _unclosed(row), ends_file=True)
            return
        except LineTooLong:
            yield Record(row, [], "is far too long to be a row; are the line breaks missing?", ends_file=True)
            return
        except csv.Error as error:
            damage, ends = _damage(str(error), row)
            yield Record(row, [], damage, ends_file=ends)
            if ends:
                return
            continue
        yield Record(row, [trimmed(field) for field in fields])


def _unclosed(row: int) -> str:
    return (
        'has a quote (") that is never closed; close it, or double it ("") if it belongs to the text of row'
        f" {row}"
    )


def _damage(error: str, row: int) -> tuple[str, bool]:
    if "unexpected end of data" in error:
        return _unclosed(row), True
    if "field limit" in error:
        return _unclosed(row), True
    if "expected after" in error:
        return 'has text after a closing quote; a quote (") inside a quoted field must be doubled ("")', False
    return f"can't be split into columns ({error})", False
