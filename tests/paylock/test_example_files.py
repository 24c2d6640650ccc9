"""The example files equal what their generator gives, and can be imported as they are."""

import io
from collections import Counter
from pathlib import Path

from paylock.example_company import (
    FAILURES,
    PAYEES,
    Trait,
    example_payees,
    payroll_csv,
    payroll_with_terms_csv,
)
from paylock.payroll_file import PayrollReader

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_the_committed_files_are_what_the_generator_gives() -> None:
    again = "run: python -m paylock.example_company"
    assert (EXAMPLES / "payroll.csv").read_bytes() == payroll_csv(), again
    assert (EXAMPLES / "payroll-with-terms.csv").read_bytes() == payroll_with_terms_csv(), again


def test_the_reader_finds_each_example_payee_as_it_was_meant() -> None:
    reader = PayrollReader(io.BytesIO(payroll_csv()))
    rows = list(reader.rows())
    assert list(reader.problems) == []
    assert [
        (row.employee_id, row.name, row.destination, row.memo_type, row.memo, row.amount) for row in rows
    ] == [
        (p.employee_id, p.name, p.destination, p.memo_type or "none", p.memo or None, p.amount)
        for p in example_payees()
    ]
    assert rows[-1].row == PAYEES + 2, "the header and a blank line are rows of the sheet"


def test_the_example_has_each_special_payee() -> None:
    payees = example_payees()
    traits = Counter(payee.trait for payee in payees)
    assert set(traits) == set(Trait)
    assert sum(1 for payee in payees if payee.failure) == len(FAILURES)
    assert {payee.asset_code for payee in payees} == {"XLM", "USDC", "EURC"}
    assert len({payee.employee_id.casefold() for payee in payees}) == PAYEES


def test_the_example_with_terms_can_be_read() -> None:
    reader = PayrollReader(io.BytesIO(payroll_with_terms_csv()), organization="acme")
    rows = list(reader.rows())
    assert list(reader.problems) == []
    assert {row.terms.rule for row in rows if row.terms} == {
        "FREQ=MONTHLY;BYMONTHDAY=31;SKIP=BACKWARD",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR",
    }
