"""What a payroll file demands, read for the judge by a reader of its own: the import is among the judged."""

import csv
import hashlib
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path

from paylock.demo.judge import NATIVE, Line, account_of


def read_lines(file: Path, sources: Mapping[str, str], pay_date: date) -> list[Line]:
    """The lines of a well-formed UTF-8 file. `sources`: each organization's funding account (G…).

    `pay_date` is the runs' nominal date: it goes into the memo that the run's transactions carry.
    """
    return [
        _line(row, cells, sources[cells["organization"]], pay_date)
        for row, cells in _rows(file.read_text(encoding="utf-8-sig"))
    ]


def accounts_in(file: Path) -> set[str]:
    """The accounts (G…) behind all destinations in the file."""
    return {account_of(cells["destination"]) for _, cells in _rows(file.read_text(encoding="utf-8-sig"))}


def run_memo(organization: str, schedule: str, nominal_date: date) -> str:
    """The hash memo of a run's transactions, 64 hexadecimal digits (docs/guarantee.md)."""
    return hashlib.sha256(
        f"paylock:run:{organization}/{schedule}/{nominal_date.isoformat()}".encode()
    ).hexdigest()


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    header = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    columns = [cell.strip().lower().replace(" ", "_").replace("-", "_") for cell in next(reader)]
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield reader.line_num, dict(zip(columns, (cell.strip() for cell in cells), strict=True))


def _line(row: int, cells: Mapping[str, str], source: str, pay_date: date) -> Line:
    memo_type = cells.get("memo_type", "").lower()
    own = memo_type not in ("", "none")
    memo = cells["memo"] if own else run_memo(cells["organization"], cells["schedule"], pay_date)
    code, issuer = cells["asset"], cells.get("issuer", "")
    return Line(
        row=row,
        organization=cells["organization"],
        schedule=cells["schedule"],
        employee_id=cells["employee_id"],
        name=cells["name"],
        source=source,
        destination=cells["destination"],
        asset=f"{code}:{issuer}" if issuer else NATIVE,
        amount=Decimal(cells["amount"]),
        memo_type=memo_type if own else "hash",
        memo=memo.lower() if memo_type in ("hash", "return") else memo,
        own_memo=own,
    )
