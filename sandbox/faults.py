"""Faults on demand and at random: every way in which a network leaves a client without a good answer.

A rule is matched against a request by method, path and, for submissions, source account. It strikes `count`
times (None: for ever) after letting `skip` matches pass, each time with `probability` from the sandbox's
seed. Rules are asked in the order in which they were set; the first that strikes decides.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from random import Random
from typing import Any

REQUEST_KINDS = {
    "lost_before": "the connection is reset before anything happened",
    "lost_after": "the request is served to its end, then the connection is reset instead of an answer",
    "lost_after_submit": "core takes the transaction, then the connection is reset at once",
    "timeout_applied": "core takes the transaction, the answer is 504 (after `delay` seconds)",
    "timeout_dropped": "core never sees the transaction, the answer is 504 (after `delay` seconds)",
    "swallowed": "core says PENDING and forgets the transaction",
    "try_again_later": "async: 503 TRY_AGAIN_LATER; sync: 504 after `delay` seconds (as Horizon)",
    "banned": "the hash is banned for ten ledgers, then the request goes on",
    "rate_limited": "429 with Retry-After (`retry_after` seconds, default 1)",
    "stale_history": "503 stale_history",
    "server_error": "`status` (default 500) with `body` problem (default), html, empty or null_extras",
    "slow": "the request is served after `delay` seconds (default 1)",
    "slow_answer": "the request is served, its answer held back for `delay` seconds (default 1)",
    "truncated": "the answer breaks off in the middle",
    "reject": "400 with `code` (default tx_internal_error) and `operations`; core never sees the transaction",
    "not_found": "404 for whatever is asked",
    "lagging_node": "the request is served by a node that lags by `ledgers` (default 2)",
}
NETWORK_KINDS = {
    "surge": "the least bid is `rate` stroops per operation",
    "lag": "lookups trail by `ledgers` ledgers",
    "retention": "lookups keep `ledgers` ledgers",
    "slow_closes": "closes take `factor` times longer",
    "uneven_closes": "each close takes up to `factor` intervals longer, by the seed",
    "stall": "no ledger closes by itself",
}


class UnknownFault(ValueError):
    """A rule is not what this module knows."""


@dataclass(slots=True)
class Rule:
    """One fault to come."""

    id: int
    kind: str
    method: str = "POST"
    path: str = "/transactions*"
    source: str | None = None
    count: int | None = 1
    probability: float = 1.0
    skip: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    struck: int = 0

    def as_json(self) -> dict[str, Any]:
        """The rule as the control endpoint shows it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "method": self.method,
            "path": self.path,
            "source": self.source,
            "count": self.count,
            "probability": self.probability,
            "skip": self.skip,
            "params": self.params,
            "struck": self.struck,
        }

    def matches(self, method: str, path: str, source: str | None) -> bool:
        """Whether it is about such a request."""
        if self.count == 0 or (self.source is not None and self.source != source):
            return False
        return self.method in ("*", method) and fnmatchcase(path, self.path)


_OWN = {"kind", "method", "path", "source", "count", "probability", "skip", "params"}
_CHAOS = (
    "lost_before",
    "lost_after",
    "lost_after_submit",
    "timeout_applied",
    "timeout_dropped",
    "try_again_later",
    "rate_limited",
    "server_error",
    "slow",
    "swallowed",
)


class Faults:
    """The rules in force."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(f"faults {seed}")  # noqa: S311 - faults are to be repeatable
        self._rules: list[Rule] = []
        self._next_id = 1
        self.log: list[dict[str, Any]] = []

    def add(self, kind: str, **given: Any) -> Rule:
        """Sets a rule. Names that are not a rule's own are its parameters (delay=2, code="tx_bad_auth",
        …)."""
        if kind not in REQUEST_KINDS:
            raise UnknownFault(
                f"unknown fault {kind!r}; known: {', '.join(sorted(REQUEST_KINDS | NETWORK_KINDS))}"
            )
        own = {name: value for name, value in given.items() if name in _OWN and name != "params"}
        params = {name: value for name, value in given.items() if name not in _OWN} | given.get("params", {})
        if "probability" in own and "count" not in own:
            own["count"] = None
        if not isinstance(own.get("path", ""), str) or not isinstance(own.get("method", ""), str):
            raise UnknownFault("method and path are texts")
        rule = Rule(self._next_id, kind, params=params, **own)
        self._next_id += 1
        self._rules.append(rule)
        return rule

    def add_chaos(self, probability: float, **given: Any) -> list[Rule]:
        """Every fault of submissions, each with a probability, for ever."""
        return [self.add(kind, probability=probability, **given) for kind in _CHAOS]

    def rules(self) -> list[Rule]:
        """All rules, used up or not."""
        return list(self._rules)

    def clear(self, ids: Iterable[int] | None = None) -> None:
        """Removes rules, all of them by default."""
        gone = None if ids is None else set(ids)
        self._rules = [] if gone is None else [rule for rule in self._rules if rule.id not in gone]

    def needs_source(self) -> bool:
        """Whether a rule asks for the source account of what is submitted."""
        return any(rule.source is not None and rule.count != 0 for rule in self._rules)

    def strike(self, method: str, path: str, source: str | None = None) -> Rule | None:
        """The rule that strikes this request, if any."""
        for rule in self._rules:
            if not rule.matches(method, path, source):
                continue
            if rule.skip > 0:
                rule.skip -= 1
                continue
            if rule.probability < 1 and self._random.random() >= rule.probability:
                continue
            if rule.count is not None:
                rule.count -= 1
            rule.struck += 1
            self.log.append(
                {"rule": rule.id, "kind": rule.kind, "method": method, "path": path, "source": source}
            )
            return rule
        return None
