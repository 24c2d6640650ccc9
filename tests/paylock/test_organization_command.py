"""`paylock organization`: the first thing that an operator does."""

import json

import psycopg
from click.testing import CliRunner, Result

from paylock.commands.organization import command
from tests.database_server import Database
from tests.paylock.conftest import FUNDING, address


def organization(database: Database, *arguments: str) -> Result:
    environment = {"PAYLOCK_DATABASE_URL": database.url_for("payroll_operator"), "COLUMNS": "200"}
    return CliRunner().invoke(command, arguments, env=environment)


def test_an_employer_is_added_with_its_funding_account_and_adding_it_again_changes_nothing(
    database: Database,
) -> None:
    arguments = ("add", "acme", "--display-name", "Acme Ltd", "--funding-account", FUNDING.public_key)
    for _ in range(2):
        assert organization(database, *arguments).exit_code == 0
    assert json.loads(organization(database, "list", "--json").stdout) == [
        {
            "organization": "acme",
            "display_name": "Acme Ltd",
            "payees": 0,
            "active_channels": 0,
            "funding_accounts": [FUNDING.public_key],
        }
    ]
    assert FUNDING.public_key in organization(database, "list").output


def test_a_funding_account_can_be_added_later(database: Database) -> None:
    organization(database, "add", "acme", "--display-name", "Acme Ltd")
    assert organization(database, "add", "acme", "--funding-account", FUNDING.public_key).exit_code == 0


def test_a_wrong_address_adds_nothing(database: Database) -> None:
    result = organization(database, "add", "acme", "--funding-account", address("x")[:-1])
    assert isinstance(result.exception, psycopg.Error)
    assert result.exception.sqlstate == "PL001"
    assert json.loads(organization(database, "list", "--json").stdout) == []
