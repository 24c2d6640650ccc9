"""One pod: composes the jobs and lives until it is told to stop.

Exit status: 0 after a drained shutdown, 1 after a second signal or an unexpected end, 2 when it refuses to
start (configuration, keys, wrong network).
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from notifier import crash_points, logs
from notifier.alerts import Alerts
from notifier.backoff import Backoff
from notifier.cancelling import cancel_all
from notifier.configuration import Configuration, ConfigurationError, read_configuration
from notifier.database import Database, DatabaseRefused, DatabaseUnreachable, WrongNetwork
from notifier.dispatch import Dispatcher
from notifier.envelope import EnvelopeBuilder
from notifier.health import HealthServer
from notifier.heartbeat import RetiredByOthers, beat
from notifier.ledger_clock import LedgerClock, WrongPassphrase
from notifier.memo_check import MemoCheck
from notifier.metrics import Metrics
from notifier.network.horizon import HorizonNetwork
from notifier.network.protocol import Network
from notifier.opening import Opener
from notifier.paying import Payer
from notifier.rescue import Rescuer
from notifier.signers import InvalidKey, Keyring, LocalKeyring
from notifier.tracking import Tracker
from notifier.wakeups import Doorbell, Wakeups

log = logging.getLogger(__name__)

UNSEEN_SECONDS = 30.0
"""Not ready when database or network haven't answered for this long."""


class RefusedToStart(Exception):
    """The pod must not run with this configuration; the message says why."""


def pod_name() -> str:
    """<host>:<uuid>: a restart is a new pod."""
    return f"{socket.gethostname()[:150]}:{uuid.uuid4()}"


