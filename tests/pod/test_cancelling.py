import asyncio

from notifier.cancelling import cancel_all


async def test_a_task_that_loses_its_first_cancellation_is_cancelled_again() -> None:
    lost = 0

    async def deaf() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if lost == 2:
                    raise
                lost += 1

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    await cancel_all([task])
    assert task.cancelled()
    assert lost == 2


async def test_tasks_that_ended_or_failed_are_left_as_they_are() -> None:
    async def fails() -> None:
        raise ValueError

    async def ends() -> int:
        return 1

    failed, ended = asyncio.create_task(fails()), asyncio.create_task(ends())
    await asyncio.wait((failed, ended))
    await cancel_all((failed, ended))
    assert isinstance(failed.exception(), ValueError)
    assert ended.result() == 1
