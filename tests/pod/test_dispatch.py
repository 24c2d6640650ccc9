"""The dispatcher alone, with a network and a database that answer from a script."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifier.alerts import Alerts
from notifier.batch import Envelope
from notifier.database import ClaimLost, ContradictingSettlement, DatabaseRefused, DatabaseUnreachable
from notifier.dispatch import Dispatcher
from notifier.envelope import EnvelopeBuilder
from notifier.ledger_clock import LedgerClock
from notifier.metrics import Metrics
from notifier.network.protocol import (
    AccountReading,
    ChannelUse,
    ChannelUses,
    InLedger,
    LedgerClose,
    LookupAnswer,
    NetworkIdentity,
    NotFound,
    Rejected,
    SubmitAnswer,
    Unknown,
)
from notifier.signers import LocalKeyring
from notifier.tracking import TrackedBatch, Tracker
from tests.pod.test_envelope import CLOSED, FUNDING, PASSPHRASE, SEED, batch, line

SLOT = 77


class Network:
    """Answers from attributes that a test sets; remembers what was sent."""

    def __init__(self) -> None:
        self.ledger = LedgerClose(9, CLOSED)
        self.sent: list[tuple[str, tuple[bytes, ...]]] = []
        self.answer: Callable[[tuple[bytes, ...]], SubmitAnswer] = lambda _hashes: Unknown("HTTP 504")
        self.found: dict[bytes, LookupAnswer] = {}
        self.channel: AccountReading | Unknown = AccountReading(SLOT - 1, 9)
        self.uses: ChannelUses | Unknown = ChannelUses((), complete=True)

    async def identity(self) -> NetworkIdentity:
        return NetworkIdentity(PASSPHRASE, self.ledger)

    async def submit(self, envelope_xdr: str, hashes: tuple[bytes, ...]) -> SubmitAnswer:
        self.sent.append((envelope_xdr, hashes))
        return self.answer(hashes)

    async def transaction(self, tx_hash: bytes) -> LookupAnswer:
        return self.found.get(tx_hash, NotFound())

    async def account(self, _address: str) -> AccountReading | Unknown:
        return self.channel

    async def channel_uses(self, _address: str, _sequence: int) -> ChannelUses | Unknown:
        return self.uses


class Records:
    """The database's side: what was called with what; failures to raise, by function, first come first."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.failures: dict[str, list[Exception]] = {}
        self.state = "succeeded"

    def _note(self, function: str, *arguments: Any) -> None:
        self.calls.append((function, arguments))
        if self.failures.get(function):
            raise self.failures[function].pop(0)

    async def record_envelope(self, _batch: object, envelope: Envelope) -> None:
        self._note("record_envelope", envelope)

    async def settle_batch(self, batch_id: int, found: InLedger, sequence: int | None) -> str:
        self._note("settle_batch", batch_id, found, sequence)
        return self.state

    async def hold_batch(self, _batch: object, reason: str) -> None:
        self._note("hold_batch", reason)

    async def quarantine_batch(self, batch_id: int, reason: str, _evidence: object) -> None:
        self._note("quarantine_batch", batch_id, reason)

    def names(self) -> list[str]:
        return [function for function, _ in self.calls]


class Scene:
    """A dispatcher with its surroundings, and one batch with one committed envelope."""

    def __init__(self) -> None:
        self.network, self.records, self.tracker = Network(), Records(), Tracker()
        self.metrics = Metrics()
        self.alerts = Alerts(self.metrics.alerts)
        self.builder = EnvelopeBuilder(PASSPHRASE, LocalKeyring(SEED, [FUNDING.secret]), 60, 100)
        network: Any = self.network
        database: Any = self.records
        self.clock = LedgerClock(network, PASSPHRASE, 5.0, self.alerts)
        self.freed = 0
        self.dispatcher = Dispatcher(
            database,
            network,
            self.builder,
            self.clock,
            self.tracker,
            self.metrics,
            self.alerts,
            100,
            10_000,
            self._free,
        )
        self.tracked = TrackedBatch(batch(line(1), line(2), slot=SLOT), 100)
        self.tracker.add(self.tracked)

    def _free(self) -> None:
        self.freed += 1

    async def commit(self) -> Envelope:
        ledger = self.network.ledger
        envelope = await self.builder.build(self.tracked.batch, 100, ledger.sequence, ledger.closed_at)
        await self.dispatcher.commit(self.tracked, envelope)
        return envelope

    async def send(self) -> None:
        await self.dispatcher.start(self.tracked, self.dispatcher.send_first(self.tracked))

    async def look(self) -> None:
        await self.clock.ask()
        await self.dispatcher.start(self.tracked, self.dispatcher._look(self.tracked))

    def closes(self, ledger: int, after: float) -> None:
        """The network goes on to a ledger that closed so many seconds later."""
        self.network.ledger = LedgerClose(ledger, CLOSED + timedelta(seconds=after))
        self.clock.last_answer = None


def applied(hashes: tuple[bytes, ...]) -> InLedger:
    return InLedger(hashes[0], 10, datetime.now(UTC), True, "tx_success", None, 300)


