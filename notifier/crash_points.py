"""Named boundaries at which a test may kill this process.

`reach(name)` does nothing unless the pod was started with PAYLOCK_CRASH_AT=<name> and PAYLOCK_ALLOW_CRASH=1;
then the process kills itself with SIGKILL the n-th time (PAYLOCK_CRASH_COUNT, default 1) that it gets there.
"""

import os
import signal

BOUNDARIES = (
    "after_open",
    "after_claim",
    "after_sign",
    "after_record",
    "after_send_before_answer",
    "after_answer",
    "after_settle",
)

_armed: str | None = None
_countdown = 0


def arm(boundary: str | None, count: int = 1) -> None:
    """Choose the boundary that kills this process; None disarms. Raises ValueError for an unknown name."""
    global _armed, _countdown
    if boundary is not None and boundary not in BOUNDARIES:
        raise ValueError(f"unknown crash point {boundary!r}; known: {', '.join(BOUNDARIES)}")
    _armed, _countdown = boundary, count


def armed() -> str | None:
    """The boundary that will kill this process, or None."""
    return _armed


def reach(boundary: str) -> None:
    """Say that the work has got to `boundary`."""
    global _countdown
    if _armed != boundary:
        return
    _countdown -= 1
    if _countdown <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
