"""The pay job: claim a batch, check memos, build, sign, commit, send.

A batch without an envelope can be given back at any time; from `record_envelope` on it belongs to the ledger.
"""

import asyncio
import logging
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from notifier import crash_points
from notifier.alerts import Alerts
from notifier.backoff import Backoff
from notifier.batch import Batch
from notifier.cancelling import cancel_all
from notifier.database import Database, DatabaseRefused, DatabaseUnreachable, NextDue
from notifier.dispatch import Dispatcher
from notifier.envelope import EnvelopeBuilder, UnbuildableBatch
from notifier.ledger_clock import LedgerClock
from notifier.memo_check import MemoCheck, MemoUnknown
from notifier.metrics import Metrics
from notifier.opening import Opener
from notifier.signers import KeyMissing
from notifier.tracking import TrackedBatch, Tracker
from notifier.wakeups import Doorbell

log = logging.getLogger(__name__)

FRESH_LEDGER_SECONDS = 10.0
"""How old the ledger clock's last answer may be when an envelope is built."""


class Payer:
    """Claims batches while a concurrency slot is free and carries each to its first submission."""

    def __init__(
        self,
        database: Database,
        builder: EnvelopeBuilder,
        clock: LedgerClock,
        memos: MemoCheck,
        dispatcher: Dispatcher,
        opener: Opener,
        tracker: Tracker,
        metrics: Metrics,
        alerts: Alerts,
        bell: Doorbell,
        concurrency: int,
        base_fee: int,
        poll: float,
    ) -> None:
        self._database = database
        self._builder = builder
        self._clock = clock
        self._memos = memos
        self._dispatcher = dispatcher
        self._opener = opener
        self._tracker = tracker
        self._metrics = metrics
        self._alerts = alerts
        self._bell = bell
        self._slots = asyncio.Semaphore(concurrency)
        self._base_fee = base_fee
        self._poll = poll
        self._pause = Backoff(first=1.0, cap=30.0)
        self._paused_until = 0.0
        self._clock_skew = timedelta(0)
        self._unsigned: dict[asyncio.Task[None], TrackedBatch] = {}

    def note_due(self, due: NextDue) -> None:
        """Learn how far this pod's clock is from the database's; used for measuring only."""
        if due.seconds_until > 0:
            self._clock_skew = due.due_at - timedelta(seconds=due.seconds_until) - datetime.now(UTC)

    async def run(self) -> None:
        """Claim and pay, for ever."""
        backoff = Backoff(first=0.2, cap=10.0)
        while True:
            await self._slots.acquire()
            claimed = False
            try:
                claimed = await self._claim_one()
                self._alerts.clear("claims", "database")
                backoff.reset()
                pause = self._poll
            except (DatabaseUnreachable, DatabaseRefused) as error:
                self._metrics.database_errors.inc()
                pause = backoff.next()
                self._alerts.raise_alert("claims", "database", str(error))
                log.warning(
                    "can't claim payments now", extra={"error": str(error), "retry_in": round(pause, 2)}
                )
            finally:
                if not claimed:
                    self._slots.release()
            if not claimed:
                await self._bell.wait(pause)

    async def _claim_one(self) -> bool:
        """Claim one batch and start its task; False if there is nothing to claim or this is no time to
        claim."""
        wait = self._paused_until - asyncio.get_running_loop().time()
        if wait > 0:
            await asyncio.sleep(wait)
        if await self._clock.recent(FRESH_LEDGER_SECONDS) is None:
            self._pause_claims("the network doesn't answer")
            return False
        batch = await self._database.claim_payments()
        if batch is None:
            return False
        self._metrics.batches_claimed.inc()
        crash_points.reach("after_claim")
        tracked = TrackedBatch(batch, self._base_fee)
        self._tracker.add(tracked)
        task = self._dispatcher.start(tracked, self._pay(tracked))
        self._unsigned[task] = tracked
        task.add_done_callback(self._end_task)
        return True

    def _end_task(self, task: asyncio.Task[None]) -> None:
        self._unsigned.pop(task, None)
        self._slots.release()
        self._bell.ring()

    def _pause_claims(self, reason: str, at_least: float = 0.0) -> None:
        pause = self._pause.next(at_least)
        self._paused_until = asyncio.get_running_loop().time() + pause
        log.warning("no further claims for now", extra={"reason": reason, "retry_in": round(pause, 2)})

    async def _pay(self, tracked: TrackedBatch) -> None:
        """From claimed to sent. Whatever stops it before the envelope is committed gives the batch back."""
        batch = tracked.batch
        try:
            if not await self._check_memos(tracked):
                return None
            self._alerts.clear("memo_check", "node")
            ledger = await self._clock.recent(FRESH_LEDGER_SECONDS)
            if ledger is None:
                self._pause_claims("the network's time is unknown")
                return await self._give_back(tracked, "the network's time is unknown")
            began = time.perf_counter()
            envelope = await self._builder.build(
                tracked.batch, tracked.fee_per_operation, ledger.sequence, ledger.closed_at
            )
            self._metrics.sign.observe(time.perf_counter() - began)
            self._alerts.clear("key_missing", batch.funding_address)
            crash_points.reach("after_sign")
        except MemoUnknown as error:
            self._alerts.raise_alert("memo_check", "node", str(error))
            self._pause_claims("memo check unanswered", error.retry_after)
            return await self._give_back(tracked, f"memo check: {error}")
        except KeyMissing as error:
            self._alerts.raise_alert("key_missing", batch.funding_address, str(error))
            self._pause_claims("key missing")
            return await self._give_back(tracked, str(error))
        except UnbuildableBatch as error:
            log.critical("can't be built", extra={"batch": batch.batch_id, "error": str(error)})
            return await self._dispatcher.hold(tracked, str(error))
        await self._dispatcher.commit(tracked, envelope)
        self._unsigned.pop(asyncio.current_task(), None)  # type: ignore[arg-type]  # a task runs this
        self._metrics.batches_signed.inc()
        crash_points.reach("after_record")
        self._pause.reset()
        self._observe_due(batch)
        await self._dispatcher.send_first(tracked)
        return None

    def _observe_due(self, batch: Batch) -> None:
        due = self._opener.due_moment(batch.run_id)
        if due is not None:
            elapsed = datetime.now(UTC) + self._clock_skew - due
            self._metrics.due_to_submitted.observe(max(0.0, elapsed.total_seconds()))

    async def _check_memos(self, tracked: TrackedBatch) -> bool:
        """Refuse the payments whose destinations demand a memo; whether any payment is left. Raises
        MemoUnknown."""
        with self._metrics.memo_check.time():
            refused = await self._memos.refused(tracked.batch.lines)
        if not refused:
            return True
        left = await self._dispatcher.until_answered(
            "refuse_payments",
            lambda: self._database.refuse_payments(tracked.batch, refused, "memo_required"),
            tracked,
        )
        self._metrics.payments_refused.labels("memo_required").inc(len(refused))
        log.info(
            "payments refused",
            extra={"batch": tracked.batch.batch_id, "code": "memo_required", "payments": refused},
        )
        if left == 0:
            self._tracker.drop(tracked)
            return False
        gone = set(refused)
        tracked.batch = replace(
            tracked.batch, lines=tuple(line for line in tracked.batch.lines if line.payment_id not in gone)
        )
        return True

    async def _give_back(self, tracked: TrackedBatch, reason: str) -> None:
        """Release a batch that has no envelope. If it has one after all, the rescue brings it back."""
        released = await self._dispatcher.until_answered(
            "release_batch", lambda: self._database.release_batch(tracked.batch), tracked
        )
        self._tracker.drop(tracked)
        if released:
            self._metrics.batches_released.inc()
        log.info(
            "given back", extra={"batch": tracked.batch.batch_id, "reason": reason, "released": released}
        )

    async def give_unsigned_back(self) -> None:
        """For shutdown: stop the tasks whose batches have no envelope yet, and release those batches."""
        unsigned = dict(self._unsigned)
        await cancel_all(unsigned)
        await asyncio.gather(
            *(self._give_back(tracked, "shutting down") for tracked in unsigned.values()),
            return_exceptions=True,
        )
