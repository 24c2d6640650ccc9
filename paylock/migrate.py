"""Brings a database to the state of the shipped SQL files: forward only, under one advisory lock.

Order: roles, bookkeeping, each new migration in its own transaction, then in one transaction every function
whose text changed and the grants. Applied migrations are never edited: a changed one is refused.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from paylock.sql_files import Migration, SqlFile, SqlTree, read_tree

ADVISORY_LOCK = 7_305_812_064_551_901_234  # any constant of our own
LOCK_TIMEOUT = "10s"

# Functions that need each other are created one by one with unchecked bodies, so those are checked here.
VALIDATE_FUNCTIONS = """\
SELECT CASE language.lanname
           WHEN 'plpgsql' THEN pg_catalog.plpgsql_validator(routine.oid)
           ELSE pg_catalog.fmgr_sql_validator(routine.oid)
       END
  FROM pg_catalog.pg_proc AS routine
  JOIN pg_catalog.pg_language AS language ON language.oid = routine.prolang
 WHERE routine.pronamespace = 'payroll'::regnamespace AND language.lanname IN ('plpgsql', 'sql');
"""


class AppliedMigrationChanged(Exception):
    """A migration that this database already has differs from the shipped file."""


class DatabaseIsNewer(Exception):
    """The database has migrations that this version of Paylock does not know."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What separates a database from the shipped files."""

    migrations: tuple[Migration, ...]
    changed: tuple[SqlFile, ...]  # functions and the grants
    removed: tuple[str, ...]  # installed functions whose file is no longer shipped: reported, never dropped

    @property
    def up_to_date(self) -> bool:
        return not self.migrations and not self.changed


def plan(connection: psycopg.Connection, tree: SqlTree) -> Plan:
    """Compares; writes nothing. Raises AppliedMigrationChanged or DatabaseIsNewer."""
    applied: dict[int, tuple[str, str]] = {}
    installed: dict[str, str] = {}
    if _scalar(connection, "SELECT to_regclass('payroll.installed_function') IS NOT NULL"):
        rows = connection.execute("SELECT version, name, checksum FROM payroll.schema_migration").fetchall()
        applied = {version: (name, checksum) for version, name, checksum in rows}
        installed = dict(
            connection.execute("SELECT name, checksum FROM payroll.installed_function").fetchall()
        )
    shipped = {migration.version: migration for migration in tree.migrations}
    for version, (name, checksum) in sorted(applied.items()):
        if version not in shipped:
            raise DatabaseIsNewer(f"the database has {name}, which this version of Paylock does not know")
        if shipped[version].checksum != checksum:
            raise AppliedMigrationChanged(
                f"{name} was changed after it was applied: restore the file and write a new migration instead"
            )
    replaceable = (*tree.functions, tree.grants)
    return Plan(
        tuple(migration for migration in tree.migrations if migration.version not in applied),
        tuple(file for file in replaceable if installed.get(file.name) != file.checksum),
        tuple(sorted(installed.keys() - {file.name for file in replaceable})),
    )


def check(database_url: str, tree: SqlTree | None = None) -> Plan:
    """What `migrate` would do. Writes nothing."""
    with psycopg.connect(database_url, autocommit=True, application_name="paylock migrate") as connection:
        return plan(connection, tree or read_tree())


def migrate(
    database_url: str, tree: SqlTree | None = None, report: Callable[[str], None] = lambda line: None
) -> Plan:
    """Applies what is missing and returns what that was. Calls `report` with each file's name before it.

    Connect as a superuser, as the database's owner with CREATEROLE, or as a member of payroll_owner.
    Raises psycopg.Error where a file fails; the migrations before it stay applied.
    """
    tree = tree or read_tree()
    with (
        psycopg.connect(database_url, autocommit=True, application_name="paylock migrate") as connection,
        _only_one(connection),
    ):
        before = plan(connection, tree)
        if before.up_to_date:
            return before
        for prologue in (tree.roles, tree.bookkeeping):
            report(prologue.name)
            _run(connection, prologue)
        for migration in before.migrations:
            report(migration.name)
            with connection.transaction():
                connection.execute("SET LOCAL ROLE payroll_owner")
                _run(connection, migration)
                connection.execute(
                    "INSERT INTO payroll.schema_migration (version, name, checksum) VALUES (%s, %s, %s)",
                    (migration.version, migration.name, migration.checksum),
                )
        with connection.transaction():
            connection.execute("SET LOCAL ROLE payroll_owner")
            connection.execute("SET LOCAL check_function_bodies = off")
            grants = () if tree.grants in before.changed else (tree.grants,)  # new functions need them, too
            for file in (*before.changed, *grants):
                report(file.name)
                _run(connection, file)
                connection.execute(
                    "INSERT INTO payroll.installed_function AS installed (name, checksum) VALUES (%s, %s)"
                    " ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum,"
                    " applied_at = excluded.applied_at, applied_by = excluded.applied_by",
                    (file.name, file.checksum),
                )
            connection.execute("SET LOCAL check_function_bodies = on")
            connection.execute(VALIDATE_FUNCTIONS.encode())
        return before


@contextmanager
def _only_one(connection: psycopg.Connection) -> Iterator[None]:
    """Two runs at once would race; the second waits and then finds nothing to do."""
    connection.execute("SELECT pg_advisory_lock(%s)", (ADVISORY_LOCK,))
    connection.execute("SELECT set_config('lock_timeout', %s, false)", (LOCK_TIMEOUT,))
    try:
        yield
    finally:
        if not connection.broken:
            connection.execute("SELECT pg_advisory_unlock(%s)", (ADVISORY_LOCK,))


def _run(connection: psycopg.Connection, file: SqlFile) -> None:
    try:
        connection.execute(file.text.encode())
    except psycopg.Error as error:
        error.add_note(f"while applying {file.name}")
        raise


def _scalar(connection: psycopg.Connection, query: str) -> object:
    row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None
