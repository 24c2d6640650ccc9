"""The SQL side of an import: rows are staged, checked whole, applied whole. Files are in tests/paylock."""

import uuid
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.sql.payroll_rows import Connection, account, call, muxed, new_organization, one, refused, rows

Staged = dict[str, Any]

OPERATOR = "payroll_operator"


def row(person: str = "E1", **changed: Any) -> Staged:
    """A row of a payroll file, as texts."""
    return {
        "organization": "acme",
        "schedule": "salaries",
        "employee_id": person,
        "name": f"Person {person}",
        "destination": account("payee", person),
        "asset": "XLM",
        "amount": "12.5",
        "rule": "FREQ=MONTHLY;BYMONTHDAY=-1",
        "first_pay_date": "2030-01-31",
        "pay_time": "09:00",
        "time_zone": "Europe/Berlin",
        **changed,
    }


@pytest.fixture(autouse=True)
def acme(connection: Connection) -> None:
    new_organization(connection, "acme")


def stage(connection: Connection, staged: list[Staged], import_id: uuid.UUID | None = None) -> uuid.UUID:
    import_id = import_id or uuid.uuid4()
    terms = {"import_id": import_id, "first_row": 2, "rows": Jsonb(staged)}
    ((taken,),) = (found.values() for found in call(connection, "stage_payroll_rows", role=OPERATOR, **terms))
    assert taken == len(staged)
    return import_id


def problems(
    connection: Connection, staged: list[Staged], *, replace_lines: bool = False
) -> list[tuple[int, str]]:
    import_id = stage(connection, staged)
    found = call(
        connection, "payroll_import_problems", role=OPERATOR, import_id=import_id, replace_lines=replace_lines
    )
    return [(problem["row_number"], problem["column_name"]) for problem in found]


def apply(connection: Connection, staged: list[Staged], *, replace_lines: bool = False) -> dict[str, Any]:
    import_id = stage(connection, staged)
    ((outcome,),) = (
        found.values()
        for found in call(
            connection,
            "apply_payroll_import",
            role="payroll_operator",
            import_id=import_id,
            replace_lines=replace_lines,
        )
    )
    return dict(outcome)


def content(connection: Connection) -> list[Any]:
    tables = ("payee", "pay_schedule", "schedule_line", "audit_event", "payroll_import_row")
    return [
        one(connection, f"SELECT jsonb_agg(t ORDER BY t::text) FROM payroll.{table} AS t") for table in tables
    ]


def test_rows_become_payees_a_schedule_and_its_lines(connection: Connection) -> None:
    usdc = {"asset": "USDC", "issuer": account("usdc")}
    outcome = apply(
        connection,
        [
            row("E1"),
            row("E2", memo_type="text", memo="Rént", **usdc, amount="0.0000001"),
            row("E3", destination=muxed("m")),
            row("E3", destination=muxed("m"), line="2", **usdc, amount="3"),
        ],
    )
    assert (outcome["rows"], outcome["changed"]) == (4, True)
    assert outcome["payees"] == {"added": 3, "changed": 0, "unchanged": 0}
    assert outcome["lines"] == {"added": 4, "changed": 0, "unchanged": 0, "removed": 0}
    (told,) = outcome["content"]
    assert told["totals"] == {"XLM": "25.0000000", f"USDC:{usdc['issuer']}": "3.0000001"}
    assert (told["next_nominal_date"], told["next_local_time"]) == ("2030-01-31", "2030-01-31 09:00:00")
    assert one(connection, "SELECT count(*) FROM payroll.payroll_import_row") == 0


def test_the_same_rows_again_change_nothing_and_say_so(connection: Connection) -> None:
    staged = [row("E1"), row("E2")]
    apply(connection, staged)
    before = content(connection)
    outcome = apply(connection, staged)
    assert outcome["changed"] is False
    assert outcome["lines"]["unchanged"] == 2
    assert content(connection) == before


def test_a_changed_destination_is_told_and_audited(connection: Connection) -> None:
    apply(connection, [row("E1"), row("E2")])
    outcome = apply(connection, [row("E1", destination=account("new")), row("E2")])
    (moved,) = outcome["destinations_changed"]
    assert (moved["employee_id"], moved["old"], moved["new"]) == (
        "E1",
        account("payee", "E1"),
        account("new"),
    )
    details = rows(connection, "SELECT details FROM payroll.audit_event ORDER BY audit_event_id DESC LIMIT 1")
    assert details[0]["details"]["destinations_changed"][0]["new"] == account("new")


