"""What the tests of the operator's side share: an organization that can pay."""

from collections.abc import Callable

import psycopg
import pytest
from stellar_sdk import Keypair

from paylock.example_company import example_keypair
from tests.database_server import Database

FUNDING = Keypair.from_raw_ed25519_seed(b"f" * 32)


@pytest.fixture
def acme(database: Database) -> Database:
    """A database with the organization 'acme' and its funding account."""
    with database.connect("payroll_operator") as connection:
        connection.execute("SELECT payroll.create_organization('acme', 'Acme Ltd')")
        connection.execute("SELECT payroll.add_funding_account('acme', %s)", (FUNDING.public_key,))
    return database


@pytest.fixture
def count_rows(database: Database) -> Callable[[], dict[str, int]]:
    """Counts the rows of every table that an import may write, as superuser."""

    def count() -> dict[str, int]:
        tables = ("payee", "pay_schedule", "schedule_line", "audit_event", "payroll_import_row")
        with database.connect() as connection:
            return {table: _count(connection, table) for table in tables}

    return count


def _count(connection: psycopg.Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM payroll.{table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def address(label: str) -> str:
    """A real G… address made from the label."""
    return example_keypair(f"test {label}").public_key


def payroll(schedule: str = "Office", **amounts: str) -> bytes:
    """A right payroll file without organization and terms: employee ids and their amounts of XLM."""
    rows = amounts or {"E1": "10", "E2": "20.5"}
    lines = [f"{schedule},{who},Name of {who},{address(who)},XLM,{amount}" for who, amount in rows.items()]
    return "\n".join(["schedule,employee_id,name,destination,asset,amount", *lines, ""]).encode()
