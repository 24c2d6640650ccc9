"""Pods, a network and a ledger in miniature, around the real SQL functions: who can be paid twice?

Pods stall, forget, come back with old claim tokens and take over from each other; signed transactions reach
the ledger late, twice, in any order or never; answers are lost, so that reports come late and several times.
The ledger does what Stellar's does with sequence numbers and nothing else. The pods keep the contract's rules
(commit, then send; only the ledger settles), so that whatever goes wrong is the SQL's fault.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import psycopg

from tests.sql.payroll_rows import (
    Connection,
    Row,
    call,
    envelope,
    new_organization,
    open_run,
    report,
    rows,
    start_pods,
)

PODS = ("pod-1:00000000", "pod-2:00000000", "pod-3:00000000")
LEASE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Signed:
    """One signed transaction; `hash` is its outer hash."""

    batch_id: int
    channel: str
    slot: int
    payments: tuple[int, ...]
    arguments: Row

    @property
    def hash(self) -> bytes:
        return bytes(self.arguments["outer_hash"])


@dataclass(frozen=True, slots=True)
class Applied:
    """What is in the ledger about one transaction. `codes` is None unless its own code is tx_failed."""

    ledger: int
    code: str
    codes: tuple[str, ...] | None = None


@dataclass(slots=True)
class Ledger:
    """Sequence numbers and transactions, as core keeps them."""

    chance: Random
    sequences: dict[str, int]
    unpayable: set[int]
    trouble: float = 1.0
    number: int = 100
    applied: dict[bytes, Applied] = field(default_factory=dict)
    credited: list[int] = field(default_factory=list)

    def apply(self, signed: Signed) -> None:
        """The transaction reaches the ledger. A sequence number that is not the next one is rejected."""
        self.number += 1
        if signed.hash in self.applied or self.sequences[signed.channel] != signed.slot - 1:
            return
        if self.chance.random() < 0.15 * self.trouble:
            # Invalid at apply: in the ledger, the fee taken, the sequence number not used.
            self.applied[signed.hash] = Applied(
                self.number, self.chance.choice(["tx_bad_auth", "tx_too_late"])
            )
            return
        self.sequences[signed.channel] = signed.slot
        bad = self.unpayable & set(signed.payments)
        if bad:
            codes = tuple("op_no_trust" if payment in bad else "op_success" for payment in signed.payments)
            self.applied[signed.hash] = Applied(self.number, "tx_failed", codes)
        elif self.chance.random() < 0.1 * self.trouble:
            codes = ("op_underfunded",) * len(signed.payments)
            self.applied[signed.hash] = Applied(self.number, "tx_failed", codes)
        else:
            self.applied[signed.hash] = Applied(self.number, "tx_success")
            self.credited += signed.payments


@dataclass(slots=True)
class World:
    """One simulated payroll. `contradictions` counts reports that the database refused with PL005."""

    connection: Connection
    chance: Random
    ledger: Ledger
    run_ids: list[int]
    clock: datetime
    held: dict[str, dict[int, Row]] = field(default_factory=lambda: {pod: {} for pod in PODS})
    sent: list[Signed] = field(default_factory=list)
    attempts: int = 0
    contradictions: int = 0

    def ask(self, function: str, **arguments: Any) -> list[Row] | None:
        """The function's rows, or None where the database refused the call as the contract allows it to."""
        try:
            with self.connection.transaction():
                return call(self.connection, function, **arguments)
        except psycopg.Error as refusal:
            if refusal.sqlstate == "PL005":
                self.contradictions += 1
            elif refusal.sqlstate not in ("PL004", "PL008"):
                raise
            return None

    def advance(self, seconds: float) -> None:
        self.clock += timedelta(seconds=seconds)
        self.connection.execute(
            "SELECT set_config('paylock_test.clock', %s, true)", (self.clock.isoformat(),)
        )

    # What pods do

    def claim(self, pod: str) -> None:
        for batch in self.ask("claim_payments", pod=pod) or []:
            if self.chance.random() >= 0.1 * self.ledger.trouble:  # else the answer is lost
                self.held[pod][batch["batch_id"]] = batch

    def sign(self, pod: str, batch: Row) -> None:
        self.attempts += 1
        arguments = envelope(batch, self.attempts)
        if self.ask("record_envelope", **arguments) is None:
            self.held[pod].pop(batch["batch_id"], None)
            return
        payments = tuple(line["payment_id"] for line in batch["lines"])
        signed = Signed(batch["batch_id"], batch["channel_address"], batch["slot"], payments, arguments)
        if self.chance.random() >= 0.1 * self.ledger.trouble:  # else the pod stops between commit and send
            self.sent.append(signed)

    def release(self, pod: str, batch: Row) -> None:
        self.ask("release_batch", batch_id=batch["batch_id"], claim_token=batch["claim_token"])
        if self.chance.random() < 0.5 * self.ledger.trouble:  # else another task of the pod still has it
            self.held[pod].pop(batch["batch_id"], None)

    def take_over(self, pod: str) -> None:
        for batch in self.ask("claim_abandoned_batches", pod=pod, tracked=list(self.held[pod])) or []:
            self.held[pod][batch["batch_id"]] = batch

    def look_up(self, signed: Signed) -> None:
        """A pod asks the ledger for a hash and reports what it hears; a 404 is no answer."""
        found = self.ledger.applied.get(signed.hash)
        if found is None:
            return
        told = report(
            {"batch_id": signed.batch_id},
            tx_hash=signed.arguments[self.chance.choice(["outer_hash", "inner_hash"])],
            ledger=found.ledger,
            successful=found.code == "tx_success",
            result_code=found.code,
            operation_codes=list(found.codes) if found.codes else None,
            channel_sequence=self.ledger.sequences[signed.channel],
        )
        self.ask("settle_batch", **told)

    def step(self) -> None:
        """One thing happens somewhere."""
        pod = self.chance.choice(PODS)
        mine = list(self.held[pod].values())
        actions = ["claim", "deliver", "deliver", "look_up", "look_up", "time", "take_over", "forget"]
        actions += ["sign", "sign", "release"] if mine else []
        match self.chance.choice(actions):
            case "claim":
                self.claim(pod)
            case "sign":
                self.sign(pod, self.chance.choice(mine))
            case "release":
                self.release(pod, self.chance.choice(mine))
            case "take_over":
                self.take_over(pod)
            case "deliver" if self.sent:
                self.ledger.apply(self.chance.choice(self.sent))
            case "look_up" if self.sent:
                self.look_up(self.chance.choice(self.sent))
            case "forget" if self.chance.random() < 0.3:
                self.held[pod].clear()
            case "time":
                # Some pods are heard, the others stall beyond their lease.
                self.advance(self.chance.choice([1, LEASE_SECONDS + 1]))
                for living in self.chance.sample(PODS, 2):
                    self.ask("heartbeat", pod=living)

    def settle_down(self) -> None:
        """From here on everything arrives and one pod works on until nothing is left to do."""
        pod = PODS[0]
        for _ in range(60):
            self.advance(LEASE_SECONDS + 1)
            self.ask("heartbeat", pod=pod)
            self.take_over(pod)
            self.claim(pod)
            for batch in list(self.held[pod].values()):
                self.sign(pod, batch)
            for signed in self.sent:
                self.ledger.apply(signed)
            for signed in self.sent:
                self.look_up(signed)
            self.advance(600)
            if not self.unfinished():
                return
        raise AssertionError(f"never finished: {self.unfinished()}")

    def unfinished(self) -> list[Row]:
        return rows(
            self.connection,
            "SELECT payment_id, state::text FROM payroll.payment WHERE state NOT IN ('paid', 'failed')",
        )

    def paid_twice(self) -> set[int]:
        """By the ledger, not by our tables."""
        return {payment for payment in self.ledger.credited if self.ledger.credited.count(payment) > 1}


def new_world(connection: Connection, seed: int, *, trouble: float = 1.0) -> World:
    """Two organizations with runs that are due, three pods, and a clock of the world's own.

    With `trouble` 0 nothing is lost and every payee can be paid: what goes wrong is what the test does.
    """
    chance = Random(seed)
    clock = datetime.now(UTC)
    connection.execute(
        "CREATE OR REPLACE FUNCTION payroll.read_clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
        " $$ SELECT pg_catalog.current_setting('paylock_test.clock')::timestamptz $$"
    )
    connection.execute("SELECT set_config('paylock_test.clock', %s, true)", (clock.isoformat(),))
    run_ids, unpayable = [], set()
    for channels, payees in ((2, 130 if trouble else 250), (1, 5)):
        run_id, payments = open_run(
            connection, new_organization(connection, channels=channels), payees=payees
        )
        run_ids.append(run_id)
        unpayable |= set(chance.sample(payments, 2) if trouble else ())
    start_pods(connection, *PODS)
    accounts = rows(connection, "SELECT address::text, sequence FROM payroll.channel_account")
    ledger = Ledger(chance, {row["address"]: row["sequence"] for row in accounts}, unpayable, trouble)
    return World(connection, chance, ledger, run_ids, clock)
