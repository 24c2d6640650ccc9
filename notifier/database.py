"""One typed method per SQL function that a pod may call, and nothing else.

Every call is one statement in its own transaction. Errors of class PL become exceptions named for the event;
everything that means "the answer may be lost, the server may be gone, try again" becomes
`DatabaseUnreachable`. Nothing is retried here: the caller knows which calls are idempotent (all but the two
claims are; a lost claim comes back through `claim_abandoned_batches`).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from notifier.batch import AbandonedBatch, Batch, Envelope, Line, Memo, MemoType
from notifier.network.protocol import InLedger

log = logging.getLogger(__name__)

KEEPALIVE: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Notices a dead peer in about 25 seconds."""

BOUNDED_WAITS = "-c lock_timeout=2s -c statement_timeout=25s"
"""A lock that somebody holds for long must not take up the pool: the call is repeated instead."""

_RETRYABLE_CLASSES = ("08", "53", "57", "58", "40")
_RETRYABLE_CODES = frozenset({"25006", "55P03", "25P03", "XX000"})


class DatabaseUnreachable(Exception):
    """No answer, or one that says "not now": the call may or may not have taken effect."""


class DatabaseRefused(Exception):
    """The database refused the call. `sqlstate` says which rule; the message says what to do."""

    def __init__(self, sqlstate: str, message: str) -> None:
        self.sqlstate = sqlstate
        super().__init__(f"{sqlstate}: {message}")


class ClaimLost(DatabaseRefused):
    """PL004: the claim token is no longer the batch's; somebody else has it."""


class ContradictingSettlement(DatabaseRefused):
    """PL005: the database has settled this batch otherwise. The batch stops until a person looks."""


class PodNotRegistered(DatabaseRefused):
    """PL011: this pod is unknown or was retired."""


class WrongNetwork(DatabaseRefused):
    """PL012: the database belongs to another Stellar network."""


