"""The play itself: pods start, a payroll is imported, it falls due, and a pod dies while it pays."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from rich.console import Console

from paylock.demo.judge import Line
from paylock.demo.payroll_lines import read_lines
from paylock.demo.pods import Death, Pod, kill_while_paying, start_pods, wait_until_ready, who_settled
from paylock.demo.processes import Processes
from paylock.demo.progress import Display, Snapshot, read_runs
from paylock.demo.sandbox_control import normal_pace, slow_down
from paylock.demo.stage import Stage
from paylock.demo.stuck import explain_stuck
from paylock.demo.telling import run_command, say

PODS = 3
STALL_SECONDS = 120.0
LEASE_SECONDS = 5  # the least that the database allows: the others take over soon
_TICK_SECONDS = 0.05
_SLOWER = 5
_DUE_IN = timedelta(seconds=8)


class PayrollStuck(Exception):
    """Nothing has changed for a long time; the message says what is waiting for what."""


def start_all_pods(stage: Stage, processes: Processes, console: Console) -> list[Pod]:
    """Each with a login of its own in the role payroll_pod; returns when all are ready."""
    started = start_pods(
        processes, stage.admin, stage.url_of_login, PODS, {**stage.pod_variables, **_pod_tuning()}
    )
    pods = wait_until_ready(started)
    logins = ", ".join(f"{pod.label} ({pod.login})" for pod in pods)
    say(console, f"three pods are ready, each with a login that can only execute the pod functions: {logins}")
    return pods


def import_payroll(stage: Stage, file: Path, console: Console) -> list[Line]:
    """Runs `paylock import` with terms that make both schedules due some seconds from now."""
    due = (datetime.now(UTC) + _DUE_IN).replace(microsecond=0)
    options = [
        "--frequency", "once", "--first-pay-date", f"{due:%Y-%m-%d}", "--pay-time", f"{due:%H:%M:%S}",
        "--time-zone", "UTC",
    ]  # fmt: skip
    run_command(console, ["import", str(file), *options], stage.clerk_url)
    return read_lines(file, stage.funding_addresses, due.date())


def pay(stage: Stage, pods: list[Pod], processes: Processes, runs: int, console: Console) -> list[Death]:
    """Waits until all runs are done, and meanwhile kills a pod. Raises ChildEnded or PayrollStuck.

    Until a pod is dead the ledgers close five times slower, as on the public network: on a slow machine, too,
    there is then a moment at which batches are signed and not settled.
    """
    slow_down(stage.horizon_url, _SLOWER)
    deaths: list[Death] = []
    changed_at = time.monotonic()
    last: Snapshot | None = None
    with Display(console) as display:
        while True:
            processes.check()
            if not deaths:
                death = kill_while_paying(pods, processes, stage.admin)
                if death is not None:
                    deaths.append(death)
                    normal_pace(stage.horizon_url)
                    display.say(
                        f"killed {death.pod.label} with SIGKILL: it held {len(death.batches)} signed batches "
                        f"with {death.payments} payments that no ledger had settled"
                    )
            snapshot = Snapshot(
                read_runs(stage.admin), tuple(_status(pod, deaths) for pod in pods), _countdown(stage.admin)
            )
            display.show(snapshot)
            if snapshot.done(runs):
                break
            if last is None or snapshot.runs != last.runs or snapshot.seconds_until_due:
                changed_at = time.monotonic()
            elif time.monotonic() - changed_at > STALL_SECONDS:
                raise PayrollStuck("\n".join(explain_stuck(stage.admin, STALL_SECONDS)))
            last = snapshot
            time.sleep(_TICK_SECONDS)
    for death in deaths:
        others = who_settled(pods, death.batches, stage.admin)
        say(console, f"the batches of {death.pod.label} were taken over and settled by {others}")
    return deaths


def _pod_tuning() -> dict[str, str]:
    return {
        "PAYLOCK_LEASE_SECONDS": str(LEASE_SECONDS),
        "PAYLOCK_POLL_SECONDS": "1",
        "PAYLOCK_CONCURRENCY": "2",
    }


def _status(pod: Pod, deaths: list[Death]) -> str:
    return f"{pod.label} killed" if any(death.pod is pod for death in deaths) else f"{pod.label} running"


def _countdown(connection: psycopg.Connection) -> float:
    row = connection.execute("SELECT seconds_until FROM payroll.next_due_at()").fetchone()
    return float(row[0]) if row and row[0] else 0.0
