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
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "maintenance_work_mem": "256MB",
}


@contextmanager
def bench_server(**settings: str) -> Iterator[Server]:
    """A fresh server of the wheel's PostgreSQL, or of PAYLOCK_TEST_PG_BIN's, with SETTINGS and more."""
    with (
        tempfile.TemporaryDirectory(prefix="paylock-bench-") as directory,
        private_server(Path(directory), settings=SETTINGS | settings) as server,
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


def warm_up(database: Database) -> None:
    """Reads all of Paylock's tables and indexes into shared_buffers."""
    with database.connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
        connection.execute(
            "SELECT pg_prewarm(oid) FROM pg_class"
            " WHERE relnamespace = 'payroll'::regnamespace AND relkind IN ('r', 'i')"
        )


def bulk_connection(database: Database) -> psycopg.Connection:
    """For loading: foreign keys and triggers don't fire, so the loader must be right."""
    connection = database.connect()
    connection.execute("SET session_replication_role = replica")
    connection.execute("SET synchronous_commit = off")
    return connection
