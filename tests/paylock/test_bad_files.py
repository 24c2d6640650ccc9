"""Every way in which a payroll file may be wrong: named by row and column, and nothing is written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from paylock.commands.import_ import command
from paylock.payroll_file import PayrollReader
from tests.database_server import Database

FILES = Path(__file__).parent / "bad_files"
# Each problem of the file, in order: row, column, and a part of the text that says what to do.
EXPECTED: dict[str, list[tuple[int | None, str | None, str]]] = {
    "addresses.csv": [
        (3, "destination", "mistyped"),
        (4, "destination", "small letters"),
        (5, "destination", "40 characters instead of 56"),
        (6, "destination", "federation name"),
        (7, "destination", "is empty"),
        (8, "destination", "mistyped"),
    ],
    "amounts.csv": [
        (3, "amount", "8 decimals"),
        (4, "amount", "is zero"),
        (5, "amount", "is zero"),
        (6, "amount", "negative"),
        (7, "amount", "scientific notation"),
        (8, "amount", "digits 0 to 9"),
        (9, "amount", "not a number"),
        (10, "amount", "not a number"),
        (11, "amount", "is empty"),
        (12, "amount", "write 0.5"),
        (13, "amount", "write 5"),
        (14, "amount", "more than the ledger can hold"),
        (15, "amount", "not a number"),
    ],
    "assets.csv": [
        (3, "issuer", "only known together with its issuer"),
        (4, "issuer", "must be empty for XLM"),
        (5, "asset", "write XLM"),
        (6, "asset", "1 to 12 letters and digits"),
        (7, "asset", "is empty"),
        (8, "issuer", "muxed"),
        (9, "issuer", "mistyped"),
    ],
    "blank-lines-count-as-rows.csv": [(6, "amount", "not a number")],
    "column-twice.csv": [(1, "net pay", "means the same as column amount (I)")],
    "column-without-header.csv": [(1, "J", "no header")],
    "comma-in-semicolon-file.csv": [(3, "amount", "decimal comma")],
    "contract-address.csv": [(3, "destination", "contract's address")],
    "damaged-utf-16.csv": [(3, "name", "damaged"), (3, "amount", "damaged")],
    "decimal-comma.csv": [(3, "amount", "decimal comma")],
    "empty.csv": [(None, None, "the file is empty")],
    "error-values.csv": [
        (3, "employee_id", "error value #REF!"),
        (4, "name", "error value #N/A"),
        (5, "schedule", "error value #NAME?"),
        (6, "memo", "error value #VALUE!"),
        (7, "amount", "error value #DIV/0!"),
        (8, "amount", "error value ######"),
        (9, "amount", "error value Err:502"),
    ],
    "header-only.csv": [(None, None, "no rows")],
    "invisible-characters.csv": [
        (3, "employee_id", "U+200B"),
        (4, "employee_id", "U+00AD"),
        (5, "employee_id", "U+200D"),
        (6, "name", "U+202E"),
        (8, "employee_id", "stands in row 7 already"),
    ],
    "line-breaks-and-controls.csv": [(3, "name", "line break"), (4, "name", "U+0007")],
    "memos.csv": [
        (3, "memo", "30 bytes long"),
        (4, "memo", "muxed address (M…) carries its own id"),
        (5, "memo_type", "there is a memo"),
        (6, "memo", "memo_type is text"),
        (7, "memo", "format the column as text"),
        (8, "memo", "18446744073709551615"),
        (9, "memo", "64 hexadecimal digits"),
        (10, "memo_type", "not a kind of memo"),
        (11, "memo", "memo_type is none"),
        (12, "memo", "zeros in front"),
        (13, "memo", "non-breaking space at character 2"),
    ],
    "missing-columns.csv": [
        (1, None, "column destination is missing"),
        (1, None, "column asset is missing"),
        (1, None, "column amount is missing"),
    ],
    "missing-values.csv": [(2, "schedule", "empty"), (2, "employee_id", "empty"), (2, "name", "empty")],
    "nul-byte.csv": [(3, "name", "NUL byte")],
    "one-person-two-destinations.csv": [(3, "employee_id", "stands in row 2")],
    "only-blank-lines.csv": [(None, None, "the file is empty")],
    "ragged-rows.csv": [(3, None, "4 columns"), (4, None, "10 columns"), (5, None, "10 columns")],
    "rounded-by-the-spreadsheet.csv": [(2, "memo", "has rounded"), (3, "employee_id", "has rounded")],
    "same-line-twice.csv": [(4, "employee_id", "line 2 in row 3")],
    "same-payee-twice.csv": [(4, "employee_id", "row 2")],
    "secret-key.csv": [(3, "destination", "SECRET key")],
    "terms-columns-missing.csv": [
        (1, None, "first_pay_date is missing"),
        (1, None, "pay_time is missing"),
        (1, None, "time_zone is missing"),
    ],
    "terms-disagree.csv": [
        (3, "pay_time", "row 2 says 09:00:00"),
        (4, "frequency", "row 2"),
        (4, "first_pay_date", "row 2"),
        (4, "pay_time", "row 2"),
        (4, "time_zone", "row 2"),
    ],
    "terms.csv": [
        (2, "first_pay_date", "YYYY-MM-DD"),
        (2, "pay_time", "HH:MM"),
        (2, "time_zone", "Europe/Berlin"),
        (2, "frequency", "write one of"),
        (3, "time_zone", "did you mean Europe/Berlin?"),
        (3, "first_pay_date", "nearest is 2034-12-31 or 2035-01-15"),
        (4, "first_pay_date", "not a day of the calendar"),
        (4, "pay_time", "HH:MM"),
        (4, "time_zone", "not an IANA time zone"),
        (5, "first_pay_date", "nearest is 2034-12-31 or 2035-01-31"),
        (6, "end_date", "before the first pay date"),
    ],
    "text-after-quote.csv": [(3, None, "must be doubled"), (4, "amount", "not a number")],
    "thousands-by-space.csv": [(3, "amount", "thousands separators"), (4, "amount", "thousands separators")],
    "thousands-in-semicolon-file.csv": [(3, "amount", "may mean 1500")],
    "thousands-into-the-next-column.csv": [(3, None, "8 columns where the header has 7")],
    "thousands-separator.csv": [(3, "amount", "thousands separators"), (4, "amount", "thousands separators")],
    "two-spellings-of-a-schedule.csv": [(3, "schedule", "spelled 'Office' in row 2")],
    "unclosed-quote.csv": [(3, None, "never closed")],
    "unknown-column.csv": [(1, "bonus", "not a column of a payroll file")],
    "utf-32.csv": [(None, None, "UTF-32")],
    "windows-1252.csv": [(3, "name", "byte 0xFC")],
    "workbook.csv": [(None, None, "workbook")],
}


def test_every_bad_file_is_expected_and_every_expected_file_is_there() -> None:
    assert {path.name for path in FILES.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_bad_file_is_refused_with_all_its_problems_at_once(name: str) -> None:
    with (FILES / name).open("rb") as stream:
        reader = PayrollReader(stream, organization="acme")
        for _ in reader.rows():
            pass
    found = [(problem.row, problem.column, problem.message) for problem in reader.problems]
    assert [(row, column) for row, column, _ in found] == [(row, column) for row, column, _ in EXPECTED[name]]
    for (_, _, message), (_, _, part) in zip(found, EXPECTED[name], strict=True):
        assert part in message


def test_the_import_of_a_bad_file_shows_the_problems_and_writes_nothing(
    acme: Database, count_rows: Callable[[], dict[str, int]]
) -> None:
    before = count_rows()
    environment = {"PAYLOCK_DATABASE_URL": acme.url_for("payroll_operator")}
    for name, expected in EXPECTED.items():
        arguments = [str(FILES / name), "--organization", "acme"]
        shown = CliRunner().invoke(command, arguments, env=environment)
        assert shown.exit_code == 1, name
        for row, column, part in expected:
            place = f"row {row}, column {column}" if column else f"row {row}:" if row else name
            assert any(place in line and part in line for line in shown.stderr.splitlines()), (name, place)
        as_json = json.loads(CliRunner().invoke(command, [*arguments, "--json"], env=environment).stdout)
        assert as_json["imported"] is False
        assert [(p["row"], p["column"]) for p in as_json["problems"]] == [(r, c) for r, c, _ in expected]
    assert count_rows() == before


def test_no_message_repeats_a_secret_key() -> None:
    with (FILES / "secret-key.csv").open("rb") as stream:
        reader = PayrollReader(stream, organization="acme")
        assert len(list(reader.rows())) == 1
    secret = (FILES / "secret-key.csv").read_text().splitlines()[2].split(",")[3]
    assert secret.startswith("S")
    assert all(secret[:8] not in str(problem) for problem in reader.problems)
