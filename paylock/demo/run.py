"""The demo from start to end: set the stage, play, judge, tidy up."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

import psycopg
from rich.console import Console

import paylock
from paylock.demo.guard import Guard
from paylock.demo.judge import AccountState, Line, Verdict, balance_findings, judge
from paylock.demo.ledger_reader import Traffic, read_accounts, read_operations, read_traffic
from paylock.demo.looking import leave_directions
from paylock.demo.paying import PODS, PayrollStuck, import_payroll, pay, start_all_pods
from paylock.demo.payroll_lines import accounts_in
from paylock.demo.place import DemoIsRunning, NotADemo, Place
from paylock.demo.pods import Death
from paylock.demo.processes import ChildEnded, Processes, environment
from paylock.demo.stage import Stage, create_database, set_stage, start_sandbox, wait_for_sandbox
from paylock.demo.summary import PaymentRow, disagreements, print_payments, print_verdict, read_payments
from paylock.demo.telling import CommandFailed, say
from paylock.network_setup import NetworkUnreachable, SetupRefused, WrongNetwork
from paylock.postgres_embedded import EmbeddedPostgres, PostgresNotStarted
from paylock.unprivileged import NoUnprivilegedAccount

CLOSE_SECONDS = 1.0
_PLAIN_WIDTH = 110


class DemoFailed(Exception):
    """The demo could not be played to its end; the message says why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo found. `figures` is its last line."""

    lines: int
    verdict: Verdict
    payments: list[PaymentRow]
    disagreements: list[str]  # of the ledger's balances or of the database with the verdict
    traffic: Traffic
    deaths: list[Death]

    @property
    def good(self) -> bool:
        """Nobody was paid twice, nobody payable was missed, the database says the same, and a pod did die."""
        return self.verdict.exact and not self.disagreements and len(self.deaths) == 1

    @property
    def figures(self) -> dict[str, int]:
        failed = [payment for payment in self.payments if payment.state == "failed" and payment.reason]
        return {
            "payees": self.lines,
            "payable": self.verdict.payable,
            "paid_once": len(self.verdict.paid_once),
            "paid_twice": len(self.verdict.paid_twice),
            "unpaid_payable": len(self.verdict.unpaid),
            "failed_with_reason": len(failed),
            "pods": PODS,
            "pods_killed": len(self.deaths),
            "ledgers": self.traffic.ledgers,
            "transactions": self.traffic.transactions,
        }


def run_demo(directory: Path, *, keep: bool) -> Outcome:
    """Plays it. Raises DemoFailed or KeyboardInterrupt; either way nothing is left behind."""
    console = Console(width=None if os.isatty(1) else _PLAIN_WIDTH)
    try:
        with Place(directory).taken() as place:
            if place.had_leftover:
                say(console, "removed what an earlier demo had left")
            return _play(place, _example(), console, keep=keep)
    except (
        ChildEnded,
        CommandFailed,
        DemoIsRunning,
        NotADemo,
        NetworkUnreachable,
        SetupRefused,
        WrongNetwork,
        NoUnprivilegedAccount,
        PayrollStuck,
        PostgresNotStarted,
    ) as error:
        raise DemoFailed(str(error)) from error


def use_clean_environment() -> None:
    """Has this process, too, forget what is meant for other databases and networks."""
    clean = environment({})
    os.environ.clear()
    os.environ.update(clean)


def stop_demo(directory: Path) -> bool:
    """Ends and removes what a kept demo left; whether there was one. Raises DemoFailed."""
    place = Place(directory)
    if not place.exists:
        return False
    try:
        with place.taken():
            return True
    except (DemoIsRunning, NotADemo) as error:
        raise DemoFailed(str(error)) from error


def _play(place: Place, payroll: Path, console: Console, *, keep: bool) -> Outcome:
    with contextlib.ExitStack() as cleanup:
        guard = cleanup.enter_context(Guard(place.directory, environment({})))
        postgres = EmbeddedPostgres(place.postgres, keep=keep, durable=True)
        postgres.start()
        cleanup.callback(lambda: None if place.kept else postgres.stop())
        processes = cleanup.enter_context(Processes(place, guard))
        sandbox_process = start_sandbox(processes, CLOSE_SECONDS)
        admin = cleanup.enter_context(psycopg.connect(create_database(postgres), autocommit=True))
        say(console, f"PostgreSQL {postgres.version} is up, and Paylock is installed in it")
        sandbox = wait_for_sandbox(sandbox_process)
        say(console, f"a Stellar network of our own is up at {sandbox.horizon_url}, a ledger every second")

        stage = set_stage(place, admin, postgres, sandbox, console)
        pods = start_all_pods(stage, processes, console)
        before = read_accounts(stage.horizon_url, accounts_in(payroll))
        lines = import_payroll(stage, payroll, console)
        runs = len({(line.organization, line.schedule) for line in lines})
        deaths = pay(stage, pods, processes, runs, console)
        if not keep:
            processes.stop([pod.process for pod in pods])  # nobody can still pay while the judge looks
        outcome = _judge(stage, lines, before, deaths, console)
        if keep:
            place.kept = True
            processes.release()
            dead = [death.pod for death in deaths]
            leave_directions(place, stage, [pod for pod in pods if pod not in dead], console)
        return outcome


def _judge(
    stage: Stage,
    lines: list[Line],
    before: dict[str, AccountState],
    deaths: list[Death],
    console: Console,
) -> Outcome:
    payments = read_payments(stage.admin)
    print_payments(console, payments)
    verdict = judge(lines, read_operations(stage.horizon_url), before)
    print_verdict(console, verdict, len(lines))
    after = read_accounts(stage.horizon_url, (line.account for line in lines))
    found = [*balance_findings(lines, before, after), *disagreements(verdict, payments)]
    for sentence in found:
        say(console, f"  {sentence}")
    if not found:
        say(
            console,
            "the payees' balances grew by exactly that, and the database says the same of each payment",
        )
    traffic = read_traffic(stage.horizon_url, stage.channel_addresses)
    return Outcome(len(lines), verdict, payments, found, traffic, deaths)


def _example() -> Path:
    path = Path(paylock.__file__).parent.parent / "examples" / "payroll.csv"
    with contextlib.suppress(ValueError):
        path = path.relative_to(Path.cwd())  # shorter to show
    if not path.is_file():
        raise DemoFailed("examples/payroll.csv is not here: run the demo in a checkout")
    return path
