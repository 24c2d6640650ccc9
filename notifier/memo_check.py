"""SEP-29: never pay an account that demands a memo without one.

The question is asked for each G… destination whose payment has no memo of its own, before the envelope
exists, all destinations of a batch at once. A run's reference memo doesn't count: the account wants *its*
memo. M… destinations are exempt.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from notifier.batch import Line
from notifier.network.protocol import MemoRequired, Network

CACHE_SECONDS = 600.0
CACHE_SIZE = 20_000
PARALLEL = 24


class MemoUnknown(Exception):
    """The network didn't say for every destination; nothing may be paid now. `retry_after` in seconds."""

    def __init__(self, reason: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(reason)


class MemoCheck:
    """Finds the payments whose destinations demand a memo. Answers are kept for ten minutes, at most
    20,000 of them."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._cache: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        self._parallel = asyncio.Semaphore(PARALLEL)

    async def refused(self, lines: Sequence[Line]) -> list[int]:
        """Payment ids to refuse with 'memo_required', in order. Raises MemoUnknown."""
        exposed = [line for line in lines if not line.own_memo and line.destination.startswith("G")]
        now = asyncio.get_running_loop().time()
        required: dict[str, bool] = {}
        ask: list[str] = []
        for address in dict.fromkeys(line.destination for line in exposed):
            cached = self._cache.get(address)
            if cached is not None and cached[1] > now:
                required[address] = cached[0]
            else:
                ask.append(address)
        answers = await asyncio.gather(*(self._ask(address) for address in ask))
        unknown: MemoUnknown | None = None
        for address, answer in zip(ask, answers, strict=True):
            if isinstance(answer, MemoUnknown):
                unknown = answer
            else:
                required[address] = answer
                self._remember(address, answer, now + CACHE_SECONDS)
        if unknown is not None:
            raise unknown
        return [line.payment_id for line in exposed if required[line.destination]]

    async def _ask(self, address: str) -> bool | MemoUnknown:
        async with self._parallel:
            answer = await self._network.memo_required(address)
        if isinstance(answer, MemoRequired):
            return answer.required
        return MemoUnknown(answer.reason, answer.retry_after)

    def _remember(self, address: str, required: bool, until: float) -> None:
        self._cache[address] = (required, until)
        self._cache.move_to_end(address)
        while len(self._cache) > CACHE_SIZE:
            self._cache.popitem(last=False)
