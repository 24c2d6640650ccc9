"""The private PostgreSQL server that benchmarks measure, and databases on it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from paylock.migrate import migrate
from tests.database_server import Database, Server, empty_database, member_logins, private_server

# Durable, as in production: what differs from the defaults is room for the tables and the log.
SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "maintenance_work_mem": "256MB",
}


@contextmanager
def bench_server() -> Iterator[Server]:
    """A fresh server (the wheel's PostgreSQL, or PAYLOCK_TEST_PG_BIN's); gone afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="paylock-bench-") as directory,
        private_server(Path(directory), settings=SETTINGS) as server,
    ):
        yield server


@contextmanager
def migrated_database(server: Server) -> Iterator[Database]:
    """A database with Paylock in it."""
    with empty_database(server) as database:
        migrate(database.url)
        yield database


@contextmanager
def installed_database(server: Server) -> Iterator[Database]:
    """A database with Paylock in it and the test logins in the cluster: one at a time."""
    with migrated_database(server) as database, member_logins(server):
        yield database


@contextmanager
def copy_of(database: Database) -> Iterator[Database]:
    """A copy; nobody may be connected to the original while it is made."""
    with empty_database(database.server, database.name) as copy:
        yield copy


def version_of(server: Server) -> str:
    """For instance '18.1'."""
    with server.connect() as connection:
        row = connection.execute("SHOW server_version").fetchone()
    assert row is not None
    return str(row[0]).split()[0]


def settle_down(database: Database) -> None:
    """Fresh statistics and no work left for autovacuum or the checkpointer."""
    with database.connect() as connection:
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


def bulk_connection(database: Database) -> psycopg.Connection:
    """For loading: foreign keys and triggers don't fire, so the loader must be right."""
    connection = database.connect()
    connection.execute("SET session_replication_role = replica")
    connection.execute("SET synchronous_commit = off")
    return connection
