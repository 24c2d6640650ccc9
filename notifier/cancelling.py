"""Ends tasks for certain."""

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_SECONDS = 0.2


async def cancel_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks and wait until each has ended, however it did.

    Once is not enough: up to Python 3.11 `asyncio.wait_for`, which psycopg waits with, drops a cancellation
    that arrives together with its result, and a task that runs for ever would then do so.
    """
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        ended, pending = await asyncio.wait(pending, timeout=AGAIN_SECONDS)
        for task in ended:
            if not task.cancelled():
                task.exception()  # looked at, so that asyncio does not complain
