"""What is wrong with a payroll file, each thing with its row and column."""

from collections.abc import Iterator
from dataclasses import dataclass

DEFAULT_LIMIT = 1_000


class FieldRefused(ValueError):
    """A value can't be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend.

    row: as a spreadsheet shows it (the header is row 1), or None when the whole file is meant.
    column: the column's name, or None when the whole row is meant.
    letter: the column's letter in a spreadsheet (A, B, … AA), where known.
    """

    row: int | None
    column: str | None
    message: str
    letter: str | None = None

    def __str__(self) -> str:
        where = []
        if self.row is not None:
            where.append(f"row {self.row}")
        if self.column is not None:
            where.append(f"column {self.column}" + (f" ({self.letter})" if self.letter else ""))
        return f"{', '.join(where)}: {self.message}" if where else self.message


class ProblemList:
    """Collects problems in the order found; keeps at most `limit` of them, and `total` counts all."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._kept: list[Problem] = []
        self._limit = limit
        self.total = 0

    def add(self, problem: Problem) -> None:
        self.total += 1
        if len(self._kept) < self._limit:
            self._kept.append(problem)

    @property
    def left_out(self) -> int:
        """How many problems were counted but not kept."""
        return self.total - len(self._kept)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._kept)

    def __len__(self) -> int:
        return self.total

    def __bool__(self) -> bool:
        return self.total > 0


def spreadsheet_letter(index: int) -> str:
    """The letter that a spreadsheet gives the column: 0 is A, 25 is Z, 26 is AA."""
    letters = ""
    index += 1
    while index:
        index, remainder = divmod(index - 1, 26)
        letters = chr(ord("A") + remainder) + letters
    return letters
