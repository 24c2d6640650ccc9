"""Fixtures of the SQL tests: one database for all of them, one transaction for each, rolled back."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.rows import TupleRow

from tests.database_server import Database, Server, empty_database


@pytest.fixture(scope="session")
def sql_database(postgres_server: Server, database_template: str) -> Iterator[Database]:
    """A database that this folder's tests share. Whoever commits takes a fresh one (`database`) instead."""
    with empty_database(postgres_server, database_template) as database:
        yield database


@pytest.fixture
def connection(sql_database: Database) -> Iterator[psycopg.Connection[TupleRow]]:
    """The superuser's connection, in a transaction that is rolled back."""
    with sql_database.connect(autocommit=False) as opened:
        yield opened
        opened.rollback()
