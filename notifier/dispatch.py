"""From a committed envelope to a settled batch: send, ask, and do what `settlement` decides.

A batch that isn't settled by its submission's answer is looked at once per ledger close. Nothing here forgets
a batch before it is settled, held, quarantined, or somebody else's.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from notifier import crash_points
from notifier.alerts import Alerts
from notifier.backoff import Backoff
from notifier.batch import Envelope
from notifier.cancelling import cancel_all
from notifier.database import (
    ClaimLost,
    ContradictingSettlement,
    Database,
    DatabaseRefused,
    DatabaseUnreachable,
)
from notifier.envelope import EnvelopeBuilder, UnbuildableBatch
from notifier.ledger_clock import LedgerClock
from notifier.metrics import Metrics
from notifier.network.protocol import (
    AccountReading,
    ChannelUses,
    InLedger,
    LedgerClose,
    LookupAnswer,
    Network,
    NotAsked,
    Rejected,
    Unknown,
)
from notifier.result_codes import CodeClass, class_of
from notifier.settlement import (
    Hold,
    Known,
    Later,
    LookUp,
    Quarantine,
    RaiseBid,
    SearchChannel,
    SendAgain,
    Settle,
    SignAgain,
    consumer_of,
    judge_open_batch,
    judge_rejection,
    judge_submission,
)
from notifier.signers import KeyMissing
from notifier.tracking import TrackedBatch, Tracker

log = logging.getLogger(__name__)

T = TypeVar("T")

Decision = Settle | LookUp | Later | SendAgain | SignAgain | RaiseBid | SearchChannel | Quarantine | Hold

LOOK_SECONDS = 5.0
"""How often open batches are looked at when no ledger closes."""
PARALLEL_LOOKS = 20
BID_STEP = 10


class Dispatcher:
    """Drives signed batches to their settlement. `on_free` is called whenever a batch leaves this pod's
    hands."""

    def __init__(
        self,
        database: Database,
        network: Network,
        builder: EnvelopeBuilder,
        clock: LedgerClock,
        tracker: Tracker,
        metrics: Metrics,
        alerts: Alerts,
        base_fee: int,
        max_fee: int,
        on_free: Callable[[], None],
    ) -> None:
        self._database = database
        self._network = network
        self._builder = builder
        self._clock = clock
        self._tracker = tracker
        self._metrics = metrics
        self._alerts = alerts
        self._base_fee = base_fee
        self._max_fee = max_fee
        self._on_free = on_free
        self._looks = asyncio.Semaphore(PARALLEL_LOOKS)
        self._tasks: set[asyncio.Task[None]] = set()

    # --- committing and sending --------------------------------------------------------------------------

    async def commit(self, tracked: TrackedBatch, envelope: Envelope) -> None:
        """Record an envelope, asking until answered: not one byte goes to the network before. Raises
        ClaimLost."""
        await self.until_answered(
            "record_envelope", lambda: self._database.record_envelope(tracked.batch, envelope), tracked
        )
        tracked.envelopes.append(envelope)

    async def send_first(self, tracked: TrackedBatch) -> None:
        """Send a newly committed envelope and see what becomes of it. Returns when settled or to be looked
        at later."""
        self._metrics.batches_submitted.inc()
        await self._follow(tracked, await self._send(tracked))

    async def _send(self, tracked: TrackedBatch) -> Decision:
        envelope = tracked.newest
        answer = await self._network.submit(envelope.envelope_xdr, envelope.hashes)
        crash_points.reach("after_answer")
        tracked.rejected = isinstance(answer, Rejected)
        self._metrics.answers.labels(_kind(answer)).inc()
        if not isinstance(answer, InLedger):
            reason = getattr(answer, "reason", getattr(answer, "code", ""))
            log.info("not settled by its answer", extra=_about(tracked, answer=_kind(answer), reason=reason))
        return judge_submission(answer)

    # --- doing what was decided --------------------------------------------------------------------------

    async def _follow(self, tracked: TrackedBatch, decision: Decision) -> None:
        """Do what was decided, and what that leads to, until there is nothing to do now."""
        while True:
            match decision:
                case Settle():
                    return await self._settle(tracked, decision)
                case LookUp(rejection):
                    decision = await self._judge_rejection(tracked, rejection)
                case SendAgain():
                    self._metrics.resends.inc()
                    decision = await self._send(tracked)
                case SignAgain(reason, raise_bid):
                    decision = await self._sign_again(tracked, reason, raise_bid)
                case RaiseBid():
                    decision = await self._raise_bid(tracked)
                case Later():
                    return self._postpone(tracked, decision)
                case Hold(reason):
                    return await self.hold(tracked, reason)
                case Quarantine():
                    return await self._quarantine(tracked, decision)
                case SearchChannel():
                    return self._postpone(tracked, Later("slot used"))

    async def _judge_rejection(self, tracked: TrackedBatch, rejection: Rejected) -> Decision:
        ledger = await self._clock.recent(max_age=2.0)
        if ledger is None:
            return Later("the network's time is unknown")
        return judge_rejection(rejection, await self._look_up(tracked), self._known(tracked, ledger))

    async def _look_up(self, tracked: TrackedBatch) -> list[LookupAnswer]:
        """Ask for every hash of the batch, newest first, until one is found."""
        answers: list[LookupAnswer] = []
        for tx_hash in tracked.hashes:
            answers.append(await self._network.transaction(tx_hash))
            if isinstance(answers[-1], InLedger) and tx_hash not in tracked.spent:
                break
        return answers

    def _known(self, tracked: TrackedBatch, ledger: LedgerClose) -> Known:
        newest = tracked.newest
        return Known(
            slot=tracked.batch.slot,
            hashes=frozenset(tracked.hashes),
            spent=frozenset(tracked.spent),
            newest_spent=newest.hashes[0] in tracked.spent,
            valid_until=newest.valid_until,
            ledger=ledger,
            can_raise=tracked.fee_per_operation < self._max_fee,
            starved=not tracked.rejected,
            held=tracked.held,
            passed_at=tracked.passed_at,
        )

    def _higher_bid(self, tracked: TrackedBatch) -> int:
        return min(max(tracked.fee_per_operation, self._base_fee) * BID_STEP, self._max_fee)

    async def _sign_again(self, tracked: TrackedBatch, reason: str, raise_bid: bool) -> Decision:
        """A new envelope for the same slot and payments: once per ledger, so that a wrong clock can't make
        a hot loop."""
        ledger = await self._clock.recent(max_age=2.0)
        if ledger is None or ledger.sequence <= tracked.newest.as_of_ledger:
            return Later(f"{reason}; waiting for the next ledger")
        fee = self._higher_bid(tracked) if raise_bid else tracked.fee_per_operation

        async def build() -> Envelope:
            return await self._builder.build(
                tracked.batch, fee, ledger.sequence, ledger.closed_at, later_than=tracked.newest.valid_until
            )

        return await self._commit_and_send(tracked, build, fee, reason)

    async def _raise_bid(self, tracked: TrackedBatch) -> Decision:
        fee = self._higher_bid(tracked)

        async def build() -> Envelope:
            return await self._builder.raise_bid(tracked.batch, tracked.newest, fee)

        return await self._commit_and_send(tracked, build, fee, "higher bid")

    async def _commit_and_send(
        self, tracked: TrackedBatch, build: Callable[[], Awaitable[Envelope]], fee: int, why: str
    ) -> Decision:
        try:
            envelope = await build()
        except KeyMissing as error:
            return Later(str(error), alert="key_missing", slowly=True)
        except UnbuildableBatch as error:
            return Hold(str(error))
        await self.commit(tracked, envelope)
        tracked.fee_per_operation = fee
        self._metrics.resigns.labels(why.split(",")[0]).inc()
        log.info("signed again for the same slot", extra=_about(tracked, why=why, fee_per_operation=fee))
        return await self._send(tracked)

    def _postpone(self, tracked: TrackedBatch, later: Later) -> None:
        now = asyncio.get_running_loop().time()
        waits = tracked.slow if later.slowly else tracked.quick
        pause = waits.next(at_least=later.retry_after)
        tracked.not_before = now + pause
        if later.alert is not None:
            self._alerts.raise_alert(later.alert, tracked.batch.batch_id, later.reason)
        log.debug("to be looked at later", extra=_about(tracked, reason=later.reason, pause=round(pause, 2)))

    # --- ends --------------------------------------------------------------------------------------------

    async def _settle(self, tracked: TrackedBatch, decision: Settle) -> None:
        found = decision.found
        sequence: int | None = None
        if decision.read_channel:
            reading = await self._network.account(tracked.batch.channel_address)
            if not isinstance(reading, AccountReading) or reading.as_of_ledger < found.ledger:
                return self._postpone(tracked, Later("the channel's sequence is not known as of that ledger"))
            sequence = reading.sequence
            if sequence >= tracked.batch.slot:
                # It is used, and not by this one. A stranger may have wrapped our inner transaction in
                # another fee bump: then that one has paid.
                uses = await self._network.channel_uses(tracked.batch.channel_address, tracked.batch.slot)
                if not isinstance(uses, ChannelUses):
                    return self._postpone(tracked, Later(uses.reason, retry_after=uses.retry_after))
                found = consumer_of(uses, frozenset(tracked.hashes)) or found
        state = await self.until_answered(
            "settle_batch",
            lambda: self._database.settle_batch(tracked.batch.batch_id, found, sequence),
            tracked,
        )
        crash_points.reach("after_settle")
        if state not in ("succeeded", "failed"):
            self._mark_spent(tracked, found.tx_hash)
            log.warning(
                "in a ledger as invalid; it did not use the slot",
                extra=_about(tracked, code=found.result_code),
            )
            return None
        self._count(tracked, found, state)
        self._let_go(tracked)
        return None

    def _mark_spent(self, tracked: TrackedBatch, tx_hash: bytes) -> None:
        """An outer hash in a ledger spends its inner one; an inner hash may fly again in another fee bump."""
        tracked.spent.add(tx_hash)
        for envelope in tracked.envelopes:
            if envelope.hashes[0] == tx_hash:
                tracked.spent.update(envelope.hashes)

    def _count(self, tracked: TrackedBatch, found: InLedger, state: str) -> None:
        lines = len(tracked.batch.lines)
        failed = 0
        if not found.successful:
            codes = found.operation_codes or ()
            failed = sum(1 for code in codes if class_of(code) is CodeClass.PAYEE)
            for code in {code for code in (*codes, found.result_code) if code != "tx_failed"}:
                if class_of(code) is CodeClass.DEFECT:
                    self._alerts.raise_alert("unlisted_result", code, f"batch {tracked.batch.batch_id}")
        self._metrics.batches_settled.labels(state).inc()
        self._metrics.payments.labels("paid").inc(lines if found.successful else 0)
        self._metrics.payments.labels("failed").inc(failed)
        self._metrics.ledger_to_settled.observe(
            max(0.0, (datetime.now(UTC) - found.closed_at).total_seconds())
        )
        log.info(
            "settled",
            extra=_about(
                tracked,
                state=state,
                ledger=found.ledger,
                hash=found.tx_hash.hex(),
                code=found.result_code,
                payments=lines,
                failed=failed,
            ),
        )

    async def hold(self, tracked: TrackedBatch, reason: str) -> None:
        """Stop sending a batch until a person resumes it."""
        await self.until_answered(
            "hold_batch", lambda: self._database.hold_batch(tracked.batch, reason), tracked
        )
        self._metrics.batches_held.inc()
        log.error("held for a person", extra=_about(tracked, reason=reason))
        self._let_go(tracked)

    async def _quarantine(self, tracked: TrackedBatch, decision: Quarantine) -> None:
        await self.until_answered(
            "quarantine_batch",
            lambda: self._database.quarantine_batch(
                tracked.batch.batch_id, decision.reason, decision.evidence
            ),
            tracked,
        )
        self._metrics.batches_quarantined.inc()
        log.error("quarantined", extra=_about(tracked, reason=decision.reason, evidence=decision.evidence))
        self._let_go(tracked)

    def _let_go(self, tracked: TrackedBatch) -> None:
        self._tracker.drop(tracked)
        self._alerts.clear_subject(tracked.batch.batch_id)
        self._on_free()

    def lost(self, tracked: TrackedBatch) -> None:
        """Somebody else has the batch now."""
        self._metrics.claims_lost.inc()
        log.warning("another pod has taken this batch over", extra=_about(tracked))
        self._let_go(tracked)

    # --- looking at open batches -------------------------------------------------------------------------

    async def run(self) -> None:
        """Look at every open batch once per ledger close, for ever."""
        while True:
            latest = self._clock.latest
            await self._clock.next_close(after=latest.sequence if latest else 0, seconds=LOOK_SECONDS)
            now = asyncio.get_running_loop().time()
            for tracked in self._tracker:
                if (
                    tracked.envelopes
                    and not tracked.busy
                    and not tracked.stopped
                    and tracked.not_before <= now
                ):
                    self.start(tracked, self._look(tracked))

    def start(self, tracked: TrackedBatch, work: Awaitable[None]) -> asyncio.Task[None]:
        """Run `work` on a batch as a task of its own; whatever it raises, the batch is not forgotten."""
        tracked.busy = True
        task = asyncio.create_task(self._guard(tracked, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _guard(self, tracked: TrackedBatch, work: Awaitable[None]) -> None:
        try:
            await work
        except ClaimLost:
            self.lost(tracked)
        except ContradictingSettlement as error:
            self._tracker.stop(tracked)
            self._alerts.raise_alert("contradiction", tracked.batch.batch_id, str(error))
        except DatabaseRefused as error:
            self._keep_or_drop(tracked, Later(str(error), alert="database_refused", slowly=True))
        except Exception as error:  # a defect of ours: keep the batch, tell a person, try again later
            log.exception("unexpected", extra=_about(tracked))
            self._keep_or_drop(tracked, Later(repr(error), alert="internal_error", slowly=True))
        finally:
            tracked.busy = False

    def _keep_or_drop(self, tracked: TrackedBatch, later: Later) -> None:
        """A batch without an envelope is dropped: the rescue gives its payments back once the lease is
        over."""
        self._postpone(tracked, later)
        if not tracked.envelopes:
            self._tracker.drop(tracked)
            self._alerts.clear_subject(tracked.batch.batch_id)

    async def _look(self, tracked: TrackedBatch) -> None:
        async with self._looks:
            decision = await self._judge(tracked)
        if tracked.held and isinstance(decision, Later):
            return self._let_go(tracked)  # comes back through the rescue, perhaps resumed by then
        return await self._follow(tracked, decision)

    async def _judge(self, tracked: TrackedBatch) -> Decision:
        """Ask about one batch: the ledger's time, then the channel, then the hashes, then the channel's
        history."""
        ledger = await self._clock.recent(max_age=2.0)
        if ledger is None:
            return Later("the network's time is unknown")
        channel = await self._network.account(tracked.batch.channel_address)
        if isinstance(channel, NotAsked | Unknown):
            return Later(channel.reason, retry_after=channel.retry_after)
        lookups = await self._look_up(tracked)
        if isinstance(channel, AccountReading) and channel.sequence >= tracked.batch.slot:
            if tracked.passed_at is None:
                tracked.passed_at = channel.as_of_ledger
        else:
            tracked.passed_at = None
        known = self._known(tracked, ledger)
        decision = judge_open_batch(channel, lookups, None, known)
        if isinstance(decision, SearchChannel):
            uses = await self._network.channel_uses(tracked.batch.channel_address, tracked.batch.slot)
            decision = judge_open_batch(channel, lookups, uses, known)
        return decision

    async def until_answered(self, what: str, call: Callable[[], Awaitable[T]], tracked: TrackedBatch) -> T:
        """Repeat an idempotent call until the database has answered it."""
        backoff = Backoff(first=0.1, cap=5.0)
        while True:
            try:
                return await call()
            except DatabaseUnreachable as error:
                self._metrics.database_errors.inc()
                pause = backoff.next()
                log.warning(
                    "no answer from the database; asking again",
                    extra=_about(tracked, call=what, error=str(error), retry_in=round(pause, 2)),
                )
                await asyncio.sleep(pause)

    async def stop(self) -> None:
        """Cancel what is running; the batches stay as the database knows them."""
        await cancel_all(self._tasks)


def _kind(answer: object) -> str:
    if isinstance(answer, InLedger):
        return "applied" if answer.successful else "failed"
    return {
        "Rejected": "rejected",
        "Queued": "queued",
        "TryAgainLater": "try_again_later",
        "NotAsked": "not_asked",
    }.get(type(answer).__name__, "unknown")


def _about(tracked: TrackedBatch, **more: object) -> dict[str, object]:
    batch = tracked.batch
    return {
        "batch": batch.batch_id,
        "run": batch.run_id,
        "organization": batch.organization,
        "channel": batch.channel_address,
        "slot": batch.slot,
        **more,
    }
