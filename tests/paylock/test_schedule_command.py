"""`paylock schedule`: what an operator sees and does."""

import io
import json

import pytest
from click.testing import CliRunner, Result

from paylock.commands.schedule import command
from paylock.payroll_file import terms_from_words
from paylock.payroll_import import ImportOptions, import_payroll
from tests.database_server import Database
from tests.paylock.conftest import payroll


@pytest.fixture
def monthly(acme: Database) -> Database:
    """acme pays 'Office' monthly from 2035-01-31 at 09:00 in Berlin."""
    terms = terms_from_words(
        frequency="monthly", rule="", first_pay_date="2035-01-31", pay_time="09:00",
        time_zone="Europe/Berlin", end_date="2035-06-30",
    )  # fmt: skip
    with acme.connect("payroll_operator") as connection:
        import_payroll(connection, io.BytesIO(payroll("Office")), ImportOptions("acme", terms))
    return acme


def schedule(database: Database, *arguments: str, role: str = "payroll_operator") -> Result:
    environment = {"PAYLOCK_DATABASE_URL": database.url_for(role), "COLUMNS": "200"}
    return CliRunner().invoke(command, arguments, env=environment)


def test_list_shows_when_each_schedule_pays_next(monthly: Database) -> None:
    assert "2035-01-31 09:00:00" in " ".join(schedule(monthly, "list").output.split())
    (row,) = json.loads(schedule(monthly, "list", "--json").stdout)
    assert (row["schedule"], row["state"], row["next_nominal_date"]) == ("Office", "active", "2035-01-31")
    assert row["next_pay_at"] == "2035-01-31T08:00:00+00:00"
    assert json.loads(schedule(monthly, "list", "--json", "--state", "paused").stdout) == []


def test_preview_shows_the_dates_left_until_the_end_date(monthly: Database) -> None:
    rows = json.loads(schedule(monthly, "preview", "acme", "office", "--json", role="payroll_auditor").stdout)
    assert [row["nominal_date"] for row in rows] == [
        "2035-01-31", "2035-02-28", "2035-03-31", "2035-04-30", "2035-05-31", "2035-06-30",
    ]  # fmt: skip
    assert rows[1]["note"] is not None, "a clamped date says why"


def test_a_paused_schedule_says_why_and_goes_on_when_resumed(monthly: Database) -> None:
    assert schedule(monthly, "pause", "acme", "Office", "--reason", "audit").exit_code == 0
    (row,) = json.loads(schedule(monthly, "list", "--json").stdout)
    assert (row["state"], row["reason"]) == ("paused", "audit")
    resumed = schedule(monthly, "resume", "acme", "Office", "--missed", "skip", "--reason", "audit over")
    assert "Office is active; it pays next for 2035-01-31" in resumed.output


def test_resuming_without_saying_what_becomes_of_missed_dates_is_refused(monthly: Database) -> None:
    result = schedule(monthly, "resume", "acme", "Office", "--reason", "audit over")
    assert result.exit_code == 2
    assert "--missed" in result.output


def test_cancel_asks_first_and_then_ends_the_schedule_for_ever(monthly: Database) -> None:
    assert schedule(monthly, "cancel", "acme", "Office", "--reason", "closed").exit_code == 1
    assert (
        "Office is cancelled"
        in schedule(monthly, "cancel", "acme", "Office", "--reason", "closed", "--yes").output
    )
    assert "pays no more" in schedule(monthly, "preview", "acme", "Office").output


def test_an_auditor_can_look_but_not_stop(monthly: Database) -> None:
    assert schedule(monthly, "list", role="payroll_auditor").exit_code == 0
    refused = schedule(monthly, "pause", "acme", "Office", "--reason", "x", role="payroll_auditor")
    assert "permission denied" in str(refused.exception)
