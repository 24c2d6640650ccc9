"""Importing payrolls, as an operator who has no right on any table."""

import io
import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.types.json import Jsonb

from paylock.commands.import_ import command
from paylock.example_company import (
    COFFEE,
    DESIGN,
    DISPLAY_NAMES,
    example_payees,
    funding_account,
    totals,
)
from paylock.payroll_file import ScheduleTerms, terms_from_words
from paylock.payroll_import import ImportOptions, PayrollRefused, import_payroll
from tests.database_server import Database
from tests.paylock.conftest import address, payroll

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def terms(frequency: str = "monthly", first: str = "2035-01-31", time: str = "09:00") -> ScheduleTerms:
    return terms_from_words(
        frequency=frequency, rule="", first_pay_date=first, pay_time=time, time_zone="Europe/Berlin",
        end_date="",
    )  # fmt: skip


def load(
    database: Database, data: bytes, when: ScheduleTerms | None = None, **options: Any
) -> dict[str, Any]:
    with database.connect("payroll_operator") as connection:
        return import_payroll(connection, io.BytesIO(data), ImportOptions("acme", when, **options))


def problems(database: Database, data: bytes, when: ScheduleTerms | None = None, **options: Any) -> list[str]:
    with pytest.raises(PayrollRefused) as refused:
        load(database, data, when, **options)
    return [str(problem) for problem in refused.value.problems]


def lines(database: Database) -> dict[str, Decimal]:
    with database.connect("payroll_auditor") as connection:
        rows = connection.execute("SELECT employee_id, amount FROM payroll.schedule_line_overview").fetchall()
    return dict(rows)


def run_command(database: Database, *arguments: str) -> Result:
    environment = {"PAYLOCK_DATABASE_URL": database.url_for("payroll_operator"), "COLUMNS": "200"}
    return CliRunner().invoke(command, arguments, env=environment)


def test_a_file_becomes_payees_a_schedule_and_lines(acme: Database) -> None:
    summary = load(acme, payroll(E1="10", E2="20.5"), terms())
    assert summary["changed"] is True
    assert summary["payees"] == {"added": 2, "changed": 0, "unchanged": 0}
    assert summary["schedules"] == {"added": 1, "changed": 0, "unchanged": 0}
    assert summary["lines"] == {"added": 2, "changed": 0, "unchanged": 0, "removed": 0}
    (content,) = summary["content"]
    assert content["totals"] == {"XLM": "30.5000000"}
    assert content["next_pay_at"] == "2035-01-31T08:00:00+00:00"
    assert content["next_local_time"] == "2035-01-31 09:00:00"
    assert lines(acme) == {"E1": Decimal(10), "E2": Decimal("20.5")}


def test_importing_the_same_file_again_changes_nothing_and_says_so(
    acme: Database, count_rows: Callable[[], dict[str, int]]
) -> None:
    load(acme, payroll(), terms())
    with acme.connect() as connection:
        state = (
            "SELECT s.*, (SELECT max(xmin::text::bigint) FROM payroll.payee) FROM payroll.pay_schedule AS s"
        )
        before = connection.execute(state).fetchall()
        counts = count_rows()
        summary = load(acme, payroll(), terms())
        assert summary["changed"] is False
        assert summary["lines"] == {"added": 0, "changed": 0, "unchanged": 2, "removed": 0}
        assert connection.execute(state).fetchall() == before
    assert count_rows() == counts
    without_terms = load(acme, payroll())
    assert without_terms["changed"] is False, "a schedule that exists needs no terms"


def test_changed_amounts_and_new_people_are_counted_and_raise_the_version(acme: Database) -> None:
    load(acme, payroll(E1="10", E2="20"), terms())
    summary = load(acme, payroll(E1="11", E2="20", E3="30"))
    assert summary["lines"] == {"added": 1, "changed": 1, "unchanged": 1, "removed": 0}
    assert lines(acme) == {"E1": Decimal(11), "E2": Decimal(20), "E3": Decimal(30)}
    with acme.connect("payroll_auditor") as connection:
        assert connection.execute("SELECT version FROM payroll.schedule_overview").fetchone() == (2,)


