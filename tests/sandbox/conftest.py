"""A sandbox with manual closes for each test."""

from collections.abc import AsyncIterator

import pytest
from stellar_sdk.client.aiohttp_client import AiohttpClient
from stellar_sdk.server_async import ServerAsync

from sandbox.server import Sandbox
from tests.sandbox.stage import Stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A stage at ledger 1, its clock stopped, its submissions timing out after a second."""
    async with Sandbox(submit_timeout=1, start_time=1_800_000_000) as sandbox:
        async with ServerAsync(sandbox.url, AiohttpClient(request_timeout=10, post_timeout=10)) as server:
            yield Stage(sandbox, server)
