"""Judges outcomes by the judge's invariants, the spec's refusals and expectations, and serial equivalence.

Serial equivalence: what a permutation left behind, and what its committed calls answered, is what some of the
calls leave and answer when they are made one after another. A call may be missing from that order only if it
was rolled back, refused, or said itself that it changed nothing. So no outcome mixes two calls.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.isolation.outcome import Outcome
from tests.isolation.spec import READ_COMMITTED, Spec
from tests.isolation.sqlstates import SERIALIZATION

BROKEN, REFUSED = "broken", "refused"


@dataclass(frozen=True, slots=True)
class Fault:
    """`broken`: data or an answer is wrong. `refused`: the data is right, but a call failed that mustn't."""

    kind: str
    permutation: str
    what: str


class SerialOutcomes:
    """The outcomes of the spec's serial orders: the yardstick for all others."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._known: dict[str, list[dict[tuple[str, int], str]]] = {}
        for outcome in outcomes:
            answers = {call: _said(outcome, call) for call in outcome.answers}
            self._known.setdefault(_text(outcome.digest), []).append(answers)

    def explain(self, outcome: Outcome) -> str | None:
        """None if a serial order explains the outcome; else what is wrong with it."""
        candidates = self._known.get(_text(outcome.digest))
        if candidates is None:
            return f"no serial order of the calls leaves this behind: {self._differences(outcome.digest)}"
        effective = {call for call in outcome.committed if not outcome.answers[call].changed_nothing}
        said = {call: _said(outcome, call) for call in effective}
        if any(all(answers.get(call) == text for call, text in said.items()) for answers in candidates):
            return None
        return "no serial order of the calls gives these answers"

    def _differences(self, digest: Mapping[str, Any]) -> str:
        """What differs from the serial outcome that is nearest."""
        differing: list[list[str]] = [
            [
                f"{part} {_text(digest[part])}, not {_text(known[part])}"
                for part in digest
                if digest[part] != known[part]
            ]
            for known in map(json.loads, self._known)
        ]
        nearest = min((len(parts), parts) for parts in differing)[1]
        return "; ".join(nearest)


def judge(spec: Spec, outcome: Outcome, serial: SerialOutcomes | None) -> list[Fault]:
    """All that is wrong with one outcome. Orders that can't happen are only held against the invariants."""
    faults = [Fault(BROKEN, outcome.title, what) for what in outcome.violations]
    if not outcome.possible:
        return faults
    allowed_always = {SERIALIZATION} if spec.isolation != READ_COMMITTED else set()
    for session in spec.sessions:
        for place, call in enumerate(session.calls):
            answer = outcome.answers.get((session.name, place))
            allowed = allowed_always | (frozenset() if spec.never_refused else call.refusals)
            if answer is None or answer.error is None or answer.states & allowed:
                continue
            faults.append(Fault(REFUSED, outcome.title, f"{session.name}'s {call.name} failed: {answer}"))
    for error in outcome.stray_errors:
        if not (allowed_always and "could not serialize access" in error):
            faults.append(Fault(REFUSED, outcome.title, error))
    for expect in spec.expect:
        what = expect(outcome)
        if what is not None:
            faults.append(Fault(BROKEN, outcome.title, what))
    if serial is not None and spec.in_turn:
        what = serial.explain(outcome)
        if what is not None:
            faults.append(Fault(BROKEN, outcome.title, what))
    return faults


def _said(outcome: Outcome, call: tuple[str, int]) -> str:
    answer = outcome.answers[call]
    return "refused" if answer.error is not None else str(answer.text)


def _text(digest: Any) -> str:
    return json.dumps(digest, sort_keys=True)
