"""One employer on a network of its own, with real pods as processes: what the tests here play with."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from pathlib import Path

import psycopg
from stellar_sdk import Keypair, StrKey
from stellar_sdk.sep.mnemonic import StellarMnemonic

from paylock.demo.judge import Line, Verdict, judge
from paylock.demo.ledger_reader import read_accounts, read_operations
from paylock.demo.payroll_lines import run_memo
from paylock.demo.processes import environment
from paylock.payroll_file import ScheduleTerms
from paylock.payroll_import import ImportOptions, import_payroll
from sandbox.server import Sandbox
from tests.database_server import Database

CLOSE_SECONDS = 0.3
CHANNELS = 4
ORGANIZATION = "acme"


@dataclass(slots=True)
class PodProcess:
    """A pod that runs as `python -m notifier`; its log is kept for the failure message."""

    process: asyncio.subprocess.Process
    log: Path

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    async def until_started(self) -> None:
        while '"started"' not in self.text:
            assert self.process.returncode is None, self.text
            await asyncio.sleep(0.02)


@dataclass(slots=True)
class World:
    """A database, a network, one organization with its accounts, and the payrolls imported so far."""

    database: Database
    sandbox: Sandbox
    directory: Path
    funding: Keypair
    seed: str
    connection: psycopg.AsyncConnection
    lines: list[Line] = field(default_factory=list)
    pods: list[PodProcess] = field(default_factory=list)
    started: int = 0
    payees: dict[str, Keypair] = field(default_factory=dict)

    async def start_pod(self) -> PodProcess:
        self.started += 1
        log = self.directory / f"pod-{self.started}.log"
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "notifier",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=environment(
                    {
                        "PAYLOCK_DATABASE_URL": self.database.url_for("payroll_pod"),
                        "PAYLOCK_HORIZON_URL": self.sandbox.url,
                        "PAYLOCK_NETWORK_PASSPHRASE": self.sandbox.network.parameters.passphrase,
                        "PAYLOCK_CHANNEL_SEED": self.seed,
                        "PAYLOCK_FUNDING_SECRETS": self.funding.secret,
                        "PAYLOCK_HTTP_PORT": "0",
                        "PAYLOCK_LEASE_SECONDS": "5",
                        "PAYLOCK_POLL_SECONDS": "1",
                    }
                ),
            )
        pod = PodProcess(process, log)
        self.pods.append(pod)
        return pod

    async def add_payees(self, count: int) -> None:
        """Opens accounts on the network for so many more payees."""
        new = [Keypair.random() for _ in range(count)]
        for payee in new:
            self.payees[f"E-{len(self.payees) + 1:04}"] = payee
        self.sandbox.fund({payee.public_key: "1" for payee in new})

    async def import_schedule(self, schedule: str, due: datetime) -> None:
        """Everybody gets one XLM and some stroops; every tenth payee has a memo of their own."""
        rows = ["organization,schedule,employee_id,name,destination,asset,amount,memo_type,memo"]
        for number, (employee, payee) in enumerate(self.payees.items(), start=1):
            memo = f"for {employee}" if number % 10 == 0 else ""
            amount = f"1.{number:07}"
            rows.append(
                f"{ORGANIZATION},{schedule},{employee},Person {number},{payee.public_key},XLM,{amount},"
                + (f"text,{memo}" if memo else ",")
            )
            self.lines.append(
                Line(
                    row=number + 1,
                    organization=ORGANIZATION,
                    schedule=schedule,
                    employee_id=employee,
                    name=f"Person {number}",
                    source=self.funding.public_key,
                    destination=payee.public_key,
                    asset="XLM",
                    amount=Decimal(amount),
                    memo_type="text" if memo else "hash",
                    memo=memo or run_memo(ORGANIZATION, schedule, due.date()),
                    own_memo=bool(memo),
                )
            )
        terms = ScheduleTerms("ONCE", due.date(), due.time().replace(microsecond=0), "UTC", None)
        with self.database.connect("payroll_operator") as operator:
            import_payroll(operator, BytesIO("\n".join(rows).encode()), ImportOptions(terms=terms))

    async def until_all_runs_are_done(self, runs: int) -> None:
        """Waits until that many runs are paid. A pod that ends meanwhile fails the test."""
        while True:
            cursor = await self.connection.execute(
                "SELECT count(*) FILTER (WHERE state IN ('paid', 'partly_paid')) FROM payroll.pay_run"
            )
            row = await cursor.fetchone()
            if row is not None and row[0] >= runs:
                return
            for pod in self.pods:
                assert pod.process.returncode is None, pod.text
            await asyncio.sleep(0.05)

    async def verdict(self) -> Verdict:
        """The ledger's, over all payrolls imported so far."""

        def read() -> Verdict:
            accounts = read_accounts(self.sandbox.url, (line.account for line in self.lines))
            return judge(self.lines, read_operations(self.sandbox.url), accounts)

        return await asyncio.to_thread(read)

    async def stop_pods(self) -> None:
        """SIGTERM to each, which must end in order."""
        for pod in self.pods:
            await pod.until_started()
            pod.process.terminate()
        for pod in self.pods:
            assert await pod.process.wait() == 0, pod.text
        self.pods.clear()


@asynccontextmanager
async def world(database: Database, directory: Path) -> AsyncIterator[World]:
    """Everything up but the pods; ends them, too."""
    seed = StellarMnemonic().generate()
    funding = Keypair.random()
    channels = [Keypair.from_mnemonic_phrase(seed, index=index) for index in range(CHANNELS)]
    async with Sandbox("Paylock tests ; end to end", close_seconds=CLOSE_SECONDS) as sandbox:
        sandbox.fund({funding.public_key: "1000000", **{channel.public_key: "1" for channel in channels}})
        with database.connect("payroll_operator") as operator:
            operator.execute("SELECT payroll.set_network(%s)", (sandbox.network.parameters.passphrase,))
            operator.execute("SELECT payroll.create_organization(%s, 'Acme')", (ORGANIZATION,))
            operator.execute("SELECT payroll.add_funding_account(%s, %s)", (ORGANIZATION, funding.public_key))
            for index, channel in enumerate(channels):
                account = sandbox.ledger.account(StrKey.decode_ed25519_public_key(channel.public_key))
                assert account is not None
                operator.execute(
                    "SELECT payroll.add_channel(%s, %s, %s, %s)",
                    (ORGANIZATION, channel.public_key, index, account.sequence),
                )
        connection = await database.connect_async()
        one = World(database, sandbox, directory, funding, seed, connection)
        try:
            yield one
        finally:
            await connection.close()
            for pod in one.pods:
                if pod.process.returncode is None:
                    pod.process.kill()
                    await pod.process.wait()


def soon(seconds: float) -> datetime:
    """A moment at least so many seconds from now, on a whole second."""
    return (datetime.now(UTC) + timedelta(seconds=seconds + 1)).replace(microsecond=0)