def test_people_missing_from_the_file_are_refused_by_name_unless_replaced(acme: Database) -> None:
    load(acme, payroll(E1="10", E2="20", E3="30"), terms())
    (problem,) = problems(acme, payroll(E1="10"))
    assert problem.startswith("row 2, column schedule (A): 'Office' also pays E2, E3, who are missing")
    assert "--replace" in problem
    assert len(lines(acme)) == 3
    assert load(acme, payroll(E1="10"), replace=True)["lines"]["removed"] == 2
    assert lines(acme) == {"E1": Decimal(10)}


def test_a_schedule_that_the_file_does_not_name_is_left_alone(acme: Database) -> None:
    load(acme, payroll("Office", E1="10"), terms())
    load(acme, payroll("Bonus", E2="5"), terms("once"), replace=True)
    assert set(lines(acme)) == {"E1", "E2"}


def test_a_new_destination_is_shown_and_audited(acme: Database) -> None:
    load(acme, payroll(E1="10"), terms())
    summary = load(acme, payroll(E1="10").replace(address("E1").encode(), address("moved").encode()))
    assert summary["destinations_changed"] == [
        {
            "organization": "acme", "employee_id": "E1", "name": "Name of E1",
            "old": address("E1"), "new": address("moved"),
        }
    ]  # fmt: skip
    with acme.connect("payroll_auditor") as connection:
        row = connection.execute(
            "SELECT details -> 'destinations_changed' FROM payroll.audit_overview WHERE action ="
            " 'import_payroll' ORDER BY audit_event_id DESC LIMIT 1"
        ).fetchone()
    assert row == (summary["destinations_changed"],)


def test_an_id_in_other_letters_is_the_same_person(acme: Database) -> None:
    load(acme, payroll(E1="10"), terms())
    summary = load(acme, payroll(E1="10").replace(b",E1,", b",e1,"))
    assert summary["changed"] is False


def test_a_new_schedule_needs_terms(acme: Database) -> None:
    (problem,) = problems(acme, payroll())
    assert "'Office' is new; say when it pays: --frequency" in problem


def test_an_unknown_organization_is_named_with_what_to_do(database: Database) -> None:
    found = problems(database, payroll(), terms())
    where, message = found[0].split(": ", 1)
    assert where == "row 2, column organization"
    assert message.startswith("'acme' does not exist; create it first")


def test_an_organization_without_a_funding_account_is_refused(database: Database) -> None:
    with database.connect("payroll_operator") as connection:
        connection.execute("SELECT payroll.create_organization('acme', 'Acme')")
    (problem,) = problems(database, payroll(), terms())
    assert "no funding account" in problem


def test_a_first_pay_date_that_is_long_over_is_refused(acme: Database) -> None:
    (problem,) = problems(acme, payroll(), terms("weekly", "2020-01-03"))
    assert "is more than a day ago; the schedule would at once pay what it missed" in problem


def test_a_cancelled_schedule_takes_no_import(acme: Database) -> None:
    load(acme, payroll(), terms())
    with acme.connect("payroll_operator") as connection:
        connection.execute("SELECT payroll.cancel_schedule('acme', 'Office', 'closed')")
    (problem,) = problems(acme, payroll(E1="1", E2="2"), terms())
    assert "was cancelled and never pays again" in problem


def test_new_terms_move_the_next_date_and_keep_the_lines(acme: Database) -> None:
    load(acme, payroll(), terms("monthly", "2035-01-31"))
    summary = load(acme, payroll(), terms("weekly", "2035-02-02", "17:30"))
    assert summary["schedules"] == {"added": 0, "changed": 1, "unchanged": 0}
    assert summary["lines"]["unchanged"] == 2
    assert summary["content"][0]["next_local_time"] == "2035-02-02 17:30:00"


def test_a_dry_run_shows_everything_and_changes_nothing(
    acme: Database, count_rows: Callable[[], dict[str, int]]
) -> None:
    before = count_rows()
    summary = load(acme, payroll(), terms(), dry_run=True)
    assert summary["lines"]["added"] == 2
    assert count_rows() == before


