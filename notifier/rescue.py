"""The rescue job: take over the open batches of pods that are gone, and own ones whose claim's answer was
lost."""

import asyncio
import logging

from notifier.backoff import Backoff
from notifier.batch import AbandonedBatch
from notifier.database import Database, DatabaseRefused, DatabaseUnreachable, PodNotRegistered
from notifier.metrics import Metrics
from notifier.tracking import TrackedBatch, Tracker

log = logging.getLogger(__name__)


class Rescuer:
    """Asks every few seconds; what it gets goes to the dispatcher's next look, with its stored envelopes."""

    def __init__(
        self, database: Database, tracker: Tracker, metrics: Metrics, every_seconds: float, base_fee: int
    ) -> None:
        self._database = database
        self._tracker = tracker
        self._metrics = metrics
        self._every = every_seconds
        self._base_fee = base_fee

    async def run(self) -> None:
        """Rescue, for ever; at once when started."""
        backoff = Backoff(first=0.5, cap=10.0)
        while True:
            try:
                while abandoned := await self._database.claim_abandoned_batches(self._tracker.ids):
                    for one in abandoned:
                        self._take_over(one)
                backoff.reset()
                await asyncio.sleep(self._every)
            except PodNotRegistered:
                await asyncio.sleep(self._every)  # the heartbeat registers it again
            except (DatabaseUnreachable, DatabaseRefused) as error:
                self._metrics.database_errors.inc()
                log.warning("can't look for abandoned batches now", extra={"error": str(error)})
                await asyncio.sleep(backoff.next())

    def _take_over(self, abandoned: AbandonedBatch) -> None:
        batch = abandoned.batch
        newest = abandoned.envelopes[-1]
        operations = len(batch.lines) + (1 if newest.outer_hash is not None else 0)
        self._tracker.add(
            TrackedBatch(
                batch,
                fee_per_operation=max(newest.fee_bid // operations, self._base_fee),
                envelopes=list(abandoned.envelopes),
                held=abandoned.held_reason is not None,
                rescued=True,
            )
        )
        if abandoned.held_reason is None:
            self._metrics.rescues.inc()
        log.info(
            "taken over",
            extra={
                "batch": batch.batch_id,
                "run": batch.run_id,
                "slot": batch.slot,
                "envelopes": len(abandoned.envelopes),
                "held": abandoned.held_reason,
            },
        )
