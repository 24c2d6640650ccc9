"""The network's time: the latest closed ledger, asked once a second while there is work and seldom while
there isn't.

Ledger time sets time bounds and decides expiry; the pod's clock decides nothing.
"""

import asyncio
import logging
from collections.abc import Callable

from notifier.alerts import Alerts
from notifier.backoff import Backoff
from notifier.network.protocol import LedgerClose, Network, NetworkIdentity

log = logging.getLogger(__name__)

BUSY_SECONDS = 1.0
IDLE_SECONDS = 10.0
"""The longest between two questions, however slow the poll: readiness looks at the last answer."""
STALLED_SECONDS = 60.0
"""A node whose ledger hasn't moved for so long is behind or cut off."""


class WrongPassphrase(Exception):
    """The node serves another network than the one configured."""


class LedgerClock:
    """Knows the latest ledger and tells waiters when the next one has closed."""

    def __init__(self, network: Network, passphrase: str, idle_seconds: float, alerts: Alerts) -> None:
        self._network = network
        self._passphrase = passphrase
        self._idle_seconds = idle_seconds
        self._alerts = alerts
        self._latest: LedgerClose | None = None
        self._closed = asyncio.Event()
        self._wanted = asyncio.Event()
        self.last_answer: float | None = None
        self._advanced = 0.0

    @property
    def latest(self) -> LedgerClose | None:
        """The latest ledger known; None before the first answer."""
        return self._latest

    def age(self) -> float:
        """Seconds since the node last answered, by the event loop's clock."""
        if self.last_answer is None:
            return float("inf")
        return asyncio.get_running_loop().time() - self.last_answer

    async def ask(self) -> LedgerClose | None:
        """Ask the node now; None if it gave no answer. Raises WrongPassphrase."""
        answer = await self._network.identity()
        if not isinstance(answer, NetworkIdentity):
            self._alerts.raise_alert("network", "node", answer.reason)
            return None
        if answer.passphrase != self._passphrase:
            raise WrongPassphrase(
                f"the node serves the network {answer.passphrase!r}, but PAYLOCK_NETWORK_PASSPHRASE is"
                f" {self._passphrase!r}"
            )
        self._alerts.clear("network", "node")
        self.last_answer = asyncio.get_running_loop().time()
        if self._latest is None or answer.latest.sequence > self._latest.sequence:
            self._latest = answer.latest
            self._advanced = self.last_answer
            self._alerts.clear("ledger_stalled", "node")
            self._closed.set()
            self._closed = asyncio.Event()
        elif self.last_answer - self._advanced > STALLED_SECONDS:
            self._alerts.raise_alert("ledger_stalled", "node", f"still at ledger {self._latest.sequence}")
        return self._latest

    async def recent(self, max_age: float) -> LedgerClose | None:
        """The latest ledger, asked at most `max_age` seconds ago; None if the node doesn't answer."""
        if self._latest is not None and self.age() <= max_age:
            return self._latest
        return await self.ask()

    async def next_close(self, after: int, seconds: float) -> None:
        """Wait until a ledger later than number `after` has closed, at most `seconds`."""
        closed = self._closed
        if self._latest is not None and self._latest.sequence > after:
            return
        self._wanted.set()
        try:
            async with asyncio.timeout(seconds):
                await closed.wait()
        except TimeoutError:
            pass

    async def run(self, busy: Callable[[], bool]) -> None:
        """Keep asking: every second while `busy()`, else every `idle_seconds`. Raises WrongPassphrase."""
        backoff = Backoff(first=0.5, cap=10.0)
        while True:
            if await self.ask() is None:
                await asyncio.sleep(backoff.next())
                continue
            backoff.reset()
            if busy():
                await asyncio.sleep(BUSY_SECONDS)
                continue
            self._wanted.clear()
            try:
                async with asyncio.timeout(min(self._idle_seconds, IDLE_SECONDS)):
                    await self._wanted.wait()
            except TimeoutError:
                pass