def test_an_import_and_a_claim_of_the_same_schedule_wait_for_each_other(acme: Database) -> None:
    load(acme, payroll(E1="10"), terms())
    with acme.connect() as connection:
        connection.execute("UPDATE payroll.pay_schedule SET next_pay_at = now(), next_open_at = now()")
        importer = acme.connect("payroll_operator", autocommit=False)
        _stage(importer, payroll_rows(E1="99"))
        # While the import is not committed the due schedule is skipped, not opened with half of it.
        assert connection.execute("SELECT count(*) FROM payroll.claim_due_schedules('test')").fetchone() == (
            0,
        )
        importer.commit()
        importer.close()
        (total,) = connection.execute("SELECT totals FROM payroll.claim_due_schedules('test')").fetchall()
        assert total == ({"XLM": "99.0000000"},)


def test_the_example_is_imported_whole_with_the_totals_it_should_have(database: Database) -> None:
    with database.connect("payroll_operator") as connection:
        for organization in (COFFEE, DESIGN):
            connection.execute(
                "SELECT payroll.create_organization(%s, %s)", (organization, DISPLAY_NAMES[organization])
            )
            connection.execute(
                "SELECT payroll.add_funding_account(%s, %s)",
                (organization, funding_account(organization).public_key),
            )
    arguments = [
        str(EXAMPLES / "payroll.csv"), "--frequency", "once", "--first-pay-date", "2035-01-31",
        "--pay-time", "09:00:30", "--time-zone", "Europe/Tallinn",
    ]  # fmt: skip
    outcome = json.loads(run_command(database, *arguments, "--json").stdout)
    assert outcome["payees"]["added"] == len(example_payees())
    expected = totals(example_payees())
    for content in outcome["content"]:
        by_code = {asset.split(":")[0]: Decimal(total) for asset, total in content["totals"].items()}
        assert by_code == expected[content["organization"]]
    again = run_command(database, *arguments)
    assert again.exit_code == 0
    assert "nothing was changed" in again.output


def test_the_example_with_terms_needs_no_options(acme: Database) -> None:
    result = run_command(acme, str(EXAMPLES / "payroll-with-terms.csv"), "--organization", "acme")
    assert result.exit_code == 0, result.output
    assert "2035-02-02 17:30:00 America/New_York" in result.output
    assert "2035-02-02 22:30:00" in result.output


def test_wrong_terms_on_the_command_line_are_named_by_option(acme: Database) -> None:
    result = run_command(
        acme, str(EXAMPLES / "payroll.csv"), "--frequency", "sometimes", "--first-pay-date", "31.1.35",
        "--pay-time", "9", "--time-zone", "Berlin",
    )  # fmt: skip
    assert result.exit_code == 2
    for option in ("--frequency", "--first-pay-date", "--pay-time", "--time-zone"):
        assert option in result.output


def test_terms_are_given_in_the_file_or_as_options_never_both(acme: Database) -> None:
    result = run_command(
        acme, str(EXAMPLES / "payroll-with-terms.csv"), "--organization", "acme", "--frequency", "once",
        "--first-pay-date", "2035-01-31", "--pay-time", "09:00", "--time-zone", "Europe/Berlin",
    )  # fmt: skip
    assert result.exit_code == 1
    assert "leave out the options" in result.output


# The SQL functions without the command line.


def payroll_rows(**amounts: str) -> list[dict[str, object]]:
    return [
        {
            "organization": "acme", "schedule": "Office", "employee_id": who, "name": f"Name of {who}",
            "destination": address(who), "asset": "XLM", "amount": amount,
        }
        for who, amount in amounts.items()
    ]  # fmt: skip


def _stage(connection: psycopg.Connection, rows: list[dict[str, object]]) -> dict[str, Any]:
    import_id = uuid.uuid4()
    connection.execute("SELECT payroll.stage_payroll_rows(%s, 2, %s)", (import_id, Jsonb(rows)))
    row = connection.execute("SELECT payroll.apply_payroll_import(%s, false)", (import_id,)).fetchone()
    assert row is not None
    summary: dict[str, Any] = row[0]
    return summary


