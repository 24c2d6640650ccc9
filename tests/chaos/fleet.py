"""Pods that die, stall and come back, each behind a proxy of its own."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.chaos.byte_cutter import ByteCutter, byte_cutter
from tests.support.pods import PodProcess, pod_process

LIBFAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")

_TWIN = "from notifier import pod; pod.pod_name = lambda: 'twin:0'; raise SystemExit(pod.main([]))"

DEFECTS = ("unexpected", "a job has ended", "alert: contradiction", "alert: internal_error", "can't be built")
"""What no pod may ever log, whatever happens around it."""


def clock_off_by(seconds: int) -> dict[str, str]:
    """Environment of a process whose clock is wrong; empty where libfaketime is not installed."""
    if not LIBFAKETIME.exists():
        return {}
    return {
        "LD_PRELOAD": str(LIBFAKETIME),
        "FAKETIME": f"{seconds:+d}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


class Place:
    """Where one pod at a time runs. `environment`: what the next pod there is started with."""

    def __init__(self, environment: Mapping[str, str], cutter: ByteCutter, *, twins: bool) -> None:
        self.environment = dict(environment)
        self.cutter = cutter
        self.pod: PodProcess | None = None
        self.stalled = False
        self.logs: list[dict[str, Any]] = []
        self._program: Sequence[str] = ("-c", _TWIN) if twins else ("-m", "notifier")
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()

    @property
    def runs(self) -> bool:
        return self.pod is not None and self.pod.process.returncode is None

    async def start(self, **changed: str) -> None:
        """Start a pod here unless one runs. `changed`: PAYLOCK_ names without the prefix, or others whole."""
        async with self._lock:
            if self.runs:
                return
            await self._end(signal.SIGKILL)
            self.environment |= changed
            self.pod = await self._stack.enter_async_context(pod_process(self.environment, self._program))

    def stall(self) -> None:
        """Stop the process where it stands."""
        if self.runs and self.pod is not None:
            self.pod.signal(signal.SIGSTOP)
            self.stalled = True

    def go_on(self) -> None:
        """Let a stalled process go on."""
        if self.runs and self.pod is not None:
            self.pod.signal(signal.SIGCONT)
        self.stalled = False

    async def end(self, number: signal.Signals) -> None:
        """Send a signal that ends the pod, and wait for its end. Its log is kept."""
        async with self._lock:
            await self._end(number)

    async def _end(self, number: signal.Signals) -> None:
        self.go_on()
        if self.pod is not None:
            if self.runs:
                self.pod.signal(number)
            try:
                await self.pod.ended(30)
            except TimeoutError:
                self.pod.signal(signal.SIGKILL)
            await self._stack.aclose()
            self.logs += self.pod.log
            self.pod = None

    @property
    def log(self) -> list[dict[str, Any]]:
        """Everything that was logged here."""
        return self.logs + (self.pod.log if self.pod is not None else [])


class Fleet:
    """All places. `twins`: their pods have one name."""

    def __init__(self, places: list[Place], *, twins: bool) -> None:
        self.places = places
        self.twins = twins

    def defects(self) -> list[dict[str, Any]]:
        """Entries that no pod may log."""
        return [entry for place in self.places for entry in place.log if entry["message"] in DEFECTS]

    def write_logs(self, directory: Path) -> None:
        """One file a place, for whoever must find out what happened."""
        for number, place in enumerate(self.places):
            lines = (json.dumps(entry, ensure_ascii=False) + "\n" for entry in place.log)
            (directory / f"pods-{number}.jsonl").write_text("".join(lines))


@asynccontextmanager
async def fleet(
    environments: Sequence[Mapping[str, str]], seed: int, *, twins: bool = False
) -> AsyncIterator[Fleet]:
    """Places for pods, none of them started; all are killed at the end. `twins`: all have one name."""
    async with AsyncExitStack() as stack:
        places = []
        for number, environment in enumerate(environments):
            url = environment["PAYLOCK_DATABASE_URL"]
            cutter, through = await stack.enter_async_context(byte_cutter(url, seed + number))
            places.append(Place({**environment, "PAYLOCK_DATABASE_URL": through}, cutter, twins=twins))
        try:
            yield Fleet(places, twins=twins)
        finally:
            await asyncio.gather(*(place.end(signal.SIGKILL) for place in places))
