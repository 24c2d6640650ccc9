"""Fixtures that every test may use; the servers and databases themselves are in tests/database_server.py."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from paylock.migrate import migrate
from tests.database_server import (
    Database,
    Server,
    chosen_server,
    empty_database,
    member_logins,
    migrated_template,
    private_server,
)
from tests.extras import EXTRAS, debian_binaries_with, required

_STRKEY = re.compile(r"[GMS][A-Z2-7]{55}")
_LEFT_OUT = "left out for lack of "


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The session's PostgreSQL server; nothing is installed in it."""
    with chosen_server(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture(scope="session")
def database_template(postgres_server: Server) -> Iterator[str]:
    """The name of a database with Paylock installed, which nobody may be connected to."""
    with migrated_template(postgres_server) as name:
        yield name


@pytest.fixture
def database(postgres_server: Server, database_template: str) -> Iterator[Database]:
    """A fresh database with Paylock installed."""
    with empty_database(postgres_server, database_template) as fresh:
        yield fresh


@pytest.fixture
def bare_database(postgres_server: Server) -> Iterator[Database]:
    """A fresh database without anything in it."""
    with empty_database(postgres_server) as fresh:
        yield fresh


@pytest.fixture(scope="session")
def cron_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Paylock and pg_cron in one database, on a server of its own. For tests marked needs("pg_cron")."""
    settings = {
        "shared_preload_libraries": "pg_cron",
        "cron.database_name": "paylock_cron",
        "cron.use_background_workers": "on",
    }
    directory = tmp_path_factory.mktemp("cron")
    with private_server(directory, binaries=debian_binaries_with("pg_cron"), settings=settings) as server:
        with server.connect() as connection:
            connection.execute("CREATE DATABASE paylock_cron")
        database = Database(server, "paylock_cron")
        migrate(database.url)
        with database.connect() as connection:
            connection.execute("CREATE EXTENSION pg_cron")
        with member_logins(server):
            yield database


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        extra = EXTRAS[marker.args[0]]
        if extra.find() is None:
            message = f"{_LEFT_OUT}{extra.name} ({extra.package})"
            if required():
                pytest.fail(message)
            pytest.skip(message)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names what was left out, so that a green run says what it did not look at."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    for reason, tests in sorted(reasons.items()):
        if reason.startswith(_LEFT_OUT):
            terminalreporter.write_line(f"{reason}: {tests} tests")


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Keeps addresses and keys out of the tests' names: those made anew in each process would differ."""
    return argname if isinstance(val, str) and _STRKEY.search(val) else None