GOOD_TERMS = {
    "rule": "FREQ=WEEKLY;BYDAY=FR",
    "first_pay_date": "2035-02-02",
    "pay_time": "09:00",
    "time_zone": "Europe/Berlin",
}
BAD_ROWS: list[tuple[dict[str, object], str]] = [
    ({"organization": None}, "column organization: is missing"),
    ({"schedule": " "}, "column schedule: is missing"),
    ({"employee_id": "x" * 101}, "column employee_id: is longer"),
    ({"name": ""}, "column name: is missing"),
    ({"destination": address("E2")[:-1] + "Z"}, "column destination: is not a Stellar address"),
    ({"destination": "CA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"}, "contract's address"),
    ({"memo_type": "note", "memo": "x"}, "column memo_type: is not none"),
    ({"memo_type": "text", "memo": "é" * 15}, "column memo: must have 1 to 28 bytes"),
    ({"memo_type": "id", "memo": "18446744073709551616"}, "column memo: must be a whole number"),
    ({"memo": "x"}, "column memo: must be empty when memo_type is none"),
    ({"asset": "US-D", "issuer": address("issuer")}, "column asset: must be XLM"),
    ({"asset": "USDC"}, "column issuer: is missing"),
    ({"asset": "USDC", "issuer": "GABC"}, "column issuer: is not an account's address"),
    ({"asset": "XLM", "issuer": address("issuer")}, "column issuer: must be empty for XLM"),
    ({"amount": "1,5"}, "column amount: must be digits with a decimal point"),
    ({"amount": "1.00000001"}, "column amount: has more than 7 decimals"),
    ({"amount": "0.0"}, "column amount: is zero"),
    ({"amount": "-1"}, "column amount: must be digits"),
    ({"amount": "1e3"}, "column amount: must be digits"),
    ({"amount": "922337203685.4775808"}, "column amount: is more than the ledger can hold"),
    ({"amount": "9" * 5000}, "column amount: is more than the ledger can hold"),
    ({"line": "0"}, "column line: must be a whole number"),
    ({"employee_id": "e1"}, "column employee_id: 'e1' stands in row 2"),
    (
        {"rule": "FREQ=WEEKLY;BYDAY=MO"},
        "column rule: and the other terms of schedule 'Office' are not those of row 2",
    ),
]


@pytest.mark.parametrize(("change", "message"), BAD_ROWS)
def test_the_database_itself_names_the_row_and_column_of_what_is_wrong(
    acme: Database, change: dict[str, object], message: str
) -> None:
    good, bad = payroll_rows(E1="1", E2="2")
    with (
        acme.connect("payroll_operator", autocommit=False) as connection,
        pytest.raises(psycopg.Error) as error,
    ):
        _stage(connection, [good | GOOD_TERMS, bad | GOOD_TERMS | change])
    assert error.value.sqlstate == "PL001"
    detail = error.value.diag.message_detail or ""
    assert f"row 3, {message}" in detail or ("row 3, column" in detail and message in detail)
    assert lines(acme) == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first_pay_date": "2035-02-30"}, "first_pay_date: 2035-02-30 is not a day of the calendar"),
        ({"first_pay_date": "2.2.2035"}, "first_pay_date: is missing or not written as YYYY-MM-DD"),
        ({"first_pay_date": "2035-02-01"}, "first_pay_date: 2035-02-01 is not a date that the rule"),
        ({"pay_time": "25:00"}, "pay_time: is missing or not written as"),
        ({"time_zone": "CET"}, "time_zone: 'CET' is not the name"),
        ({"rule": "FREQ=HOURLY"}, "rule: "),
        ({"end_date": "2035-01-01"}, "end_date: 2035-01-01 is before the first pay date"),
    ],
)
def test_the_database_itself_names_terms_that_can_not_be_used(
    acme: Database, change: dict[str, object], message: str
) -> None:
    (row,) = payroll_rows(E1="1")
    with (
        acme.connect("payroll_operator", autocommit=False) as connection,
        pytest.raises(psycopg.Error) as error,
    ):
        _stage(connection, [row | GOOD_TERMS | change])
    assert f"row 2, column {message}" in (error.value.diag.message_detail or "")


