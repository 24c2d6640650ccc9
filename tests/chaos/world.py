"""A world to destroy: two companies with several schedules, payees of every kind, three pods, an operator."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import psycopg
from stellar_sdk import Account, Asset, Keypair, MuxedAccount, TransactionBuilder

from paylock.postgres_embedded import EmbeddedPostgres
from sandbox.amounts import to_text
from sandbox.assets import asset_from_xdr
from sandbox.server import Sandbox
from tests.chaos.fleet import Fleet, clock_off_by, fleet
from tests.chaos.ledger_judge import Credit, judge_everything
from tests.database_server import Database
from tests.support.company import Company, Pay, Town, add_schedule, company, key
from tests.support.pods import pod_environment

PASSPHRASE = "Paylock chaos ; 2026"
LEASE_SECONDS = 5


@dataclass(slots=True)
class World:
    """Everything that disasters may happen to, and what must come out all the same."""

    random: Random
    postgres: EmbeddedPostgres
    database: Database
    network: Sandbox
    town: Town
    fleet: Fleet
    companies: tuple[Company, ...]
    euro: Asset
    issuer: Keypair
    fickle: list[Keypair] = field(default_factory=list)
    expected: dict[str, str] = field(default_factory=dict)
    schedules: list[tuple[Company, str]] = field(default_factory=list)
    foreign: Counter[Credit] = field(default_factory=Counter)
    story: list[str] = field(default_factory=list)
    database_down: asyncio.Lock = field(default_factory=asyncio.Lock)
    stranger_came: bool = False
    somebody_cancelled: bool = False
    began: float = 0.0

    @property
    def native(self) -> Asset:
        return Asset.native()

    def tell(self, what: str) -> None:
        """Note what happened when."""
        self.story.append(f"{asyncio.get_running_loop().time() - self.began:6.2f}  {what}")

    async def operate(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run an operator's statement; a refusal is part of the story, a lost connection too."""
        try:
            async with await self.database.connect_async("payroll_operator") as connection:
                cursor = await connection.execute(statement.encode(), values)
                return await cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            self.tell(f"  refused: {error.sqlstate} {str(error).splitlines()[0] if str(error) else error!r}")
            return []

    def inject(
        self, source: Keypair, add: Callable[[TransactionBuilder], TransactionBuilder], *others: Keypair
    ) -> None:
        """Put a transaction of `source` into the next ledger, past all faults of the network."""
        state = self.network.ledger.account(source.raw_public_key())
        assert state is not None
        account = Account(source.public_key, state.sequence)
        builder = add(TransactionBuilder(account, PASSPHRASE, base_fee=10_000).add_time_bounds(0, 0))
        envelope = builder.build()
        for signer in (source, *others):
            envelope.sign(signer)
        self.network.network.inject(self.network.network.read(envelope.to_xdr()), True)

    def euros_of(self, holder: Keypair) -> str | None:
        """What an account holds of the asset; None if nothing."""
        asset = asset_from_xdr(self.euro.to_xdr_object())
        line = None if asset is None else self.network.ledger.line(holder.raw_public_key(), asset)
        return to_text(line.balance) if line is not None and line.balance else None

    def lumens_of(self, account: Keypair) -> Decimal:
        """What an account holds of the network's own asset."""
        entry = self.network.ledger.account(account.raw_public_key())
        assert entry is not None
        return Decimal(to_text(entry.balance))

    async def settled(self) -> bool:
        """Whether every payment has come to its end, or waits for a person."""
        async with await self.database.connect_async() as connection:
            cursor = await connection.execute(
                "SELECT (SELECT count(*) FROM payroll.pay_schedule WHERE next_open_at IS NOT NULL"
                "   AND state <> 'cancelled')"
                " + (SELECT count(*) FROM payroll.payment AS p"
                "   WHERE p.state IN ('pending', 'in_flight', 'held')"
                "   AND NOT EXISTS (SELECT FROM payroll.batch_payment AS bp JOIN payroll.payment_batch AS b"
                "     USING (batch_id) WHERE bp.payment_id = p.payment_id AND bp.result = 'open'"
                "     AND b.state = 'quarantined'))"
            )
            row = await cursor.fetchone()
            assert row is not None
            return bool(row[0] == 0)

    async def judged(self) -> list[str]:
        """What contradicts the guarantee."""
        faults = judge_everything(
            self.database,
            await self.town.get("/sandbox/operations"),
            {it.funding.public_key for it in self.companies},
            self.foreign,
            self.expected,
        )
        faults += [f"a pod logged a defect: {entry}" for entry in self.fleet.defects()[:3]]
        return faults

    def tell_all(self, directory: Path) -> None:
        """Leave the story and the pods' logs behind."""
        (directory / "story.txt").write_text("\n".join(self.story) + "\n")
        self.fleet.write_logs(directory)

    # --- setting up ---------------------------------------------------------------------------------------

    async def populate(self) -> None:
        """Accounts, trustlines, and schedules that fall due within seconds."""
        for it in self.companies:
            await self.town.open_company(it)
            await self.town.register(self.database, it)
        holders = [key("chaos holder", i) for i in range(30)]
        self.fickle = holders[20:26]
        demanding = key("chaos demanding")
        everybody = [*holders, self.issuer, demanding]
        await self.town.fund({one.public_key: "20" for one in everybody})
        await self.town.trust(self.euro, self.companies[0].funding, *holders[:26])
        await self.town.issue(self.euro, self.issuer, self.companies[0].funding.public_key, "100000")
        await self.town.demand_memo(demanding)
        muxed = [MuxedAccount(demanding.public_key, 70 + i).account_muxed for i in range(3)]

        acme, bolt = self.companies
        await self._schedule(
            acme,
            "mixed",
            [
                *((Pay(f"m{i}", address, "3"), "paid") for i, address in enumerate(muxed) if address),
                *((Pay(f"x{i}", demanding.public_key, f"{i + 1}", memo_type="id", memo_value=f"{i}"), "paid")
                  for i in range(4)),
                (Pay("no-account", key("chaos nobody").public_key), "failed"),
                (Pay("no-memo", demanding.public_key, "999"), "failed"),
            ],
        )  # fmt: skip
        await self._schedule(
            acme,
            "euros",
            [
                *((Pay(f"e{i}", one.public_key, "7.1234567", self.euro), "paid")
                  for i, one in enumerate(holders[:20])),
                *((Pay(f"f{i}", one.public_key, "0.0000001", self.euro), "either")
                  for i, one in enumerate(self.fickle)),
                *((Pay(f"n{i}", one.public_key, "1", self.euro), "failed")
                  for i, one in enumerate(holders[26:])),
            ],
        )  # fmt: skip
        for number in range(4):
            it = (acme, bolt)[number % 2]
            name = f"plain{number}"
            count = self.random.choice((5, 20, 60, 110))
            pays = [Pay(f"p{i}", key("chaos", name, i).public_key, f"{i + 1}.{number}") for i in range(count)]
            await self.town.fund({pay.destination: "5" for pay in pays})
            await self._schedule(it, name, [(pay, "paid") for pay in pays])

    async def _schedule(self, it: Company, name: str, pays: list[tuple[Pay, str]]) -> None:
        due = timedelta(seconds=self.random.uniform(0, 6))
        await asyncio.to_thread(add_schedule, self.database, it, [pay for pay, _ in pays], name=name, due=due)
        self.schedules.append((it, name))
        self.expected |= {f"{name}-{pay.reference}": outcome for pay, outcome in pays}

    def cancelled(self, name: str) -> None:
        """From now on a payee of this schedule may be paid or not; one who can't be paid still is not."""
        for reference, outcome in self.expected.items():
            if reference.startswith(f"{name}-"):
                self.expected[reference] = "unpaid" if outcome == "failed" else "either"

    def drained(self, it: Company, amount: str) -> None:
        """The test itself took so much from a funding account."""
        self.foreign[it.funding.public_key, self.network.root.public_key, "native", Decimal(amount)] += 1


