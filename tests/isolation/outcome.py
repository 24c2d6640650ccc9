"""What one permutation did, as isolationtester printed it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Answer:
    """A call's result: its text, or the error's message with the SQLSTATEs that this message can have.

    `waited`: it came when another session's transaction ended.
    """

    text: str | None
    error: str | None
    states: frozenset[str]
    waited: bool

    @property
    def changed_nothing(self) -> bool:
        return self.error is not None or self.text == NOTHING

    def __str__(self) -> str:
        return f"{'/'.join(sorted(self.states))} {self.error}" if self.error is not None else str(self.text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`started` are the step names in order without the superfluous (a stop that its call did not come to);

    `answers` go by (session, place of the call); `committed` are the calls that took effect.
    `possible` is False where a session would have had to go on while it was blocked.
    """

    title: str
    started: tuple[str, ...]
    answers: Mapping[tuple[str, int], Answer]
    committed: frozenset[tuple[str, int]]
    possible: bool
    stray_errors: tuple[str, ...]  # at a commit, a snapshot, a stop
    violations: tuple[str, ...]
    digest: Mapping[str, Any]

    def happened_before(self, earlier: str, later: str) -> bool:
        """Whether step `earlier` was started before `later`. False where one of them is not in this order."""
        if earlier not in self.started or later not in self.started:
            return False
        return self.started.index(earlier) < self.started.index(later)
