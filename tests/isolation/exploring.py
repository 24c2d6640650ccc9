"""Which orders still have to be run: those whose end can't be told from what has run before.

Whether a step can be started depends only on the steps before it. So an order is known to be impossible as
soon as one that begins alike has shown it, and orders that differ only by a stop that its call never came to
are one.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from tests.isolation.spec import Permutation

ALL_AT_ONCE = 24  # so few orders are run without choosing


class Fact(Enum):
    STARTED = "started"
    SUPERFLUOUS = "superfluous"
    IMPOSSIBLE = "impossible"


Trail = Sequence[tuple[str, Fact]]  # a permutation's steps up to the first that was impossible


class Explored:
    """What is known of the orders' beginnings."""

    def __init__(self) -> None:
        self._facts: dict[tuple[tuple[str, ...], str], Fact] = {}

    def learn(self, trail: Trail) -> None:
        begun: tuple[str, ...] = ()
        for name, fact in trail:
            self._facts[begun, name] = fact
            if fact is Fact.STARTED:
                begun = (*begun, name)

    def first_unknown(self, permutation: Permutation) -> tuple[tuple[str, ...], str] | None:
        """The beginning and the step after it that nobody has tried; None if all is known, or impossible."""
        return self._walk(permutation)[0]

    def is_impossible(self, permutation: Permutation) -> bool:
        return self._walk(permutation)[1]

    def _walk(self, permutation: Permutation) -> tuple[tuple[tuple[str, ...], str] | None, bool]:
        begun: tuple[str, ...] = ()
        for step in permutation.steps:
            fact = self._facts.get((begun, step.name))
            if fact is None:
                return (begun, step.name), False
            if fact is Fact.IMPOSSIBLE:
                return None, True
            if fact is Fact.STARTED:
                begun = (*begun, step.name)
        return None, False


def explore(orders: Iterable[Permutation], run: Callable[[list[Permutation]], Iterable[Trail]]) -> int:
    """Calls `run` with as many of the orders as it takes to know all. Returns how many are impossible."""
    orders = list(orders)
    explored = Explored()
    remaining = orders
    while remaining:
        chosen: dict[tuple[tuple[str, ...], str], Permutation] = {}
        still = []
        for order in remaining:
            unknown = explored.first_unknown(order)
            if unknown is not None:
                still.append(order)
                chosen.setdefault(unknown, order)
        remaining = still
        if not remaining:
            break
        for trail in run(remaining if len(remaining) <= ALL_AT_ONCE else list(chosen.values())):
            explored.learn(trail)
    return sum(explored.is_impossible(order) for order in orders)
