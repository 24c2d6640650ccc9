"""A company that can pay: a funding account, sponsored channel accounts and payees on the network, and their
rows in the database.

The network's part goes through Horizon like anybody's (create, sponsor, trust); the database's part is
written by the superuser, row by row, so that tests of the payout don't depend on the operator's functions.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
from stellar_sdk import Account, Asset, Keypair, TransactionBuilder, TransactionEnvelope
from stellar_sdk.sep.mnemonic import StellarMnemonic

from tests.database_server import Database

CHANNELS_PER_TRANSACTION = 19
"""A transaction carries at most 20 signatures: the sponsor's and one per channel."""


def key(*name: object) -> Keypair:
    """A key pair that is the same every time."""
    return Keypair.from_raw_ed25519_seed(hashlib.sha256(repr(name).encode()).digest())


@dataclass(frozen=True, slots=True)
class Company:
    """An organization with its keys. `channels`: key index and address."""

    name: str
    funding: Keypair
    channel_seed: bytes = field(repr=False)
    channels: tuple[tuple[int, str], ...]

    @property
    def channel_seed_hex(self) -> str:
        return self.channel_seed.hex()

    def channel_key(self, index: int) -> Keypair:
        """SEP-5, m/44'/148'/index'."""
        return Keypair.from_raw_ed25519_seed(StellarMnemonic.derive(self.channel_seed, index))


@dataclass(frozen=True, slots=True)
class Pay:
    """One line of a schedule: who gets how much of what."""

    reference: str
    destination: str
    amount: str = "10"
    asset: Asset = field(default_factory=Asset.native)
    memo_type: str = "none"
    memo_value: str | None = None


def company(name: str, channels: int, seed: bytes | None = None, first_index: int = 0) -> Company:
    """A company's keys; nothing exists yet."""
    seed = seed or hashlib.sha512(b"channels of tests").digest()
    indexes = range(first_index, first_index + channels)
    return Company(
        name,
        key("funding", name),
        seed,
        tuple(
            (i, Keypair.from_raw_ed25519_seed(StellarMnemonic.derive(seed, i)).public_key) for i in indexes
        ),
    )


class Town:
    """Changes the sandbox's ledger through its HTTP interface. Transactions are waited for, so ledgers
    must close."""

    def __init__(self, session: aiohttp.ClientSession, url: str, passphrase: str) -> None:
        self._session = session
        self._url = url
        self._passphrase = passphrase

    async def fund(self, accounts: dict[str, str]) -> None:
        """Open accounts with balances in XLM."""
        addresses = list(accounts)
        for start in range(0, len(addresses), 1000):
            part = {address: accounts[address] for address in addresses[start : start + 1000]}
            async with self._session.post(f"{self._url}/sandbox/fund", json=part) as answer:
                assert answer.status == 200, await answer.text()

    async def sequence(self, address: str) -> int:
        """The account's sequence number as the network has it now."""
        async with self._session.get(f"{self._url}/accounts/{address}") as answer:
            assert answer.status == 200, await answer.text()
            return int((await answer.json())["sequence"])

    async def builder(self, source: str) -> TransactionBuilder:
        """A transaction to fill in, from the account's current sequence."""
        account = Account(source, await self.sequence(source))
        return TransactionBuilder(account, self._passphrase, base_fee=1000).set_timeout(3600)

    async def send(self, builder: TransactionBuilder, *signers: Keypair) -> TransactionEnvelope:
        """Sign, send and wait until it is in a ledger, successful."""
        envelope = builder.build()
        for signer in signers:
            envelope.sign(signer)
        async with self._session.post(f"{self._url}/transactions", data={"tx": envelope.to_xdr()}) as answer:
            assert answer.status == 200, await answer.text()
        return envelope

    async def open_company(self, it: Company, balance: str = "1000000") -> None:
        """Its funding account, and channel accounts that hold nothing: the funding account sponsors their
        reserves."""
        await self.fund({it.funding.public_key: balance})
        for start in range(0, len(it.channels), CHANNELS_PER_TRANSACTION):
            part = it.channels[start : start + CHANNELS_PER_TRANSACTION]
            builder = await self.builder(it.funding.public_key)
            for _, address in part:
                builder.append_begin_sponsoring_future_reserves_op(address)
                builder.append_create_account_op(address, "0")
                builder.append_end_sponsoring_future_reserves_op(source=address)
            await self.send(builder, it.funding, *(it.channel_key(index) for index, _ in part))

    async def trust(self, asset: Asset, *holders: Keypair) -> None:
        """Trustlines for existing accounts, nineteen a transaction."""
        for start in range(0, len(holders), CHANNELS_PER_TRANSACTION):
            part = holders[start : start + CHANNELS_PER_TRANSACTION]
            builder = await self.builder(part[0].public_key)
            for holder in part:
                builder.append_change_trust_op(asset, source=holder.public_key)
            await self.send(builder, *part)

    async def issue(self, asset: Asset, issuer: Keypair, to: str, amount: str) -> None:
        """Pay newly issued units."""
        await self.send((await self.builder(issuer.public_key)).append_payment_op(to, asset, amount), issuer)

    async def demand_memo(self, account: Keypair) -> None:
        """SEP-29."""
        builder = (await self.builder(account.public_key)).append_manage_data_op("config.memo_required", "1")
        await self.send(builder, account)

    async def post(self, path: str, given: Any = None) -> Any:
        """A control call; its JSON answer."""
        async with self._session.post(self._url + path, json=given or {}) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def get(self, path: str) -> Any:
        """A control question; its JSON answer."""
        async with self._session.get(self._url + path) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def register(self, database: Database, it: Company) -> None:
        """The company's rows, with its channels' sequences as the network has them now."""
        sequences = await asyncio.gather(*(self.sequence(address) for _, address in it.channels))
        with database.connect() as connection:
            connection.execute(
                "INSERT INTO payroll.installation (network_passphrase, set_at) VALUES (%s, now())"
                " ON CONFLICT DO NOTHING",
                [self._passphrase],
            )
            row = connection.execute(
                "INSERT INTO payroll.organization (name, display_name, created_at)"
                " VALUES (%s, %s, now()) RETURNING organization_id",
                [it.name, it.name],
            ).fetchone()
            assert row is not None
            connection.execute(
                "INSERT INTO payroll.funding_account (organization_id, address, created_at)"
                " VALUES (%s, %s, now())",
                [row[0], it.funding.public_key],
            )
            for (index, address), sequence in zip(it.channels, sequences, strict=True):
                connection.execute(
                    "INSERT INTO payroll.channel_account"
                    " (organization_id, address, key_index, sequence, created_at)"
                    " VALUES (%s, %s, %s, %s, now())",
                    [row[0], address, index, sequence],
                )


