"""How long to wait before the next attempt: exponential, capped, with jitter."""

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """Doubles from `first` to `cap` seconds; each wait is drawn from the upper half of the step."""

    first: float
    cap: float
    _attempt: int = field(default=0, init=False)

    @property
    def attempts(self) -> int:
        """How many waits were drawn since the last reset."""
        return self._attempt

    def reset(self) -> None:
        """Start over, after a success."""
        self._attempt = 0

    def next(self, at_least: float = 0.0) -> float:
        """Seconds to wait now. `at_least` is what the other side asked for (Retry-After)."""
        step: float = min(self.cap, self.first * 2.0 ** min(self._attempt, 30))
        self._attempt += 1
        return max(at_least, 0.0) + step * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret
