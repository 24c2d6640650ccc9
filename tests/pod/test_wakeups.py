"""A pod looks for work on NOTIFY, at the due moment by the database's clock, and on a slow poll."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from notifier.database import Database as PodDatabase
from notifier.database import DatabaseUnreachable, NextDue
from notifier.wakeups import Doorbell, Wakeups, seconds_to_wait
from tests.database_server import Database

POD = "host:test"


class Due:
    """Stands in for the database's next_due_at()."""

    def __init__(self, *answers: NextDue | Exception | None) -> None:
        self.answers = list(answers)
        self.asked = asyncio.Semaphore(0)

    async def next_due_at(self) -> NextDue | None:
        self.asked.release()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def due_in(seconds: float) -> NextDue:
    return NextDue(datetime.now(UTC), seconds)


@asynccontextmanager
async def running(*jobs: object) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(job) for job in jobs]  # type: ignore[call-overload]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(
    ("due", "rang", "expected"),
    [
        (None, False, 5.0),
        (due_in(0.25), False, 0.25),
        (due_in(0.25), True, 0.25),
        (due_in(60), False, 5.0),
        (due_in(0), False, 0.0),
        (due_in(0), True, 1.0),
    ],
)
def test_how_long_to_wait(due: NextDue | None, rang: bool, expected: float) -> None:
    assert seconds_to_wait(due, 5.0, rang_for_overdue=rang) == expected


async def test_a_ring_between_two_waits_is_not_lost_and_many_are_one() -> None:
    bell = Doorbell()
    bell.ring()
    bell.ring()
    assert await bell.wait(0)
    assert not await bell.wait(0)


async def test_the_due_moment_rings_without_any_notification() -> None:
    bell = Doorbell()
    wakeups = Wakeups("", POD, Due(due_in(0.05), None), 60.0, (bell,))  # type: ignore[arg-type]
    async with running(wakeups.watch_due_moments()):
        assert await bell.wait(30)


async def test_what_is_overdue_rings_at_once() -> None:
    bell = Doorbell()
    wakeups = Wakeups("", POD, Due(due_in(0)), 60.0, (bell,))  # type: ignore[arg-type]
    async with running(wakeups.watch_due_moments()):
        assert await bell.wait(30)


async def test_the_slow_poll_rings_when_nothing_is_planned() -> None:
    bell = Doorbell()
    wakeups = Wakeups("", POD, Due(None), 0.05, (bell,))  # type: ignore[arg-type]
    async with running(wakeups.watch_due_moments()):
        assert await bell.wait(30)
        assert await bell.wait(30)


async def test_a_ring_asks_for_the_due_moment_again() -> None:
    due = Due(due_in(3600))
    wakeups = Wakeups("", POD, due, 3600, ())  # type: ignore[arg-type]
    async with running(wakeups.watch_due_moments()):
        for _ in range(3):
            await asyncio.wait_for(due.asked.acquire(), 30)
            wakeups.ring()


async def test_an_unreachable_database_is_asked_again() -> None:
    bell = Doorbell()
    wakeups = Wakeups("", POD, Due(DatabaseUnreachable("gone"), due_in(0)), 60.0, (bell,))  # type: ignore[arg-type]
    async with running(wakeups.watch_due_moments()):
        assert await bell.wait(30)


async def test_a_notification_rings(database: Database) -> None:
    bell = Doorbell()
    connected = asyncio.Semaphore(0)
    pod = PodDatabase(database.url_for("payroll_pod"), POD)
    wakeups = Wakeups(
        database.url_for("payroll_pod"), POD, pod, 3600, (bell,), on_connect=lambda: connected.release()
    )
    async with running(wakeups.listen()):
        await asyncio.wait_for(connected.acquire(), 30)
        assert await bell.wait(30)  # whatever was notified before it listened
        async with await database.connect_async() as operator:
            await operator.execute("NOTIFY payroll_work")
        assert await bell.wait(30)


async def test_a_cut_connection_is_made_again_and_rings(database: Database) -> None:
    bell = Doorbell()
    connected = asyncio.Semaphore(0)
    pod = PodDatabase(database.url_for("payroll_pod"), POD)
    wakeups = Wakeups(
        database.url_for("payroll_pod"), POD, pod, 3600, (bell,), on_connect=lambda: connected.release()
    )
    async with running(wakeups.listen()), await database.connect_async() as operator:
        for _ in range(2):
            await asyncio.wait_for(connected.acquire(), 30)
            assert await bell.wait(30)
            await operator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
                [f"{POD} listen"],
            )
        await asyncio.wait_for(connected.acquire(), 30)
        assert await bell.wait(30)
        await operator.execute("NOTIFY payroll_work")
        assert await bell.wait(30)
