"""Pods as real processes."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.database_server import Database
from tests.support.company import Company


def pod_environment(
    database: Database, horizon: str, passphrase: str, *companies: Company, **more: str
) -> dict[str, str]:
    """The PAYLOCK_ variables of a pod for these companies. `more`: names without the prefix, in any case."""
    return {
        "PAYLOCK_DATABASE_URL": database.url_for("payroll_pod"),
        "PAYLOCK_HORIZON_URL": horizon,
        "PAYLOCK_NETWORK_PASSPHRASE": passphrase,
        "PAYLOCK_CHANNEL_SEED": companies[0].channel_seed_hex,
        "PAYLOCK_FUNDING_SECRETS": ",".join(it.funding.secret for it in companies),
        "PAYLOCK_HTTP_PORT": "0",
        "PAYLOCK_LEASE_SECONDS": "5",
        "PAYLOCK_POLL_SECONDS": "1",
        "PAYLOCK_GRACE_SECONDS": "20",
        **{f"PAYLOCK_{name.upper()}": value for name, value in more.items()},
    }


class PodProcess:
    """A running `python -m notifier`. `log`: its JSON lines so far."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.log: list[dict[str, Any]] = []
        self._grown = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            async with self._grown:
                try:
                    self.log.append(json.loads(line))
                except ValueError:
                    self.log.append({"message": line.decode(errors="replace").rstrip()})
                self._grown.notify_all()
        async with self._grown:
            self._grown.notify_all()

    async def logged(self, message: str, times: int = 1, seconds: float = 60) -> list[dict[str, Any]]:
        """Wait until a message was logged so many times; those entries."""
        async with asyncio.timeout(seconds), self._grown:
            while len(found := [entry for entry in self.log if entry["message"] == message]) < times:
                if self._reader.done():
                    raise AssertionError(f"the pod ended without {message!r}: {self.log[-5:]}")
                await self._grown.wait()
            return found

    async def ended(self, seconds: float = 60) -> int:
        """Wait for its end; the exit status, negative for a signal."""
        async with asyncio.timeout(seconds):
            status = await self.process.wait()
            await self._reader
            return status

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        self.process.send_signal(number)

    async def port(self) -> int:
        """Where it serves health and metrics."""
        return int((await self.logged("serving health and metrics"))[0]["port"])


@asynccontextmanager
async def pod_process(
    environment: dict[str, str], program: Sequence[str] = ("-m", "notifier")
) -> AsyncIterator[PodProcess]:
    """Start a pod; it is killed at the end if it still runs. `program`: what Python is told to run."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PAYLOCK_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, *program, stderr=PIPE, env={**inherited, **environment}
    )
    pod = PodProcess(process)
    try:
        yield pod
    finally:
        if process.returncode is None:
            process.kill()
        await pod.ended()
