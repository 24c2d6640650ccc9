"""The open job: due schedules become pay runs."""

import logging
from collections import OrderedDict
from datetime import datetime

from notifier import crash_points
from notifier.backoff import Backoff
from notifier.database import Database, DatabaseRefused, DatabaseUnreachable
from notifier.metrics import Metrics
from notifier.wakeups import Doorbell

log = logging.getLogger(__name__)

REMEMBERED_RUNS = 1000


class Opener:
    """Calls claim_due_schedules until it returns no row, whenever its bell rings.

    Remembers when the runs that it opened were due, so that the time from due to submitted can be measured.
    """

    def __init__(
        self, database: Database, bell: Doorbell, pay_bell: Doorbell, metrics: Metrics, poll: float
    ) -> None:
        self._database = database
        self._bell = bell
        self._pay_bell = pay_bell
        self._metrics = metrics
        self._poll = poll
        self._due: OrderedDict[int, datetime] = OrderedDict()

    def due_moment(self, run_id: int) -> datetime | None:
        """When a run was due, if this pod opened it lately."""
        return self._due.get(run_id)

    async def run(self) -> None:
        """Open what is due, for ever."""
        backoff = Backoff(first=0.2, cap=10.0)
        while True:
            try:
                while await self._open_some():
                    self._pay_bell.ring()
                backoff.reset()
                await self._bell.wait(self._poll)
            except (DatabaseUnreachable, DatabaseRefused) as error:
                self._metrics.database_errors.inc()
                pause = backoff.next()
                log.warning("can't open runs now", extra={"error": str(error), "retry_in": round(pause, 2)})
                await self._bell.wait(pause)

    async def _open_some(self) -> bool:
        runs = await self._database.claim_due_schedules()
        if runs:
            crash_points.reach("after_open")
        for run in runs:
            self._metrics.runs_opened.inc()
            self._due[run.run_id] = run.pay_at
            while len(self._due) > REMEMBERED_RUNS:
                self._due.popitem(last=False)
            log.info(
                "run opened",
                extra={
                    "run": run.run_id,
                    "organization": run.organization,
                    "schedule": run.schedule_id,
                    "nominal_date": run.nominal_date.isoformat(),
                    "payments": run.payments,
                    "totals": {asset: str(total) for asset, total in run.totals.items()},
                },
            )
        return bool(runs)
