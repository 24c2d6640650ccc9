"""What the two pay runs are doing, read from the database and shown while it changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import psycopg
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_DONE = frozenset(("paid", "partly_paid", "cancelled"))


@dataclass(frozen=True, slots=True)
class RunProgress:
    """One run's payments by state."""

    organization: str
    schedule: str
    state: str
    reason: str | None
    payments: int
    waiting: int
    in_flight: int
    paid: int
    failed: int

    @property
    def done(self) -> bool:
        return self.state in _DONE


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The runs now (none before they are due), a word about each pod, and when a schedule falls due next."""

    runs: tuple[RunProgress, ...]
    pods: tuple[str, ...]
    seconds_until_due: float

    def done(self, runs: int) -> bool:
        """Whether so many runs have opened and all are done."""
        return len(self.runs) == runs and all(run.done for run in self.runs)


def read_runs(connection: psycopg.Connection) -> tuple[RunProgress, ...]:
    """All runs, by organization."""
    rows = connection.execute(
        "SELECT organization, schedule, state, reason, payments, pending + held, in_flight, paid, failed"
        " FROM payroll.run_overview ORDER BY organization, run_id"
    ).fetchall()
    return tuple(RunProgress(*row) for row in rows)


class Display:
    """`with Display(console) as display:` and show() whenever there is news.

    On a terminal the picture is redrawn in place; elsewhere each change is one line.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8, transient=True)
        self._last: Sequence[RunProgress] = ()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, snapshot: Snapshot) -> None:
        """The newest picture."""
        if self._console.is_terminal:
            self._live.update(_picture(snapshot))
        elif snapshot.runs != self._last:
            for run in snapshot.runs:
                if run not in self._last:
                    self._console.print(f"  {_line(run)}")
        self._last = snapshot.runs

    def say(self, text: str) -> None:
        """A line that stays, above the picture."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def _line(run: RunProgress) -> str:
    return (
        f"{run.organization}: {run.paid} paid, {run.failed} failed, {run.in_flight} in flight, "
        f"{run.waiting} waiting" + (f" ({run.reason})" if run.reason and not run.done else "")
    )


def _picture(snapshot: Snapshot) -> Group:
    table = Table.grid(padding=(0, 2))
    for run in snapshot.runs:
        table.add_row(
            Text(f"  {run.organization} · {run.schedule}"),
            ProgressBar(total=run.payments, completed=run.paid + run.failed, width=30),
            Text(f"{run.paid} paid", style="green"),
            Text(f"{run.failed} failed", style="red" if run.failed else "dim"),
            Text(f"{run.in_flight} in flight", style="yellow" if run.in_flight else "dim"),
            Text(f"{run.waiting} waiting", style="dim"),
        )
    if not snapshot.runs:
        table.add_row(Text(f"  the schedules fall due in {snapshot.seconds_until_due:.0f} s"))
    return Group(table, Text("  " + "   ".join(snapshot.pods), style="dim"))
