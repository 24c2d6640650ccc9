"""Payroll files as people have them: read alike, whatever the spreadsheet made of them."""

import io
import tracemalloc
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import StrKey

from paylock.payroll_file import PayrollReader, PayrollRow, TermsRefused, terms_from_words
from paylock.payroll_file.amounts import LARGEST, amount_of
from paylock.payroll_file.columns import SYNONYMS
from paylock.payroll_file.memos import memo_of
from paylock.payroll_file.problems import FieldRefused, ProblemList, spreadsheet_letter
from paylock.payroll_file.recurrence import known_rule
from tests.paylock.conftest import address

ANN, BEN = address("Ann"), address("Ben")
PLAIN = (
    "schedule,employee_id,name,destination,memo_type,memo,asset,amount\n"
    f'Office,E1,"Müller, Ann",{ANN},text,Grüße,XLM,1250.5\n'
    f"Office,E2,山田 太郎,{BEN},,,XLM,0.0000001\n"
)


def read(data: bytes | str, organization: str | None = "acme") -> tuple[list[PayrollRow], list[str]]:
    stream = io.BytesIO(data.encode() if isinstance(data, str) else data)
    reader = PayrollReader(stream, organization)
    rows = list(reader.rows())
    return rows, [str(problem) for problem in reader.problems]


EXPECTED = read(PLAIN)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.encode("utf-16"),
        PLAIN.encode("utf-16-le"),
        PLAIN.encode("utf-16-be"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.rstrip("\n").encode(),
        PLAIN.replace('"Müller, Ann"', "Müller@ Ann").replace(",", ";").replace("@", ",").encode(),
        PLAIN.replace('"Müller, Ann"', "Müller@ Ann").replace(",", "\t").replace("@", ",").encode(),
        ("sep=,\n" + PLAIN).encode(),
        PLAIN.replace("1250.5\n", "1250.5 \u00a0\n").replace(",E1,", ",\u00a0E1 ,").encode(),
        PLAIN.replace("employee_id", "Employee ID").replace("schedule,", "  SCHEDULE ,").encode(),
        PLAIN.replace("destination", "Wallet-Address").replace("amount", "Net Pay").encode(),
        PLAIN.replace("\n", ",,\n").encode(),
    ],
    ids=[
        "byte-order-mark",
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-16-be-mark",
        "crlf",
        "cr",
        "no-last-newline",
        "semicolons",
        "tabs",
        "excel-sep",
        "spaces",
        "header-case",
        "synonyms",
        "trailing-separators",
    ],
)
def test_one_payroll_is_read_alike_however_it_was_saved(data: bytes) -> None:
    assert read(data) == EXPECTED
    assert EXPECTED[1] == []


def test_columns_may_stand_in_any_order() -> None:
    reordered = "\n".join(
        ",".join(reversed(line.replace('"Müller, Ann"', "Ann").split(","))) for line in PLAIN.splitlines()
    )
    rows, problems = read(reordered)
    assert problems == []
    assert [(row.employee_id, row.destination) for row in rows] == [("E1", ANN), ("E2", BEN)]


def test_rows_are_numbered_as_a_spreadsheet_shows_them() -> None:
    header, first, second = PLAIN.splitlines()
    rows, _ = read("\n".join([header, "", first, ",,,,,,,", "", second, ""]))
    assert [row.row for row in rows] == [3, 6]


def test_a_quoted_line_break_is_one_row_of_the_sheet() -> None:
    _, problems = read(PLAIN.replace('"Müller, Ann"', '"Ann\nMüller"').replace("0.0000001", "x"))
    assert [problem.split(":")[0] for problem in problems] == [
        "row 2, column name (C)",
        "row 3, column amount (H)",
    ]


def test_each_known_header_is_accepted() -> None:
    for column, aliases in SYNONYMS.items():
        for alias in aliases:
            if column in PLAIN.splitlines()[0].split(","):
                header, rest = PLAIN.split("\n", 1)
                names = [alias if name == column else name for name in header.split(",")]
                assert read(",".join(names) + "\n" + rest) == EXPECTED, alias


def test_the_organization_comes_from_the_column_or_the_option_never_both() -> None:
    with_column = "\n".join(
        ("organization," if number == 0 else "acme,") + line for number, line in enumerate(PLAIN.splitlines())
    )
    assert read(with_column, None)[0] == EXPECTED[0]
    assert "leave out --organization" in read(with_column)[1][0]
    assert "--organization" in read(PLAIN, None)[1][0]


def test_one_person_may_have_several_lines_with_different_numbers() -> None:
    text = (
        "schedule,employee_id,name,destination,asset,amount,line\n"
        f"Office,E1,Ann,{ANN},XLM,1,1\nOffice,E1,Ann,{ANN},XLM,2,2\nBonus,E1,Ann,{ANN},XLM,3,\n"
    )
    rows, problems = read(text)
    assert problems == []
    assert [(row.schedule, row.line) for row in rows] == [("Office", 1), ("Office", 2), ("Bonus", 1)]


def test_a_quote_that_never_closes_ends_the_reading_soon() -> None:
    rows = PLAIN + f'Office,E3,"Cara,{ANN},,,XLM,1\n' + "Office,E4,Dan,x,,,XLM,1\n" * 100_000
    reader = PayrollReader(io.BytesIO(rows.encode()), "acme")
    assert len(list(reader.rows())) == 2
    assert [problem.row for problem in reader.problems] == [4]
    assert reader.bytes_read.count < len(rows) / 2


