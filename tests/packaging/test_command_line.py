import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from paylock.cli import root
from tests.database_server import Database

_COMMANDS = ("migrate", "doctor", "import", "schedule", "run", "channel", "pod", "sandbox", "demo")


def _paylock(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PAYLOCK_")}
    return subprocess.run(
        [sys.executable, "-m", "paylock", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=inherited | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
    )


def test_it_says_its_version() -> None:
    assert _paylock("--version").stdout.strip() == f"paylock, version {version('paylock')}"


def test_help_lists_the_commands_without_importing_them() -> None:
    script = (
        "import sys; from paylock.cli import root; root(['--help'], standalone_mode=False);"
        " assert not [name for name in sys.modules if name.startswith('paylock.commands.')]"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "migrate" in result.stdout


@pytest.mark.parametrize("name", [name for name in _COMMANDS if name in root.list_commands(None)])  # type: ignore[arg-type]
def test_every_command_explains_itself(name: str) -> None:
    result = _paylock(name, "--help")
    assert result.returncode == 0, result.stderr
    assert "usage" in result.stdout.lower()


def test_an_unknown_command_is_wrong_usage() -> None:
    result = _paylock("pay-twice")
    assert result.returncode == 2
    assert "No such command" in result.stderr


def test_a_database_that_does_not_answer_is_said_in_one_line() -> None:
    result = _paylock("migrate", "--check", "--database-url", "postgresql://127.0.0.1:1/payroll")
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert "Connection refused" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_databases_own_errors_are_printed_with_their_code_and_hint(bare_database: Database) -> None:
    script = (
        "import click, psycopg, sys; from paylock import cli\n"
        "@cli.root.command('boom')\n"
        "@cli.database_option\n"
        "def boom(database_url):\n"
        "    psycopg.connect(database_url).execute(\"DO $$ BEGIN RAISE EXCEPTION 'no such run' USING"
        " ERRCODE = 'PL002', HINT = 'list the runs'; END $$\")\n"
        "cli.LazyGroup.get_command = lambda self, ctx, name: self.commands.get(name)\n"
        "sys.argv = ['paylock', 'boom']; cli.main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PAYLOCK_DATABASE_URL": bare_database.url},
    )
    assert result.returncode == 1
    assert result.stderr == "error PL002: no such run\nhint: list the runs\n"


def test_migrate_installs_then_has_nothing_to_do(bare_database: Database) -> None:
    assert _paylock("migrate", "--check", PAYLOCK_DATABASE_URL=bare_database.url).returncode == 1
    first = _paylock("migrate", PAYLOCK_DATABASE_URL=bare_database.url)
    assert first.returncode == 0, first.stderr
    assert "migrations/0001" in first.stdout
    again = _paylock("migrate", PAYLOCK_DATABASE_URL=bare_database.url)
    assert again.stdout == "the database is up to date\n"
    assert _paylock("migrate", "--check", PAYLOCK_DATABASE_URL=bare_database.url).returncode == 0


def test_the_installation_is_printed_without_a_database() -> None:
    result = _paylock("migrate", "--dump-sql")
    assert result.returncode == 0, result.stderr
    assert "CREATE TABLE payroll.pay_schedule" in result.stdout
