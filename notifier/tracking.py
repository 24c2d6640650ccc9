"""The batches that this pod is responsible for now.

This is not business state: it may be lost at any moment, and the database gives the batches to another pod.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from notifier.backoff import Backoff
from notifier.batch import Batch, Envelope


def _slow() -> Backoff:
    return Backoff(first=2.0, cap=60.0)


def _quick() -> Backoff:
    return Backoff(first=0.25, cap=5.0)


@dataclass(slots=True)
class TrackedBatch:
    """A batch on its way from claimed to settled.

    `envelopes`: all committed ones, oldest first. `fee_per_operation`: the newest bid in stroops. `spent`:
    hashes seen in a ledger as invalid with the slot unused. `busy`: a task works on it. `stopped`: nothing
    more is done until a person looks. `rejected`: the newest envelope's last answer was a rejection.
    `not_before`: event loop time before which it isn't looked at again.
    """

    batch: Batch
    fee_per_operation: int
    envelopes: list[Envelope] = field(default_factory=list)
    spent: set[bytes] = field(default_factory=set)
    held: bool = False
    stopped: bool = False
    busy: bool = False
    rescued: bool = False
    passed_at: int | None = None
    not_before: float = 0.0
    rejected: bool = False
    slow: Backoff = field(default_factory=_slow)
    quick: Backoff = field(default_factory=_quick)

    @property
    def newest(self) -> Envelope:
        """The envelope that would be sent now."""
        return self.envelopes[-1]

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """Every hash of every envelope, newest first, without repeats."""
        return tuple(dict.fromkeys(h for envelope in reversed(self.envelopes) for h in envelope.hashes))


class Tracker:
    """All tracked batches by id."""

    def __init__(self) -> None:
        self._batches: dict[int, TrackedBatch] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[TrackedBatch]:
        return iter(list(self._batches.values()))

    def __contains__(self, batch_id: int) -> bool:
        return batch_id in self._batches

    @property
    def ids(self) -> list[int]:
        return list(self._batches)

    def add(self, tracked: TrackedBatch) -> None:
        """Take responsibility. A batch taken over again replaces the old record: its claim token is newer."""
        self._batches[tracked.batch.batch_id] = tracked

    def drop(self, tracked: TrackedBatch) -> None:
        """No longer ours, or done. Does nothing if a newer record took its place."""
        if self._batches.get(tracked.batch.batch_id) is tracked:
            del self._batches[tracked.batch.batch_id]
            self._changed.set()

    def stop(self, tracked: TrackedBatch) -> None:
        """Do nothing more about this batch, but go on knowing of it."""
        tracked.stopped = True
        self._changed.set()

    async def wait_until_idle(self) -> None:
        """Wait until no batch is left that this pod can do something about."""
        while any(not tracked.stopped and not tracked.held for tracked in self):
            self._changed.clear()
            await self._changed.wait()