_REFUSALS: dict[str, type[DatabaseRefused]] = {
    "PL004": ClaimLost,
    "PL005": ContradictingSettlement,
    "PL011": PodNotRegistered,
    "PL012": WrongNetwork,
}


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run that `claim_due_schedules` opened. `totals`: amount per asset ("XLM" or "CODE:ISSUER")."""

    run_id: int
    organization: str
    schedule_id: int
    nominal_date: date
    pay_at: datetime
    payments: int
    totals: dict[str, Decimal]


@dataclass(frozen=True, slots=True)
class NextDue:
    """The next moment at which something is due, and how far off it is by the database's clock, in
    seconds."""

    due_at: datetime
    seconds_until: float


def _translate(error: psycopg.Error) -> Exception:
    state = error.sqlstate
    if state is None or state.startswith(_RETRYABLE_CLASSES) or state in _RETRYABLE_CODES:
        return DatabaseUnreachable(f"{state or type(error).__name__}: {str(error).strip()[:200]}")
    message = error.diag.message_primary or str(error)
    return _REFUSALS.get(state, DatabaseRefused)(state, message)


def _line(value: dict[str, Any]) -> Line:
    return Line(
        payment_id=int(value["payment_id"]),
        destination=value["destination"],
        asset_code=value.get("asset_code"),
        asset_issuer=value.get("asset_issuer"),
        amount=Decimal(value["amount"]),
        own_memo=bool(value["own_memo"]),
    )


def _batch(row: DictRow) -> Batch:
    return Batch(
        batch_id=row["batch_id"],
        claim_token=row["claim_token"],
        organization=row["organization"],
        run_id=row["run_id"],
        channel_address=row["channel_address"],
        channel_key_index=row["channel_key_index"],
        slot=row["slot"],
        funding_address=row["funding_address"],
        memo=Memo(MemoType(row["memo_type"]), row["memo_value"]),
        lines=tuple(_line(line) for line in row["lines"]),
    )


def _envelope(value: dict[str, Any]) -> Envelope:
    outer = value.get("outer_hash")
    return Envelope(
        inner_hash=bytes.fromhex(value["inner_hash"]),
        outer_hash=bytes.fromhex(outer) if outer else None,
        envelope_xdr=value["envelope_xdr"],
        fee_bid=int(value["fee_bid"]),
        valid_until=datetime.fromisoformat(value["valid_until"]),
        as_of_ledger=int(value["as_of_ledger"]),
    )


class Database:
    """The pod functions of schema `payroll`, over a small pool of autocommit connections."""

    def __init__(
        self,
        url: str,
        pod: str,
        max_connections: int = 4,
        call_seconds: float = 30.0,
        observe: Callable[[str, float], None] = lambda _function, _seconds: None,
    ) -> None:
        """`observe` is told each answered call's function and how long it took, in seconds."""
        self._pod = pod
        self._call_seconds = call_seconds
        self._observe = observe
        self.last_answer: float | None = None
        self._pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=max_connections,
            open=False,
            timeout=10.0,
            reconnect_timeout=5.0,
            kwargs={
                "autocommit": True,
                "row_factory": dict_row,
                "application_name": pod[:63],
                "options": BOUNDED_WAITS,
                **KEEPALIVE,
            },
        )

    async def open(self) -> None:
        """Start the pool; connections come when the server is there."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close(timeout=2.0)

    async def _call(self, function: str, **arguments: object) -> list[DictRow]:
        """Call payroll.<function> with named arguments; the rows it returns."""
        began = time.perf_counter()
        named = ", ".join(f"{name} => %({name})s{_CASTS.get(name, '')}" for name in arguments)
        try:
            async with asyncio.timeout(self._call_seconds), self._pool.connection() as connection:
                statement = f"SELECT * FROM payroll.{function}({named})"  # noqa: S608 - names are ours
                cursor = await connection.execute(statement, arguments)
                rows = await cursor.fetchall()
        except psycopg.Error as error:
            raise _translate(error) from error
        except (PoolTimeout, PoolClosed, TimeoutError, OSError) as error:
            raise DatabaseUnreachable(f"{type(error).__name__}: {error}"[:200]) from error
        self.last_answer = asyncio.get_running_loop().time()
        self._observe(function, time.perf_counter() - began)
        return rows

    async def start_pod(self, network_passphrase: str, lease_seconds: int) -> None:
        """Register this pod. Raises WrongNetwork."""
        await self._call(
            "start_pod", pod=self._pod, network_passphrase=network_passphrase, lease_seconds=lease_seconds
        )

    async def heartbeat(self) -> None:
        """Say that this pod lives. Raises PodNotRegistered."""
        await self._call("heartbeat", pod=self._pod)

    async def retire_pod(self) -> None:
        """Say that this pod is gone: others may take its batches at once."""
        await self._call("retire_pod", pod=self._pod)

    async def claim_due_schedules(self) -> list[OpenedRun]:
        """Open due runs, a bounded number; call again while it returns some."""
        rows = await self._call("claim_due_schedules", pod=self._pod)
        return [
            OpenedRun(
                run_id=row["run_id"],
                organization=row["organization"],
                schedule_id=row["schedule_id"],
                nominal_date=row["nominal_date"],
                pay_at=row["pay_at"],
                payments=row["payments"],
                totals={asset: Decimal(total) for asset, total in (row["totals"] or {}).items()},
            )
            for row in rows
        ]

    async def claim_payments(self) -> Batch | None:
        """Claim one batch, or None if nothing can be claimed now."""
        rows = await self._call("claim_payments", pod=self._pod)
        return _batch(rows[0]) if rows else None

    async def refuse_payments(self, batch: Batch, payment_ids: Sequence[int], code: str) -> int:
        """Fail payments of a batch that has no envelope yet; how many are left (0: the batch is released)."""
        rows = await self._call(
            "refuse_payments",
            batch_id=batch.batch_id,
            claim_token=batch.claim_token,
            payment_ids=list(payment_ids),
            code=code,
        )
        return int(rows[0]["refuse_payments"])

    async def record_envelope(self, batch: Batch, envelope: Envelope) -> None:
        """Commit an envelope before it is sent. Idempotent. Raises ClaimLost."""
        await self._call(
            "record_envelope",
            batch_id=batch.batch_id,
            claim_token=batch.claim_token,
            slot=batch.slot,
            inner_hash=envelope.inner_hash,
            outer_hash=envelope.outer_hash,
            envelope_xdr=envelope.envelope_xdr,
            fee_bid=envelope.fee_bid,
            valid_until=envelope.valid_until,
            as_of_ledger=envelope.as_of_ledger,
        )

    async def settle_batch(self, batch_id: int, found: InLedger, channel_sequence: int | None) -> str:
        """Report what the ledger did with a slot; the batch's state now. Idempotent. Raises
        ContradictingSettlement."""
        rows = await self._call(
            "settle_batch",
            batch_id=batch_id,
            tx_hash=found.tx_hash,
            ledger=found.ledger,
            closed_at=found.closed_at,
            successful=found.successful,
            result_code=found.result_code,
            operation_codes=list(found.operation_codes) if found.operation_codes is not None else None,
            fee_charged=found.fee_charged,
            channel_sequence=channel_sequence,
        )
        return str(rows[0]["settle_batch"])

    async def quarantine_batch(self, batch_id: int, reason: str, evidence: dict[str, object]) -> None:
        """Report that something foreign used the slot: stops the batch and its channel."""
        await self._call("quarantine_batch", batch_id=batch_id, reason=reason, evidence=Jsonb(evidence))

    async def hold_batch(self, batch: Batch, reason: str) -> None:
        """Stop sending this batch until a person resumes it; it keeps its slot."""
        await self._call("hold_batch", batch_id=batch.batch_id, claim_token=batch.claim_token, reason=reason)

    async def release_batch(self, batch: Batch) -> bool:
        """Give back a batch without an envelope; False if it has one or is no longer ours."""
        rows = await self._call("release_batch", batch_id=batch.batch_id, claim_token=batch.claim_token)
        return bool(rows[0]["release_batch"])

    async def claim_abandoned_batches(self, tracked: Sequence[int]) -> list[AbandonedBatch]:
        """Take over signed batches of pods that are gone, and own ones that aren't in `tracked`. Bounded
        per call."""
        rows = await self._call("claim_abandoned_batches", pod=self._pod, tracked=list(tracked))
        return [
            AbandonedBatch(
                batch=_batch(row),
                envelopes=tuple(_envelope(value) for value in row["envelopes"] or ()),
                held_reason=row["held_reason"],
            )
            for row in rows
        ]

    async def next_due_at(self) -> NextDue | None:
        """The next due moment by the database's clock, or None if nothing is planned."""
        rows = await self._call("next_due_at")
        if not rows or rows[0]["due_at"] is None:
            return None
        return NextDue(rows[0]["due_at"], float(rows[0]["seconds_until"]))

    async def work_summary(self) -> dict[str, int]:
        """Gauges for monitoring, by name."""
        return {row["name"]: int(row["value"]) for row in await self._call("work_summary")}


_CASTS = {
    "batch_id": "::bigint",
    "claim_token": "::uuid",
    "slot": "::bigint",
    "fee_bid": "::bigint",
    "as_of_ledger": "::bigint",
    "ledger": "::bigint",
    "fee_charged": "::bigint",
    "channel_sequence": "::bigint",
    "lease_seconds": "::integer",
    "pod": "::text",
    "tracked": "::bigint[]",
    "payment_ids": "::bigint[]",
    "operation_codes": "::text[]",
    "reason": "::text",
    "code": "::text",
    "result_code": "::text",
    "network_passphrase": "::text",
    "envelope_xdr": "::text",
    "inner_hash": "::bytea",
    "outer_hash": "::bytea",
    "tx_hash": "::bytea",
}
"""psycopg sends small integers as int2 and text as unknown: the casts name the functions' own types."""