def add_schedule(
    database: Database,
    it: Company,
    pays: Sequence[Pay],
    *,
    name: str = "salaries",
    due: datetime | timedelta = timedelta(0),
    memo_policy: str = "reference_hash",
    memo_text: str | None = None,
) -> int:
    """A schedule that falls due once, at `due` or that long from now; its id. Sends the NOTIFY that the
    product sends."""
    moment = due if isinstance(due, datetime) else datetime.now(UTC) + due
    with database.connect(autocommit=False) as connection:
        row = connection.execute(
            "INSERT INTO payroll.pay_schedule (organization_id, name, funding_account_id, rule,"
            " recurrence_frequency, recurrence_every, recurrence_skip, anchor, pay_time, time_zone,"
            " memo_policy, memo_text, next_nominal_date, next_pay_at, next_open_at, created_at, changed_at)"
            " SELECT f.organization_id, %(name)s, f.funding_account_id, 'once', 'once', 1, 'omit',"
            " %(day)s, '00:00', 'UTC', %(policy)s::payroll.memo_policy, %(text)s, %(day)s, %(moment)s,"
            " %(moment)s, now(), now() FROM payroll.funding_account AS f WHERE f.address = %(funding)s"
            " RETURNING schedule_id, organization_id",
            {
                "name": name,
                "day": moment.date(),
                "policy": memo_policy,
                "text": memo_text,
                "moment": moment,
                "funding": it.funding.public_key,
            },
        ).fetchone()
        assert row is not None
        schedule_id, organization_id = row
        with connection.cursor() as cursor:
            cursor.executemany(
                "WITH payee AS (INSERT INTO payroll.payee (organization_id, reference, name, destination,"
                " memo_type, memo_value, created_at, changed_at)"
                " VALUES (%(org)s, %(reference)s::text, %(reference)s::text, %(destination)s,"
                " %(memo_type)s::payroll.memo_kind, %(memo_value)s, now(), now()) RETURNING payee_id)"
                " INSERT INTO payroll.schedule_line"
                " (organization_id, schedule_id, payee_id, asset_code, asset_issuer, amount)"
                " SELECT %(org)s, %(schedule)s, payee_id, %(code)s, %(issuer)s, %(amount)s::numeric"
                " FROM payee",
                [
                    {
                        "org": organization_id,
                        "schedule": schedule_id,
                        "reference": f"{name}-{pay.reference}",
                        "destination": pay.destination,
                        "memo_type": pay.memo_type,
                        "memo_value": pay.memo_value,
                        "code": None if pay.asset.is_native() else pay.asset.code,
                        "issuer": pay.asset.issuer,
                        "amount": pay.amount,
                    }
                    for pay in pays
                ],
            )
        connection.execute("SELECT pg_notify('payroll_work', '')")
        connection.commit()
    return int(schedule_id)
