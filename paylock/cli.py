"""The `paylock` command: a root that loads each subcommand only when it is called for."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import click
import psycopg

from paylock import __version__

# Name, module that exposes `command`, and the line in `paylock --help` (so that help imports nothing).
_COMMANDS = {
    "migrate": ("paylock.commands.migrate", "Install Paylock in a database, or bring it up to date."),
    "doctor": ("paylock.commands.doctor", "Check database, grants, network, keys, channels and clock."),
    "organization": ("paylock.commands.organization", "Add and list employers and what they pay from."),
    "import": ("paylock.commands.import_", "Import a payroll file."),
    "schedule": ("paylock.commands.schedule", "List, preview, pause, resume and cancel pay schedules."),
    "run": ("paylock.commands.run", "List pay runs and show what became of each payment."),
    "channel": ("paylock.commands.channel", "Add and list channel accounts."),
    "pod": ("paylock.commands.pod", "Run a payout pod."),
    "sandbox": ("paylock.commands.sandbox", "Serve a local Stellar network for tests and demos."),
    "demo": ("paylock.commands.demo", "Pay a whole payroll on this machine, start to end."),
}


class LazyGroup(click.Group):
    """Imports a subcommand's module when it runs; those whose module is not shipped are not offered."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [
            name for name, (module, _) in _COMMANDS.items() if importlib.util.find_spec(module) is not None
        ]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(_COMMANDS[cmd_name][0]).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{_COMMANDS[cmd_name][0]}.command is not a click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="paylock")
def root() -> None:
    """Payroll on Stellar from PostgreSQL: every payee of every pay run is paid exactly once."""


def database_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--database-url`, given to the command as `database_url`."""
    return click.option(
        "-d",
        "--database-url",
        envvar="PAYLOCK_DATABASE_URL",
        required=True,
        show_envvar=True,
        metavar="URL",
        help="postgresql://user:password@host/database, or a libpq connection string.",
    )(function)


# For errors that PostgreSQL itself raises, and says nothing more about.
_HINTS = {
    "42501": "this login may not do that: docs/setup.md says which role each command needs",
    "42P01": "is Paylock installed in this database, and up to date? Run: paylock migrate",
    "3F000": "Paylock is not installed in this database. Run: paylock migrate",
    "42883": "is Paylock up to date in this database? Run: paylock migrate",
}


def explain(error: psycopg.Error) -> str:
    """One or two lines for a person: what went wrong and, where the database says so, what to do."""
    diagnostic = error.diag
    if error.sqlstate is None:  # no answer from a server: it was not reached, or went away
        text = " ".join(str(error).split())
        return f"error: {text}"
    lines = [f"error {error.sqlstate}: {diagnostic.message_primary}"]
    lines += getattr(error, "__notes__", [])
    if diagnostic.message_detail:
        lines.append(f"detail: {diagnostic.message_detail}")
    hint = diagnostic.message_hint or _HINTS.get(error.sqlstate, "")
    if hint:
        lines.append(f"hint: {hint}")
    return "\n".join(lines)


def main() -> None:
    """The console script. Exit status 1 after an error of the database, 2 after wrong usage."""
    try:
        root(prog_name="paylock")
    except psycopg.Error as error:
        click.echo(explain(error), err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
