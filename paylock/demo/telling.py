"""Tells the onlooker what is done, and does it with the commands that they would type."""

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console

from paylock.demo.processes import environment


class CommandFailed(Exception):
    """A `paylock` command ended with an error; its words are in the message."""


def say(console: Console, text: str) -> None:
    """One line, as it is."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def run_command(
    console: Console, arguments: Sequence[str], database_url: str, variables: Mapping[str, str] | None = None
) -> None:
    """Runs `paylock ARGUMENTS` in a process of its own and shows what it says. Raises CommandFailed."""
    say(console, f"$ paylock {shlex.join(arguments)}")
    result = subprocess.run(
        [sys.executable, "-m", "paylock", *arguments],
        env=environment(
            {**(variables or {}), "PAYLOCK_DATABASE_URL": database_url, "COLUMNS": str(console.width - 2)}
        ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    for line in result.stdout.splitlines():
        say(console, f"  {line}")
    if result.returncode != 0:
        raise CommandFailed(f"paylock {arguments[0]} ended with status {result.returncode}: {result.stdout}")
