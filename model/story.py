"""Tells a counterexample as a table: who did what, in order."""

import re
from dataclasses import dataclass

_STEP = re.compile(r"^\s*STEP ([^:]+): (.*)$")
_PAYMENTS = re.compile(r"<(\d+)>")
_SLOT = re.compile(r"(?:slots? )?<(\d+)\.(-?\d+)>")
_NUMBERED = re.compile(r"\b(envelope|channel) (\d)")
_DATABASE = re.compile(r"database (\d)")


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the actor ("pod 1", "ledger", …) and what it did, in words."""

    actor: str
    action: str


def story(printed: str) -> tuple[Step, ...]:
    """The steps of what spin printed when it replayed a trail."""
    found = (_STEP.match(line) for line in printed.splitlines())
    return tuple(Step(_actor(one[1]), _words(one[2])) for one in found if one)


def table(steps: tuple[Step, ...]) -> list[str]:
    """Lines of text, one a step."""
    width = max((len(step.actor) for step in steps), default=0)
    return [f"  {number:>3}  {step.actor:<{width}}  {step.action}" for number, step in enumerate(steps, 1)]


def _actor(name: str) -> str:
    kind, _, number = name.partition(" ")
    return f"{kind} {int(number) + 1}" if number else name


def _words(action: str) -> str:
    """The model counts from 0 and writes sets of payments as bit masks."""
    action = _NUMBERED.sub(lambda found: f"{found[1]} {int(found[2]) + 1}", action)
    action = _DATABASE.sub(lambda found: f"database {'AB'[int(found[1])]}", action)
    action = _SLOT.sub(lambda found: f"slot {found[2]} of channel {int(found[1]) + 1}", action)
    return _PAYMENTS.sub(_payments, action)


def _payments(found: re.Match[str]) -> str:
    members = [str(number + 1) for number in range(8) if int(found[1]) >> number & 1]
    return f"payment{'s' if len(members) > 1 else ''} {' and '.join(members)}" if members else "nothing"
