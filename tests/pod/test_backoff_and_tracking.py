"""Small parts: waits between attempts, and the list of batches that a pod looks after."""

import asyncio
from datetime import UTC, datetime

from notifier.backoff import Backoff
from notifier.batch import Envelope
from notifier.tracking import TrackedBatch, Tracker
from tests.pod.test_envelope import batch


def test_waits_double_up_to_the_cap_and_start_over_after_a_success() -> None:
    backoff = Backoff(first=1.0, cap=8.0)
    for step in (1, 2, 4, 8, 8, 8):
        assert step / 2 <= backoff.next() <= step
    assert backoff.attempts == 6
    backoff.reset()
    assert 0.5 <= backoff.next() <= 1.0


def test_the_other_side_s_wish_is_a_lower_bound() -> None:
    assert 10.5 <= Backoff(first=1.0, cap=8.0).next(at_least=10) <= 11.0


def test_many_attempts_overflow_nothing() -> None:
    backoff = Backoff(first=1.0, cap=8.0)
    for _ in range(2000):
        assert backoff.next() <= 8.0


def test_hashes_are_listed_newest_first_without_repeats() -> None:
    def envelope(inner: bytes, outer: bytes | None) -> Envelope:
        return Envelope(inner * 32, outer and outer * 32, "", 1, datetime.now(UTC), 1)

    tracked = TrackedBatch(batch(), 100, [envelope(b"a", b"b"), envelope(b"a", b"c"), envelope(b"d", None)])
    assert tracked.hashes == (b"d" * 32, b"c" * 32, b"a" * 32, b"b" * 32)


def test_dropping_an_old_record_does_not_drop_its_successor() -> None:
    tracker = Tracker()
    old, new = TrackedBatch(batch(), 100), TrackedBatch(batch(), 100)
    tracker.add(old)
    tracker.add(new)
    tracker.drop(old)
    assert tracker.ids == [1]
    tracker.drop(new)
    assert len(tracker) == 0


async def test_idle_means_that_nothing_is_left_to_do() -> None:
    tracker = Tracker()
    await tracker.wait_until_idle()
    stopped = TrackedBatch(batch(), 100)
    tracker.add(stopped)
    waiting = asyncio.create_task(tracker.wait_until_idle())
    await asyncio.sleep(0)
    assert not waiting.done()
    tracker.stop(stopped)
    await waiting
    assert tracker.ids == [1]
