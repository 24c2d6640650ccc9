"""When to look for work: on NOTIFY, at the next due moment by the database's clock, and on a slow poll.

NOTIFY is a hint that may be missed (a dropped connection, a failover, a pooler). Nothing rests on it: the due
moment is asked from the database, and whoever waits looks again after `poll_seconds` at the latest.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable

import psycopg
from psycopg import AsyncConnection

from notifier.backoff import Backoff
from notifier.database import KEEPALIVE, Database, DatabaseRefused, DatabaseUnreachable, NextDue

log = logging.getLogger(__name__)

CHANNEL = "payroll_work"
OVERDUE_SECONDS = 1.0
"""How often to look again at something that is due but that others may be working on."""


class Doorbell:
    """Wakes one waiter. Rings between two waits are not lost, and many rings are one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """There may be work."""
        self._event.set()

    async def wait(self, seconds: float) -> bool:
        """Wait until it rings, at most `seconds`; whether it rang."""
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


def seconds_to_wait(due: NextDue | None, poll_seconds: float, *, rang_for_overdue: bool) -> float:
    """How long to wait before ringing. Something overdue rings at once, then not more often than once a
    second."""
    if due is None:
        return poll_seconds
    if due.seconds_until > 0:
        return min(poll_seconds, due.seconds_until)
    return min(poll_seconds, OVERDUE_SECONDS) if rang_for_overdue else 0.0


class Wakeups:
    """Rings the given doorbells whenever there may be work."""

    def __init__(
        self,
        database_url: str,
        pod: str,
        database: Database,
        poll_seconds: float,
        bells: tuple[Doorbell, ...],
        on_connect: Callable[[], None] = lambda: None,
        on_due: Callable[[NextDue], None] = lambda _due: None,
    ) -> None:
        self._url = database_url
        self._pod = pod
        self._database = database
        self._poll_seconds = poll_seconds
        self._bells = bells
        self._on_connect = on_connect
        self._on_due = on_due
        self._recalculate = Doorbell()

    def ring(self) -> None:
        """Wake everybody, and ask for the next due moment again."""
        self._recalculate.ring()
        for bell in self._bells:
            bell.ring()

    async def listen(self) -> None:
        """Hold a LISTEN connection for ever; reconnect with backoff when it breaks."""
        backoff = Backoff(first=0.2, cap=10.0)
        while True:
            try:
                connection = await AsyncConnection.connect(
                    self._url, autocommit=True, application_name=f"{self._pod[:55]} listen", **KEEPALIVE
                )
                try:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    backoff.reset()
                    self._on_connect()
                    self.ring()  # whatever was notified while nobody listened
                    await self._hear(connection)
                finally:
                    with contextlib.suppress(psycopg.Error, OSError):
                        await connection.close()
            except (psycopg.Error, OSError, TimeoutError) as error:
                pause = backoff.next()
                log.warning(
                    "not listening for wake-ups",
                    extra={"error": str(error).strip()[:200], "retry_in": round(pause, 2)},
                )
                await asyncio.sleep(pause)

    async def _hear(self, connection: AsyncConnection[tuple[object, ...]]) -> None:
        """Ring on each notification; a query now and then finds a connection that died silently."""
        while True:
            async for _ in connection.notifies(timeout=max(self._poll_seconds, 10.0)):
                self.ring()
            async with asyncio.timeout(10):
                await connection.execute("SELECT 1")

    async def watch_due_moments(self) -> None:
        """Ring at each due moment by the database's clock, and at least every `poll_seconds`."""
        backoff = Backoff(first=0.2, cap=10.0)
        rang_for_overdue = False
        while True:
            try:
                due = await self._database.next_due_at()
                backoff.reset()
            except (DatabaseUnreachable, DatabaseRefused) as error:
                log.warning("the next due moment is unknown", extra={"error": str(error)})
                await asyncio.sleep(backoff.next())
                continue
            if due is not None:
                self._on_due(due)
            pause = seconds_to_wait(due, self._poll_seconds, rang_for_overdue=rang_for_overdue)
            rang_for_overdue = due is not None and due.seconds_until <= 0
            if not await self._recalculate.wait(pause):
                for bell in self._bells:
                    bell.ring()