def test_lines_that_the_file_lacks_are_a_problem_unless_the_person_asks_to_remove_them(
    connection: Connection,
) -> None:
    apply(connection, [row("E1"), row("E2")])
    with refused(connection, "PL001", words="nothing was changed"):
        apply(connection, [row("E1")])
    outcome = apply(connection, [row("E1")], replace_lines=True)
    assert outcome["lines"] == {"added": 0, "changed": 0, "unchanged": 1, "removed": 1}


@pytest.mark.parametrize(
    ("changed", "column"),
    [
        ({"amount": "1,5"}, "amount"),
        ({"amount": "1'000"}, "amount"),
        ({"amount": "0"}, "amount"),
        ({"amount": "-1"}, "amount"),
        ({"amount": "1.00000001"}, "amount"),
        ({"amount": "1e3"}, "amount"),
        ({"amount": "NaN"}, "amount"),
        ({"amount": "١٢"}, "amount"),
        ({"amount": "922337203685.4775808"}, "amount"),
        ({"amount": None}, "amount"),
        ({"destination": account("x")[:-1]}, "destination"),
        ({"destination": account("x").lower()}, "destination"),
        ({"memo_type": "text", "memo": "é" * 15}, "memo"),
        ({"memo_type": "id", "memo": "18446744073709551616"}, "memo"),
        ({"destination": muxed("x"), "memo_type": "id", "memo": "7"}, "memo"),
        ({"asset": "USDC"}, "issuer"),
        ({"line": "0"}, "line"),
        ({"organization": "nobody"}, "organization"),
        ({"time_zone": "CET"}, "time_zone"),
        ({"rule": "FREQ=DAILY"}, "rule"),
        ({"first_pay_date": "2030-02-31"}, "first_pay_date"),
        ({"first_pay_date": "31.01.2030"}, "first_pay_date"),
        ({"name": "  "}, "name"),
        ({"employee_id": "\u00a0"}, "employee_id"),
    ],
)
def test_a_wrong_cell_is_named_by_row_and_column_and_nothing_is_written(
    connection: Connection, changed: Staged, column: str
) -> None:
    # A schedule's terms are its first row's, so the wrong row stands first.
    found = problems(connection, [row("E1", **changed), row("E2", schedule="other")])
    assert (2, column) in found
    before = content(connection)
    with refused(connection, "PL001"):
        apply(connection, [row("E1", **changed)])
    assert content(connection) == before


def test_all_problems_are_listed_at_once(connection: Connection) -> None:
    found = problems(connection, [row("E1", amount="x"), row("E2", name=None), row("E3", destination="y")])
    assert {number for number, _ in found} == {2, 3, 4}


def test_rows_that_contradict_each_other_are_named(connection: Connection) -> None:
    assert problems(connection, [row("E1"), row("e1 ")])
    assert problems(connection, [row("E1"), row("E1", line="2", destination=account("other"))])
    assert problems(connection, [row("E1"), row("E2", rule="FREQ=MONTHLY;BYMONTHDAY=15")])
    assert problems(connection, [row("E1"), row("E1", line="2")]) == []


def test_an_account_that_payrolls_are_paid_from_is_nobody_s_destination(connection: Connection) -> None:
    """Its money would go in a circle, and count as paid."""
    for table in ("funding_account", "channel_account"):
        own = one(connection, f"SELECT address::text FROM payroll.{table} LIMIT 1")
        assert problems(connection, [row("E1"), row("E2", destination=own)]) == [(3, "destination")]


def test_staged_rows_can_be_thrown_away(connection: Connection) -> None:
    import_id = stage(connection, [row("E1"), row("E2")])
    for expected in (2, 0):
        (found,) = call(connection, "discard_payroll_import", role=OPERATOR, import_id=import_id)
        assert list(found.values()) == [expected]
    with refused(connection, "PL001", words="nothing is staged"):
        call(
            connection,
            "apply_payroll_import",
            role="payroll_operator",
            import_id=import_id,
            replace_lines=False,
        )


@pytest.mark.parametrize(
    "staged", [None, Jsonb({}), Jsonb([1]), Jsonb("x"), Jsonb([{"row": "x"}]), Jsonb([{"row": 2}] * 2)]
)
def test_what_is_no_list_of_rows_is_refused(connection: Connection, staged: Jsonb | None) -> None:
    with refused(connection, "PL001"):
        call(
            connection, "stage_payroll_rows", role=OPERATOR, import_id=uuid.uuid4(), first_row=2, rows=staged
        )
