from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from paylock.migrate import AppliedMigrationChanged, DatabaseIsNewer, check, migrate
from paylock.sql_files import SqlTree, SqlTreeBroken, read_tree, sql_directory
from tests.database_server import Database, private_server

_FIRST = "CREATE TABLE payroll.thing (id bigint PRIMARY KEY);\n"
_SECOND = "ALTER TABLE payroll.thing ADD COLUMN word text;\n"
_COUNT = """
CREATE OR REPLACE FUNCTION payroll.a_count() RETURNS bigint LANGUAGE sql AS $$
    SELECT payroll.b_count(1) $$;
"""
_COUNT_FROM = """
CREATE OR REPLACE FUNCTION payroll.b_count(start bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT start + count(*) FROM payroll.thing $$;
"""


class Tree:
    """A small tree of SQL files that a test may change."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for folder in ("migrations", "functions"):
            (directory / folder).mkdir(parents=True)
        for shipped in ("roles.sql", "bookkeeping.sql"):
            self.write(shipped, (sql_directory() / shipped).read_text())
        self.write("migrations/0001_thing.sql", _FIRST)
        self.write("functions/a_count.sql", _COUNT)
        self.write("functions/b_count.sql", _COUNT_FROM)
        self.write("grants.sql", "GRANT USAGE ON SCHEMA payroll TO payroll_pod;\n")

    def write(self, name: str, text: str) -> None:
        (self.directory / name).write_text(text)

    def read(self) -> SqlTree:
        return read_tree(self.directory)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "db")


@pytest.fixture
def connection(bare_database: Database) -> Iterator[psycopg.Connection]:
    with bare_database.connect() as connection:
        yield connection


def _migrations(connection: psycopg.Connection) -> list[tuple[int, str]]:
    return connection.execute(
        "SELECT version, name FROM payroll.schema_migration ORDER BY version"
    ).fetchall()


def test_a_fresh_database_gets_everything_and_a_second_run_finds_nothing_to_do(
    bare_database: Database, connection: psycopg.Connection, tree: Tree
) -> None:
    seen: list[str] = []
    first = migrate(bare_database.url, tree.read(), seen.append)
    assert seen == [
        "roles.sql",
        "bookkeeping.sql",
        "migrations/0001_thing.sql",
        "functions/a_count.sql",
        "functions/b_count.sql",
        "grants.sql",
    ]
    assert not first.up_to_date
    assert connection.execute("SELECT payroll.a_count()").fetchone() == (1,)
    assert migrate(bare_database.url, tree.read()).up_to_date
    assert _migrations(connection) == [(1, "migrations/0001_thing.sql")]


def test_everything_belongs_to_the_owner_role(
    bare_database: Database, connection: psycopg.Connection, tree: Tree
) -> None:
    migrate(bare_database.url, tree.read())
    owners = connection.execute(
        "SELECT DISTINCT owner::regrole::text FROM ("
        " SELECT relowner AS owner FROM pg_class WHERE relnamespace = 'payroll'::regnamespace"
        " UNION SELECT proowner FROM pg_proc WHERE pronamespace = 'payroll'::regnamespace"
        " UNION SELECT nspowner FROM pg_namespace WHERE nspname = 'payroll') AS owners"
    ).fetchall()
    assert owners == [("payroll_owner",)]


def test_a_new_migration_is_applied_and_the_old_one_is_not_applied_again(
    bare_database: Database, connection: psycopg.Connection, tree: Tree
) -> None:
    migrate(bare_database.url, tree.read())
    tree.write("migrations/0002_word.sql", _SECOND)
    plan = migrate(bare_database.url, tree.read())
    assert [migration.name for migration in plan.migrations] == ["migrations/0002_word.sql"]
    assert [version for version, _ in _migrations(connection)] == [1, 2]


def test_a_migration_that_changed_after_it_was_applied_is_refused(
    bare_database: Database, tree: Tree
) -> None:
    migrate(bare_database.url, tree.read())
    tree.write("migrations/0001_thing.sql", _FIRST + "-- edited\n")
    with pytest.raises(AppliedMigrationChanged, match="0001_thing"):
        migrate(bare_database.url, tree.read())


def test_a_database_that_is_newer_than_the_files_is_refused(bare_database: Database, tree: Tree) -> None:
    tree.write("migrations/0002_word.sql", _SECOND)
    migrate(bare_database.url, tree.read())
    (tree.directory / "migrations/0002_word.sql").unlink()
    with pytest.raises(DatabaseIsNewer, match="0002_word"):
        migrate(bare_database.url, tree.read())


def test_a_function_whose_text_changed_is_replaced_and_the_others_are_not(
    bare_database: Database, connection: psycopg.Connection, tree: Tree
) -> None:
    migrate(bare_database.url, tree.read())
    tree.write("functions/b_count.sql", _COUNT_FROM.replace("start + count", "start + 10 + count"))
    plan = migrate(bare_database.url, tree.read())
    assert [file.name for file in plan.changed] == ["functions/b_count.sql"]
    assert connection.execute("SELECT payroll.a_count()").fetchone() == (11,)


def test_a_function_that_is_no_longer_shipped_is_reported_and_stays(
    bare_database: Database, connection: psycopg.Connection, tree: Tree
) -> None:
    migrate(bare_database.url, tree.read())
    (tree.directory / "functions/a_count.sql").unlink()
    plan = migrate(bare_database.url, tree.read())
    assert plan.removed == ("functions/a_count.sql",)
    assert plan.up_to_date
    assert connection.execute("SELECT payroll.a_count()").fetchone() == (1,)


def test_a_function_with_a_wrong_body_is_refused_with_its_context_and_nothing_of_it_stays(
    bare_database: Database, connection: psycopg.Connection, tree: Tree
) -> None:
    migrate(bare_database.url, tree.read())
    tree.write("functions/b_count.sql", _COUNT_FROM.replace("payroll.thing", "payroll.thong"))
    with pytest.raises(psycopg.errors.UndefinedTable, match="thong"):
        migrate(bare_database.url, tree.read())
    assert connection.execute("SELECT payroll.a_count()").fetchone() == (1,)
    assert not check(bare_database.url, tree.read()).up_to_date


def test_a_migration_that_fails_is_named_and_those_before_it_stay(
    bare_database: Database, connection: psycopg.Connection, tree: Tree
) -> None:
    tree.write("migrations/0002_word.sql", _SECOND + "SELECT 1 / 0;\n")
    with pytest.raises(psycopg.errors.DivisionByZero) as caught:
        migrate(bare_database.url, tree.read())
    assert caught.value.__notes__ == ["while applying migrations/0002_word.sql"]
    assert [version for version, _ in _migrations(connection)] == [1]
    tree.write("migrations/0002_word.sql", _SECOND)
    migrate(bare_database.url, tree.read())
    assert [version for version, _ in _migrations(connection)] == [1, 2]


def test_two_runs_at_once_apply_everything_once(
    bare_database: Database, connection: psycopg.Connection, tree: Tree
) -> None:
    with ThreadPoolExecutor(4) as pool:
        plans = list(pool.map(lambda _: migrate(bare_database.url, tree.read()), range(4)))
    assert sorted(plan.up_to_date for plan in plans) == [False, True, True, True]
    assert len(_migrations(connection)) == 1


def test_check_writes_nothing(bare_database: Database, connection: psycopg.Connection, tree: Tree) -> None:
    plan = check(bare_database.url, tree.read())
    assert len(plan.migrations) == 1
    assert len(plan.changed) == 3
    assert connection.execute("SELECT to_regnamespace('payroll')").fetchone() == (None,)


def test_a_gap_in_the_numbers_of_the_migrations_is_refused(tree: Tree) -> None:
    tree.write("migrations/0003_late.sql", _SECOND)
    with pytest.raises(SqlTreeBroken, match="0002_words"):
        tree.read()


def test_line_ends_do_not_change_a_checksum(tree: Tree) -> None:
    before = tree.read().migrations[0].checksum
    (tree.directory / "migrations/0001_thing.sql").write_bytes(_FIRST.replace("\n", "\r\n").encode())
    assert tree.read().migrations[0].checksum == before


def test_the_shipped_files_install_as_a_database_owner_who_is_no_superuser(tmp_path: Path) -> None:
    with private_server(tmp_path / "server") as server:
        with server.connect() as connection:
            connection.execute("CREATE ROLE dba LOGIN CREATEROLE PASSWORD 'dba'")
            connection.execute("CREATE DATABASE owned OWNER dba")
            connection.execute("CREATE DATABASE given OWNER dba")
        assert not migrate(server.url_of("owned", "dba", "dba")).up_to_date
        assert migrate(server.url_of("owned", "dba", "dba")).up_to_date
        # The roles exist now, whoever made them: a second database installs all the same.
        assert not migrate(server.url_of("given", "dba", "dba")).up_to_date


def test_a_plain_member_of_the_owner_role_can_upgrade(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "db")
    with private_server(tmp_path / "server") as server:
        migrate(server.url, tree.read())
        with server.connect() as connection:
            connection.execute("CREATE ROLE dba LOGIN PASSWORD 'dba' IN ROLE payroll_owner")
        tree.write("migrations/0002_word.sql", _SECOND)
        plan = migrate(server.url_of("postgres", "dba", "dba"), tree.read())
        assert len(plan.migrations) == 1
