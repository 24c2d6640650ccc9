"""Every PL/pgSQL function passes plpgsql_check, which follows each statement to the tables behind it."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from paylock.migrate import migrate
from tests.database_server import private_server
from tests.extras import debian_binaries_with

pytestmark = pytest.mark.needs("plpgsql_check")

# Trigger functions are checked once for each table that they are attached to.
_ROUTINES = """
SELECT routine.oid::regprocedure::text, routine.oid, coalesce(trigger.tgrelid, 0)
  FROM pg_proc AS routine
  JOIN pg_language AS language ON language.oid = routine.prolang AND language.lanname = 'plpgsql'
  LEFT JOIN pg_trigger AS trigger ON trigger.tgfoid = routine.oid
 WHERE routine.pronamespace = 'payroll'::regnamespace
   AND (routine.prorettype <> 'trigger'::regtype OR trigger.oid IS NOT NULL)
 ORDER BY 1, 3
"""
_CHECK = """
SELECT level, lineno, message, coalesce(detail, ''), coalesce(hint, '')
  FROM plpgsql_check_function_tb(
    %s, %s, fatal_errors => false, other_warnings => true, extra_warnings => true, security_warnings => true)
"""


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection]:
    directory: Path = tmp_path_factory.mktemp("checked")
    with private_server(directory, binaries=debian_binaries_with("plpgsql_check")) as server:
        migrate(server.url)
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION plpgsql_check")
            yield connection


def test_every_plpgsql_function_is_clean(connection: psycopg.Connection) -> None:
    routines = connection.execute(_ROUTINES).fetchall()
    found = [
        (name, *complaint)
        for name, routine, relation in routines
        for complaint in connection.execute(_CHECK, (routine, relation)).fetchall()
    ]
    assert len(routines) > 10
    assert found == []