def test_nothing_staged_is_an_error_and_another_logins_import_is_refused(acme: Database) -> None:
    with acme.connect("payroll_operator") as connection:
        with pytest.raises(psycopg.Error) as error:
            connection.execute("SELECT payroll.apply_payroll_import(%s, false)", (uuid.uuid4(),))
        assert error.value.sqlstate == "PL001"
        shared = uuid.uuid4()
        connection.execute(
            "SELECT payroll.stage_payroll_rows(%s, 2, %s)", (shared, Jsonb(payroll_rows(E1="1")))
        )
    with acme.connect() as other, pytest.raises(psycopg.Error) as error:
        other.execute("SELECT payroll.stage_payroll_rows(%s, 9, %s)", (shared, Jsonb(payroll_rows(E2="1"))))
    assert error.value.sqlstate == "PL006"


@pytest.mark.parametrize("statistics", ["none", "misleading", "right"])
def test_whatever_the_planner_believes_an_import_takes_seconds_not_hours(
    acme: Database, statistics: str
) -> None:
    big = payroll(**{f"E{number}": "1" for number in range(4_000)})
    load(acme, big, terms())
    with acme.connect() as connection:
        if statistics != "none":
            connection.execute("ANALYZE payroll.payroll_import_row")  # it is empty now
        if statistics == "right":
            connection.execute("ANALYZE")
    with acme.connect("payroll_operator") as connection:
        # With the joins multiplied out this took minutes; the limit only keeps a failure short.
        connection.execute("SET statement_timeout = '60s'")
        summary = import_payroll(connection, io.BytesIO(big.replace(b",1\n", b",2\n")), ImportOptions("acme"))
    assert summary["lines"] == {"added": 0, "changed": 4_000, "unchanged": 0, "removed": 0}


@pytest.mark.slow
def test_a_hundred_thousand_rows_are_imported_in_bounded_memory(acme: Database, tmp_path: Path) -> None:
    big = tmp_path / "big.csv"
    with big.open("wb") as file:
        file.write(b"schedule,employee_id,name,destination,memo_type,memo,asset,amount\n")
        destination = address("an exchange")
        for number in range(100_000):
            file.write(f"Office,E{number},Payee {number},{destination},id,{number},XLM,{number}.5\n".encode())
    script = (
        "import json, resource, sys, psycopg\n"
        "from paylock.payroll_file import terms_from_words\n"
        "from paylock.payroll_import import ImportOptions, import_payroll\n"
        "words = dict(frequency='monthly', rule='', first_pay_date='2035-01-31', pay_time='09:00',"
        " time_zone='Europe/Berlin', end_date='')\n"
        "options = ImportOptions('acme', terms_from_words(**words))\n"
        "with psycopg.connect(sys.argv[1], autocommit=True) as connection:\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "    summary = import_payroll(connection, open(sys.argv[2], 'rb'), options)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(json.dumps([summary['lines']['added'], (after - before) // 1024]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, acme.url_for("payroll_operator"), str(big)],
        capture_output=True, text=True, check=True, cwd=EXAMPLES.parent,
    )  # fmt: skip
    added, grown = json.loads(result.stdout)
    assert added == 100_000
    assert grown < 60, "megabytes; the whole file as rows in memory would be several hundred"


def test_a_payroll_piped_in_is_read_like_a_file(acme: Database) -> None:
    result = CliRunner().invoke(
        command,
        ["-", "--organization", "acme", "--frequency", "once", "--first-pay-date", "2035-01-31", "--pay-time",
         "09:00", "--time-zone", "Europe/Berlin"],
        env={"PAYLOCK_DATABASE_URL": acme.url_for("payroll_operator")},
        input=payroll(),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert len(lines(acme)) == 2
