"""Three pods as an SRE runs them: a process and a database login each. And one of them dies while it pays."""

import contextlib
import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import psycopg

from paylock.demo.processes import Process, Processes
from paylock.demo.stage import create_login

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_POLL_SECONDS = 0.02
_QUIET_SECONDS = 5.0
_HELD = (
    "SELECT b.claimed_by, b.batch_id, count(*)"
    " FROM payroll.payment_batch AS b JOIN payroll.batch_payment AS p USING (batch_id)"
    " WHERE b.state = 'signed' GROUP BY b.claimed_by, b.batch_id"
)
_BEING_SIGNED = "SELECT count(*) FROM payroll.payment_batch WHERE state = 'claimed'"


@dataclass(frozen=True, slots=True)
class Pod:
    """One running pod. login: its database login. name: as the database knows it. url: where it serves health
    and metrics."""

    label: str
    process: Process
    login: str
    database_url: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class StartedPod:
    """A pod that may not be ready yet."""

    process: Process
    login: str
    database_url: str


@dataclass(frozen=True, slots=True)
class Death:
    """What the killed pod held at its end: batches that were signed and that the ledger had not settled."""

    pod: Pod
    batches: list[int]
    payments: int


def start_pods(
    processes: Processes,
    admin: psycopg.Connection,
    database_url: Callable[[str, str], str],
    count: int,
    variables: Mapping[str, str],
) -> list[StartedPod]:
    """Starts `count` pods. database_url(login, password) gives each its URL; all get `variables`."""
    started = []
    for number in range(1, count + 1):
        login = f"demo_pod_{number}"
        url = database_url(login, create_login(admin, login, "payroll_pod"))
        environment = {**variables, "PAYLOCK_DATABASE_URL": url, "PAYLOCK_HTTP_PORT": "0"}
        process = processes.start(f"pod-{number}", "notifier", variables=environment)
        started.append(StartedPod(process, login, url))
    return started


def wait_until_ready(started: list[StartedPod]) -> list[Pod]:
    """Returns when each pod says on /readyz that it is. Raises ChildEnded when one has ended instead."""
    pods: list[Pod] = []
    for one in started:
        while (pod := _ready(one)) is None:
            one.process.check()
            time.sleep(_POLL_SECONDS)
        pods.append(pod)
    return pods


def kill_while_paying(pods: list[Pod], processes: Processes, admin: psycopg.Connection) -> Death | None:
    """Kills the pod that holds most payments in flight; None if none holds any at this moment.

    The pod is stopped first (SIGSTOP), so that nothing can be settled between looking and killing: what the
    database shows then is what the pod really held.
    """
    held = _held(admin)  # payments by pod and batch
    candidates = [pod for pod in pods if pod.name in held]
    if not candidates or admin.execute(_BEING_SIGNED).fetchone() != (0,):
        return None
    victim = max(candidates, key=lambda pod: sum(held[pod.name].values()))
    os.kill(victim.process.pid, signal.SIGSTOP)
    if _fell_silent(admin, victim) and victim.name in _held(admin):
        processes.kill(victim.process)
        batches = _held(admin)[victim.name]
        return Death(victim, list(batches), sum(batches.values()))
    os.kill(victim.process.pid, signal.SIGCONT)
    return None


def _ready(started: StartedPod) -> Pod | None:
    process = started.process
    for line in process.log.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict) and "port" in entry:
                for host in ("127.0.0.1", "[::1]"):
                    url = f"http://{host}:{entry['port']}"
                    if _answers(f"{url}/readyz"):
                        return Pod(
                            process.name, process, started.login, started.database_url, str(entry["pod"]), url
                        )
    return None


def _answers(url: str) -> bool:
    try:
        with _OPENER.open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def who_settled(pods: list[Pod], batches: list[int], admin: psycopg.Connection) -> str:
    """Which pods brought these batches to their end, in words."""
    names = {pod.name: pod.label for pod in pods}
    rows = admin.execute(
        "SELECT claimed_by, count(*) FROM payroll.payment_batch WHERE batch_id = ANY (%s)"
        " AND state IN ('succeeded', 'failed') GROUP BY claimed_by ORDER BY claimed_by",
        (batches,),
    ).fetchall()
    return " and ".join(f"{names.get(name, name)} ({count})" for name, count in rows)


def _held(admin: psycopg.Connection) -> dict[str, dict[int, int]]:
    """For each pod its signed batches that are not settled, with their number of payments."""
    held: dict[str, dict[int, int]] = {}
    for pod, batch, payments in admin.execute(_HELD).fetchall():
        held.setdefault(pod, {})[batch] = payments
    return held


def _fell_silent(admin: psycopg.Connection, pod: Pod) -> bool:
    """Waits until the server has finished what the stopped pod had asked of it."""
    deadline = time.monotonic() + _QUIET_SECONDS
    while time.monotonic() < deadline:
        row = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = %s AND state = 'active'", (pod.login,)
        ).fetchone()
        if row == (0,):
            return True
        time.sleep(_POLL_SECONDS)
    return False
