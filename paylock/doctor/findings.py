"""What a check found."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is: `fail` means that pods should not run, or can't."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report. `advice` says what to do, and is empty when nothing is to be done."""

    level: Level
    check: str
    detail: str
    advice: str = ""