@pytest.fixture
async def scene() -> Scene:
    return Scene()


async def test_a_submission_that_applied_is_settled_and_let_go(scene: Scene) -> None:
    await scene.commit()
    scene.network.answer = applied
    await scene.send()
    assert scene.records.names() == ["record_envelope", "settle_batch"]
    assert (len(scene.tracker), scene.freed) == (0, 1)


async def test_committing_is_repeated_until_it_is_answered_and_nothing_is_sent_before(scene: Scene) -> None:
    scene.records.failures["record_envelope"] = [DatabaseUnreachable("gone"), DatabaseUnreachable("gone")]
    envelope = await scene.commit()
    assert scene.network.sent == []
    assert [arguments[0] for _, arguments in scene.records.calls] == [envelope] * 3


async def test_a_lost_claim_sends_nothing(scene: Scene) -> None:
    scene.records.failures["record_envelope"] = [ClaimLost("PL004", "taken")]

    async def work() -> None:
        await scene.commit()
        await scene.dispatcher.send_first(scene.tracked)

    await scene.dispatcher.start(scene.tracked, work())
    assert scene.network.sent == []
    assert (len(scene.tracker), scene.freed) == (0, 1)


async def test_settling_is_repeated_until_it_is_answered(scene: Scene) -> None:
    await scene.commit()
    scene.network.answer = applied
    scene.records.failures["settle_batch"] = [DatabaseUnreachable("gone")] * 2
    await scene.send()
    assert scene.records.names() == ["record_envelope"] + ["settle_batch"] * 3
    assert len(scene.tracker) == 0


async def test_a_contradiction_stops_the_batch_and_alerts(scene: Scene) -> None:
    await scene.commit()
    scene.network.answer = applied
    scene.records.failures["settle_batch"] = [ContradictingSettlement("PL005", "no")]
    await scene.send()
    assert scene.tracker.ids == [1]
    assert scene.tracked.stopped
    assert "contradiction" in scene.alerts.active()


async def test_an_unknown_answer_is_looked_up_before_the_same_envelope_goes_out_again(scene: Scene) -> None:
    envelope = await scene.commit()
    await scene.send()
    assert len(scene.network.sent) == 1
    await scene.look()
    assert [xdr for xdr, _ in scene.network.sent] == [envelope.envelope_xdr] * 2
    scene.network.found[envelope.inner_hash] = replace(applied(envelope.hashes), tx_hash=envelope.inner_hash)
    await scene.look()
    assert len(scene.network.sent) == 2
    assert scene.records.names() == ["record_envelope", "settle_batch"]


async def test_an_expired_envelope_is_replaced_for_the_same_slot_and_committed_before_it_is_sent(
    scene: Scene,
) -> None:
    first = await scene.commit()
    await scene.send()
    scene.closes(30, after=61)
    scene.network.channel = AccountReading(SLOT - 1, 30)
    await scene.look()
    second = scene.tracked.newest
    assert second.inner_hash != first.inner_hash
    assert second.valid_until == CLOSED + timedelta(seconds=121)
    assert second.fee_bid == 10 * first.fee_bid
    assert scene.records.calls[-1] == ("record_envelope", (second,))
    assert scene.network.sent[-1] == (second.envelope_xdr, second.hashes)


async def test_a_rejection_as_too_late_makes_one_new_envelope_a_ledger(scene: Scene) -> None:
    await scene.commit()
    scene.network.answer = lambda _hashes: Rejected("tx_too_late")
    await scene.send()
    assert len(scene.tracked.envelopes) == 1  # the ledger that it was built after is still the latest
    scene.closes(10, after=5)
    scene.network.channel = AccountReading(SLOT - 1, 10)
    await scene.look()
    assert len(scene.tracked.envelopes) == 2
    await scene.look()
    assert len(scene.tracked.envelopes) == 2


