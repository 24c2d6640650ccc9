"""The sandbox's clock: the system's time with an offset, or time set by hand."""

import math
import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(seconds: int) -> str:
    """'2026-01-31T09:00:00Z'. Times beyond the year 9999 give its last second."""
    try:
        return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError:
        return "9999-12-31T23:59:59Z"


class Clock:
    """Unix time in seconds. Starts as the system's; `advance` moves it, `set` stops it at a moment."""

    def __init__(self, stopped_at: float | None = None) -> None:
        self._offset = 0.0
        self._stopped_at = stopped_at

    def now(self) -> int:
        """Whole seconds."""
        return math.floor(time.time() + self._offset if self._stopped_at is None else self._stopped_at)

    def advance(self, seconds: float) -> None:
        """Moves the clock on; negative seconds are refused by ValueError."""
        if seconds < 0:
            raise ValueError("a ledger's time never goes back")
        if self._stopped_at is None:
            self._offset += seconds
        else:
            self._stopped_at += seconds

    def set(self, moment: float) -> None:
        """Stops the clock at a moment; it then moves only by `advance` (each close still takes a second at
        least)."""
        self._stopped_at = moment