class Pod:
    """The jobs of one pod over one database and one network."""

    def __init__(self, configuration: Configuration, name: str, keyring: Keyring, network: Network) -> None:
        self.name = name
        self._configuration = c = configuration
        self.metrics = Metrics()
        self.alerts = Alerts(self.metrics.alerts)
        self.database = Database(c.database_url, name, observe=self.metrics.observe_database_call)
        self.tracker = Tracker()
        self.metrics.in_flight.set_function(lambda: len(self.tracker))
        self._stopping = asyncio.Event()
        self._jobs: list[asyncio.Task[None]] = []
        self._claiming: list[asyncio.Task[None]] = []

        open_bell, self._pay_bell = Doorbell(), Doorbell()
        self.clock = LedgerClock(network, c.network_passphrase, c.poll_seconds, self.alerts)
        builder = EnvelopeBuilder(c.network_passphrase, keyring, c.envelope_seconds, c.base_fee)
        self.dispatcher = Dispatcher(
            self.database,
            network,
            builder,
            self.clock,
            self.tracker,
            self.metrics,
            self.alerts,
            c.base_fee,
            c.max_fee,
            on_free=self._pay_bell.ring,
        )
        self._opener = Opener(self.database, open_bell, self._pay_bell, self.metrics, c.poll_seconds)
        self._payer = Payer(
            self.database,
            builder,
            self.clock,
            MemoCheck(network),
            self.dispatcher,
            self._opener,
            self.tracker,
            self.metrics,
            self.alerts,
            self._pay_bell,
            c.concurrency,
            c.base_fee,
            c.poll_seconds,
        )
        self._rescuer = Rescuer(
            self.database, self.tracker, self.metrics, min(5.0, c.lease_seconds / 3), c.base_fee
        )
        self._wakeups = Wakeups(
            c.database_url,
            name,
            self.database,
            c.poll_seconds,
            (open_bell, self._pay_bell),
            on_connect=self.metrics.reconnects.inc,
            on_due=self._payer.note_due,
        )
        self.health = HealthServer(c.http_port, self.metrics.registry, self._unready)

    def _unready(self) -> list[str]:
        reasons = []
        now = asyncio.get_running_loop().time()
        if self.database.last_answer is None or now - self.database.last_answer > UNSEEN_SECONDS:
            reasons.append("the database has not answered lately")
        if self.clock.age() > UNSEEN_SECONDS:
            reasons.append("the network has not answered lately")
        if self._stopping.is_set():
            reasons.append("shutting down")
        return reasons

    def stop(self) -> None:
        """Ask it to drain and end."""
        self._stopping.set()

    async def run(self) -> None:
        """Run until stopped, then drain. Raises RefusedToStart."""
        await self.health.start()
        log.info("serving health and metrics", extra={"port": self.health.port})
        await self.database.open()
        try:
            if await self._or_stopped(self._start()):
                await self._work()
        finally:
            await self.database.close()
            await self.health.stop()

    async def _or_stopped(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run `work` unless it is stopped first; whether it ended by itself."""
        task = asyncio.create_task(work)
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
                return True
            return False
        finally:
            await cancel_all((task, stopped))

    async def _start(self) -> None:
        """Find the network, make sure that it is the right one, find the database, and register."""
        c = self._configuration
        backoff = Backoff(first=0.2, cap=5.0)
        try:
            while await self.clock.ask() is None:
                pause = backoff.next()
                log.warning("waiting for the network", extra={"retry_in": round(pause, 2)})
                await asyncio.sleep(pause)
            while True:
                try:
                    await self.database.start_pod(c.network_passphrase, c.lease_seconds)
                    break
                except DatabaseUnreachable as error:
                    pause = backoff.next()
                    log.warning(
                        "waiting for the database", extra={"error": str(error), "retry_in": round(pause, 2)}
                    )
                    await asyncio.sleep(pause)
        except (WrongPassphrase, WrongNetwork, DatabaseRefused) as error:
            raise RefusedToStart(str(error)) from error
        log.info(
            "started", extra={"horizon": urlsplit(c.horizon_url).hostname, "network": c.network_passphrase}
        )

    async def _work(self) -> None:
        c = self._configuration
        self._claiming = [
            asyncio.create_task(self._opener.run(), name="open"),
            asyncio.create_task(self._payer.run(), name="pay"),
            asyncio.create_task(self._rescuer.run(), name="rescue"),
        ]
        self._jobs = [
            asyncio.create_task(self._wakeups.listen(), name="listen"),
            asyncio.create_task(self._wakeups.watch_due_moments(), name="due"),
            asyncio.create_task(self.clock.run(busy=lambda: len(self.tracker) > 0), name="ledger clock"),
            asyncio.create_task(self.dispatcher.run(), name="settle"),
            asyncio.create_task(
                beat(self.database, self.metrics, self.alerts, c.network_passphrase, c.lease_seconds),
                name="heartbeat",
            ),
        ]
        stopped = asyncio.create_task(self._stopping.wait(), name="stop")
        try:
            ended, _ = await asyncio.wait(
                (stopped, *self._claiming, *self._jobs), return_when=asyncio.FIRST_COMPLETED
            )
            for task in ended:
                if (
                    task is not stopped
                ):  # jobs never end by themselves: this is a defect, or the wrong network
                    log.error("a job has ended", extra={"job": task.get_name()}, exc_info=task.exception())
                    task.result()
                    raise RuntimeError(f"job {task.get_name()} has ended")
            await self._drain()
        finally:
            await cancel_all((stopped, *self._claiming, *self._jobs))
            await self.dispatcher.stop()

    async def _drain(self) -> None:
        """Stop claiming, give back what has no envelope, wait for what was sent, retire."""
        c = self._configuration
        log.info("stopping", extra={"in_flight": len(self.tracker), "grace_seconds": c.grace_seconds})
        await cancel_all(self._claiming)
        try:
            async with asyncio.timeout(c.grace_seconds):
                await self._payer.give_unsigned_back()
                await self.tracker.wait_until_idle()
        except TimeoutError:
            log.warning("leaving batches to the next pod", extra={"batches": self.tracker.ids})
        await self.dispatcher.stop()
        with contextlib.suppress(DatabaseUnreachable, DatabaseRefused, TimeoutError):
            async with asyncio.timeout(3):
                await self.database.retire_pod()
        log.info("stopped")


async def run_pod(configuration: Configuration) -> int:
    """Run one pod until SIGTERM or SIGINT; its exit status."""
    name = pod_name()
    logs.configure(configuration.log_level, name)
    crash_points.arm(configuration.crash_at, configuration.crash_count)
    try:
        keyring = LocalKeyring(configuration.channel_seed, configuration.funding_secrets)
    except InvalidKey as error:
        log.critical("refusing to start", extra={"reason": str(error)})
        return 2
    async with HorizonNetwork(configuration.horizon_url, configuration.submit_seconds) as network:
        pod = Pod(configuration, name, keyring, network)
        loop = asyncio.get_running_loop()
        signals = 0

        def on_signal() -> None:
            nonlocal signals
            signals += 1
            if signals > 1:
                os._exit(1)
            pod.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, on_signal)
        try:
            await pod.run()
        except RefusedToStart as error:
            log.critical("refusing to start", extra={"reason": str(error)})
            return 2
        except OSError as error:
            log.critical("refusing to start", extra={"reason": f"port {configuration.http_port}: {error}"})
            return 2
        except RetiredByOthers as error:
            log.critical("this pod was retired by somebody else", extra={"reason": str(error)})
            return 1
        except WrongPassphrase as error:
            log.critical("the node changed its network", extra={"reason": str(error)})
            return 1
    return 0


def main(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run a pod from environment variables. Returns its exit status."""
    if argv:
        sys.stderr.write("the pod takes no arguments; it is configured by PAYLOCK_… environment variables\n")
        return 2
    try:
        configuration = read_configuration(os.environ if environment is None else environment)
    except ConfigurationError as error:
        sys.stderr.write("refusing to start:\n" + "".join(f"  {problem}\n" for problem in error.problems))
        return 2
    return asyncio.run(run_pod(configuration))