def test_a_file_without_line_breaks_is_not_held_in_memory() -> None:
    stream = io.BytesIO(b"x," * 20_000_000)
    tracemalloc.start()
    reader = PayrollReader(stream, "acme")
    assert list(reader.rows()) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
    assert "far too long" in str(next(iter(reader.problems)))


def test_problems_are_counted_beyond_those_that_are_kept() -> None:
    stream = io.BytesIO((PLAIN.splitlines()[0] + "\n" + "Office,E,Ann,x,,,XLM,1\n" * 50).encode())
    reader = PayrollReader(stream, "acme", problems=ProblemList(limit=10))
    assert list(reader.rows()) == []
    assert (len(list(reader.problems)), reader.problems.total, reader.problems.left_out) == (10, 50, 40)


class _Generated(io.RawIOBase):
    """A file of that many rows that exists only while it is read."""

    def __init__(self, rows: int) -> None:
        self._chunks = self._lines(rows)
        self._rest = b""

    def _lines(self, rows: int) -> Iterator[bytes]:
        yield b"schedule,employee_id,name,destination,asset,amount\n"
        for number in range(rows):
            destination = StrKey.encode_ed25519_public_key(number.to_bytes(32, "big"))
            yield f"Office,E{number},Payee number {number},{destination},XLM,{number + 1}.25\n".encode()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while len(self._rest) < len(view):
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._rest += chunk
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def test_memory_grows_with_the_number_of_payees_not_with_what_the_file_holds() -> None:
    def peak_of(rows: int) -> int:
        tracemalloc.start()
        reader = PayrollReader(io.BufferedReader(_Generated(rows)), "acme")
        assert sum(1 for _ in reader.rows()) == rows
        assert not reader.problems
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    peak_of(100)  # imports and caches
    # What stays of a row is two digests and its number, in two dictionaries that grow by doubling.
    assert (peak_of(12_000) - peak_of(2_000)) / 10_000 < 600


@given(st.decimals(min_value=Decimal("0.0000001"), max_value=LARGEST, places=7))
def test_every_payable_amount_is_read_exactly(amount: Decimal) -> None:
    assert amount_of(format(amount, "f")) == amount


@given(st.text(max_size=25))
def test_whatever_is_accepted_as_an_amount_is_what_decimal_reads(text: str) -> None:
    try:
        amount = amount_of(text)
    except FieldRefused:
        return
    assert amount == Decimal(text)
    assert 0 < amount <= LARGEST
    assert -int(amount.as_tuple().exponent) <= 7
    assert set(text) <= set("0123456789.")


@given(st.text(min_size=1, max_size=40))
def test_a_text_memo_is_measured_in_bytes_and_kept_exactly(text: str) -> None:
    try:
        memo = memo_of("text", text, ANN)
    except (FieldRefused, UnicodeEncodeError):
        return
    assert memo == text
    assert 1 <= len(text.encode()) <= 28


@given(st.binary(max_size=400))
def test_no_bytes_whatever_make_the_reader_fail(data: bytes) -> None:
    for content in (data, PLAIN.encode() + data, PLAIN.encode("utf-16") + data):
        reader = PayrollReader(io.BytesIO(content), "acme")
        rows = list(reader.rows())
        assert reader.problems or rows


@pytest.mark.parametrize(
    ("words", "first", "rule"),
    [
        ("once", "2035-03-01", "ONCE"),
        ("weekly", "2035-03-02", "FREQ=WEEKLY;INTERVAL=1;BYDAY=FR"),
        ("Every two weeks", "2035-03-02", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
        ("bi-weekly", "2035-03-02", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
        ("every 4 weeks", "2035-03-05", "FREQ=WEEKLY;INTERVAL=4;BYDAY=MO"),
        ("Semi-monthly", "2035-03-15", "FREQ=MONTHLY;BYMONTHDAY=15,-1"),
        ("semimonthly", "2036-02-29", "FREQ=MONTHLY;BYMONTHDAY=15,-1"),
        ("monthly", "2035-03-25", "FREQ=MONTHLY;BYMONTHDAY=25"),
        ("monthly", "2035-03-31", "FREQ=MONTHLY;BYMONTHDAY=31;SKIP=BACKWARD"),
        ("last day of the month", "2035-02-28", "FREQ=MONTHLY;BYMONTHDAY=-1"),
    ],
)
def test_everyday_words_become_rules(words: str, first: str, rule: str) -> None:
    terms = terms_from_words(
        frequency=words,
        rule="",
        first_pay_date=first,
        pay_time="09:00",
        time_zone="Europe/Berlin",
        end_date="",
    )
    assert terms.rule == rule
    known = known_rule(rule)
    assert known is not None
    assert known.gives(terms.first_pay_date)


def test_words_that_mean_two_things_are_refused() -> None:
    with pytest.raises(TermsRefused, match="twice a month or every two months"):
        terms_from_words(
            frequency="bimonthly", rule="", first_pay_date="2035-03-15", pay_time="09:00",
            time_zone="Europe/Berlin", end_date="",
        )  # fmt: skip


def test_columns_are_lettered_as_in_a_spreadsheet() -> None:
    assert [spreadsheet_letter(index) for index in (0, 25, 26, 51, 52, 701, 702)] == [
        "A", "Z", "AA", "AZ", "BA", "ZZ", "AAA",
    ]  # fmt: skip


def test_the_page_on_payroll_files_names_every_column_and_synonym() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "payroll-files.md").read_text()
    for column, aliases in SYNONYMS.items():
        assert f"| {column} | {', '.join(aliases)}".rstrip() in page
