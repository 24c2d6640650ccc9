"""Reads isolationtester's output while it comes, line by line.

It also knows which step is to start next: when that belongs to a session that is still waiting,
isolationtester waits, too, and only the harness can tell whether that will ever end.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.isolation.exploring import Fact, Trail
from tests.isolation.outcome import Answer, Outcome
from tests.isolation.spec import COMMIT, ROLLBACK, Permutation, Step
from tests.isolation.sqlstates import sqlstates

ANSWER = "= "  # stands before each answer, so that it can't be taken for anything else
NOT_WAITING = "not waiting"

_PERMUTATION = re.compile(r"starting permutation: (.*)")
_COMPLETED = re.compile(r"step (\w+): <\.\.\. completed>")
_STEP = re.compile(r"step (\w+): ")
_ERROR = re.compile(r"(?:ERROR|FATAL|PANIC):  (.*)")


class UnreadableTranscript(Exception):
    """isolationtester printed what this program does not expect; the message holds it."""


@dataclass(slots=True)
class _Running:
    permutation: Permutation
    steps: Mapping[str, Step]
    started: list[str] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)
    waited: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    trail: list[tuple[str, Fact]] = field(default_factory=list)
    speaker: str = ""

    @property
    def possible(self) -> bool:
        return not self.trail or self.trail[-1][1] is not Fact.IMPOSSIBLE

    def waits(self, session: str) -> bool:
        return any(self.steps[name].session == session for name in self.waiting)


class Transcript:
    """Feed it lines; it collects one Outcome for each permutation, in the order they were given."""

    def __init__(self, permutations: list[Permutation]) -> None:
        self._expected = permutations
        self._running: _Running | None = None
        self.outcomes: list[Outcome] = []
        self.trails: list[Trail] = []
        self.other_lines: list[str] = []

    @property
    def stalled_session(self) -> str | None:
        """The session that the next step belongs to, if it is still waiting in an earlier one."""
        running = self._running
        if running is None or len(running.started) == len(running.permutation.steps):
            return None
        following = running.permutation.steps[len(running.started)]
        if following.is_stop:
            return None  # the gate's step; the gate never waits
        return following.session if running.waits(following.session) else None

    def cancelled(self) -> None:
        """The harness has cancelled the stalled session's call: this order can't happen."""
        if self._running is not None:
            following = self._running.permutation.steps[len(self._running.started)]
            self._running.trail.append((following.name, Fact.IMPOSSIBLE))

    def line(self, line: str) -> None:
        if match := _PERMUTATION.match(line):
            self._start(match[1])
        elif self._running is None:
            self.other_lines.append(line)
        elif match := _COMPLETED.match(line):
            self._completed(self._running, match[1])
        elif match := _STEP.match(line):
            self._step(self._running, match[1], line)
        elif line.startswith(ANSWER):
            self._answer(self._running, line.removeprefix(ANSWER).rstrip())
        elif match := _ERROR.match(line):
            self._running.errors.setdefault(self._running.speaker, match[1])
        elif line.startswith("{"):
            self._finish(self._running, json.loads(line))
        elif line.startswith(("setup failed", "teardown failed", "Connection", "failed")):
            raise UnreadableTranscript(line)

    def _start(self, names: str) -> None:
        if self._running is not None:
            raise UnreadableTranscript(f"no verdict on {self._running.permutation}")
        if len(self.outcomes) >= len(self._expected) or names != str(self._expected[len(self.outcomes)]):
            raise UnreadableTranscript(f"an unexpected permutation: {names}")
        permutation = self._expected[len(self.outcomes)]
        self._running = _Running(permutation, {step.name: step for step in permutation.steps})

    @staticmethod
    def _step(running: _Running, name: str, line: str) -> None:
        running.started.append(name)
        running.speaker = name
        if running.possible:
            running.trail.append((name, Fact.STARTED))
        if line.endswith(" <waiting ...>"):
            running.waiting.add(name)

    @staticmethod
    def _completed(running: _Running, name: str) -> None:
        running.waiting.discard(name)
        running.speaker = name
        # After another session's step: it was waiting for that session. After a stop's: only for us.
        if running.steps[running.started[-1]].part in (COMMIT, ROLLBACK):
            running.waited.add(name)

    @staticmethod
    def _answer(running: _Running, text: str) -> None:
        running.texts[running.speaker] = text
        if text == NOT_WAITING and running.possible:
            stop = running.steps[running.speaker]
            # The call isn't there yet because it waits for another session; or it has ended elsewhere.
            fact = Fact.IMPOSSIBLE if running.waits(stop.session) else Fact.SUPERFLUOUS
            running.trail[-1] = (running.speaker, fact)

    def _finish(self, running: _Running, verdict: dict[str, Any]) -> None:
        answers = {
            (step.session, step.call): Answer(
                running.texts.get(name),
                running.errors.get(name),
                sqlstates(running.errors[name]) if name in running.errors else frozenset(),
                name in running.waited,
            )
            for name, step in running.steps.items()
            if step.part == "call"
        }
        stray = {n: e for n, e in running.errors.items() if n and running.steps[n].part != "call"}
        committed = {
            (step.session, step.call)
            for name, step in running.steps.items()
            if step.part == COMMIT and name not in running.errors
        }
        committed = {call for call in committed if call in answers and answers[call].error is None}
        self.outcomes.append(
            Outcome(
                title=str(running.permutation),
                started=tuple(name for name, fact in running.trail if fact is Fact.STARTED),
                answers=answers,
                committed=frozenset(committed),
                possible=running.possible,
                stray_errors=tuple(f"{name}: {error}" for name, error in stray.items()),
                violations=tuple(verdict["violations"]),
                digest=verdict["digest"],
            )
        )
        self.trails.append(running.trail)
        self._running = None
