from pathlib import Path

import pytest

from tests.database_server import Database, Server, container_server


def test_the_chosen_server_takes_connections(postgres_server: Server) -> None:
    with postgres_server.connect() as connection:
        row = connection.execute("SELECT current_setting('server_version_num')::integer").fetchone()
    assert row is not None
    assert row[0] >= 150000


def test_each_test_has_a_database_of_its_own_with_a_login_for_each_role(database: Database) -> None:
    with database.connect("payroll_pod") as connection:
        memberships = connection.execute(
            "SELECT rolname FROM pg_roles"
            " WHERE rolname LIKE 'payroll!_%' ESCAPE '!' AND pg_has_role(session_user, oid, 'MEMBER')"
        ).fetchall()
    assert memberships == [("payroll_pod",)]


@pytest.mark.needs("containers")
def test_a_server_in_a_container_serves_the_suite_too(tmp_path: Path) -> None:
    with container_server() as server, server.connect() as connection:
        row = connection.execute("SELECT current_setting('server_version_num')::integer").fetchone()
    assert row is not None
    assert row[0] >= 150000


@pytest.mark.needs("pg_cron")
def test_the_cron_database_runs_jobs(cron_database: Database) -> None:
    with cron_database.connect() as connection:
        row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'pg_cron'").fetchone()
    assert row is not None