@asynccontextmanager
async def world(
    random: Random, postgres: EmbeddedPostgres, database: Database, pods: int = 3
) -> AsyncIterator[World]:
    """A populated world whose pods don't run yet."""
    seed = random.randrange(2**31)
    close_seconds = random.choice((0.25, 0.5, 1.0))
    async with (
        Sandbox(PASSPHRASE, close_seconds=close_seconds, submit_timeout=3.0, seed=seed) as network,
        aiohttp.ClientSession() as session,
    ):
        town = Town(session, network.url, PASSPHRASE)
        acme = company("acme", 4)
        bolt = company("bolt", 2, first_index=4)
        issuer = key("chaos issuer")
        environments = []
        for _ in range(pods):
            environment = pod_environment(
                database,
                network.url,
                PASSPHRASE,
                acme,
                bolt,
                lease_seconds=str(LEASE_SECONDS),
                submit_seconds="4",
                envelope_seconds=random.choice(("1", "3", "8", "60")),
                max_fee=random.choice(("100", "700", "10000")),
                concurrency=random.choice(("1", "3", "10")),
            )
            if random.random() < 0.4:
                environment |= clock_off_by(random.choice((-1, 1)) * random.randrange(3_600, 40 * 86_400))
            environments.append(environment)
        async with fleet(environments, seed, twins=random.random() < 0.2) as ships:
            it = World(
                random,
                postgres,
                database,
                network,
                town,
                ships,
                (acme, bolt),
                Asset("EURC", issuer.public_key),
                issuer,
                began=asyncio.get_running_loop().time(),
            )
            await it.populate()
            it.tell(f"ledgers every {close_seconds} s")
            yield it