async def test_the_bid_rises_in_steps_to_the_cap_and_no_further(scene: Scene) -> None:
    first = await scene.commit()
    scene.network.answer = lambda _hashes: Rejected("tx_insufficient_fee")
    await scene.send()
    assert [envelope.fee_bid // 3 for envelope in scene.tracked.envelopes] == [100, 1000, 10_000]
    assert {envelope.inner_hash for envelope in scene.tracked.envelopes} == {first.inner_hash}
    assert "fee_cap_reached" in scene.alerts.active()


async def test_a_transaction_that_used_nothing_is_spent_and_replaced(scene: Scene) -> None:
    """In a ledger as invalid, slot unused: the settlement says 'signed', and a new envelope takes the same
    slot."""
    first = await scene.commit()
    invalid = replace(applied(first.hashes), successful=False, result_code="tx_bad_seq")
    scene.network.answer = lambda _hashes: invalid
    scene.network.channel = AccountReading(SLOT - 1, 10)
    scene.records.state = "signed"
    await scene.send()
    assert scene.records.calls[-1] == ("settle_batch", (1, invalid, SLOT - 1))
    assert scene.tracked.spent == set(first.hashes)
    scene.network.found = {h: replace(invalid, tx_hash=h) for h in first.hashes}
    scene.closes(11, after=6)
    scene.network.channel = AccountReading(SLOT - 1, 11)
    scene.network.answer = applied
    scene.records.state = "succeeded"
    await scene.look()
    assert scene.tracked.newest.inner_hash != first.inner_hash
    assert scene.records.names()[-2:] == ["record_envelope", "settle_batch"]
    assert len(scene.tracker) == 0


async def test_the_channel_s_sequence_must_be_as_of_that_ledger_or_later(scene: Scene) -> None:
    first = await scene.commit()
    invalid = replace(applied(first.hashes), successful=False, result_code="tx_bad_seq")
    scene.network.answer = lambda _hashes: invalid
    scene.network.channel = AccountReading(SLOT - 1, 9)  # the transaction is in ledger 10
    await scene.send()
    assert "settle_batch" not in scene.records.names()
    assert scene.tracker.ids == [1]


async def test_a_defect_is_held_and_let_go(scene: Scene) -> None:
    await scene.commit()
    scene.network.answer = lambda _hashes: Rejected("tx_malformed")
    await scene.send()
    assert scene.records.calls[-1] == ("hold_batch", ("submission was rejected with tx_malformed",))
    assert len(scene.tracker) == 0


async def test_a_held_batch_is_looked_at_once_and_never_sent(scene: Scene) -> None:
    await scene.commit()
    scene.tracked.held = True
    await scene.look()
    assert (scene.network.sent, len(scene.tracker)) == ([], 0)


async def test_an_account_that_must_be_mended_alerts_until_it_is(scene: Scene) -> None:
    envelope = await scene.commit()
    scene.network.answer = lambda _hashes: Rejected("tx_insufficient_balance")
    await scene.send()
    assert "source_account" in scene.alerts.active()
    scene.closes(30, after=61)
    scene.network.channel = AccountReading(SLOT - 1, 30)
    scene.network.answer = applied
    await scene.look()
    assert scene.alerts.active() == {}
    assert scene.records.calls[-2][1][0].fee_bid == envelope.fee_bid  # a higher bid would only cost more


async def test_an_unexpected_error_forgets_no_batch_that_has_an_envelope(scene: Scene) -> None:
    await scene.commit()

    def broken(_hashes: tuple[bytes, ...]) -> SubmitAnswer:
        raise RuntimeError("a defect")

    scene.network.answer = broken
    await scene.send()
    assert scene.tracker.ids == [1]
    assert not scene.tracked.busy
    assert scene.tracked.not_before > asyncio.get_running_loop().time()
    assert "internal_error" in scene.alerts.active()


async def test_a_batch_without_an_envelope_is_left_to_the_rescue_when_something_breaks(scene: Scene) -> None:
    async def refused() -> None:
        raise DatabaseRefused("PL008", "batch 1 is released")

    await scene.dispatcher.start(scene.tracked, refused())
    assert len(scene.tracker) == 0


async def test_open_batches_are_looked_at_when_a_ledger_closes(scene: Scene) -> None:
    envelope = await scene.commit()
    await scene.clock.ask()
    scene.network.found[envelope.inner_hash] = replace(applied(envelope.hashes), tx_hash=envelope.inner_hash)
    job = asyncio.create_task(scene.dispatcher.run())
    try:
        scene.closes(10, after=5)
        await asyncio.sleep(0)
        await scene.clock.ask()
        async with asyncio.timeout(30):
            await scene.tracker.wait_until_idle()
    finally:
        job.cancel()
    assert scene.records.names()[-1] == "settle_batch"


def invalid(hashes: tuple[bytes, ...]) -> InLedger:
    """In a ledger, but invalid there: the code doesn't say whether the slot is used."""
    return InLedger(hashes[0], 10, datetime.now(UTC), False, "tx_bad_seq", None, 300)


async def test_a_strangers_fee_bump_of_our_inner_transaction_that_used_the_slot_has_paid(
    scene: Scene,
) -> None:
    envelope = await scene.commit()
    scene.network.answer = invalid
    scene.network.channel = AccountReading(SLOT, 11)
    paid = replace(applied(envelope.hashes), tx_hash=envelope.inner_hash)
    stranger = ChannelUse(b"s" * 32, envelope.inner_hash, SLOT, paid)
    scene.network.uses = ChannelUses((stranger,), complete=True)
    await scene.send()
    (_, arguments) = scene.records.calls[-1]
    assert arguments == (1, paid, SLOT)


async def test_an_invalid_transaction_whose_slot_is_used_settles_nothing_before_the_history_was_read(
    scene: Scene,
) -> None:
    await scene.commit()
    scene.network.answer = invalid
    scene.network.channel = AccountReading(SLOT, 11)
    scene.network.uses = Unknown("HTTP 504")
    await scene.send()
    assert scene.records.names() == ["record_envelope"]
    assert len(scene.tracker) == 1


async def test_a_batch_that_is_dropped_takes_its_alerts_along(scene: Scene) -> None:
    async def work() -> None:
        raise DatabaseRefused("PL001", "no")

    await scene.dispatcher.start(scene.tracked, work())
    assert len(scene.tracker) == 0
    assert scene.alerts.active() == {}
