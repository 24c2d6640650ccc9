"""A sandbox network that closes ledgers quickly, and a town to change it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from sandbox.server import Sandbox
from tests.support.company import Town

PASSPHRASE = "Paylock tests ; 2026"


@pytest.fixture
async def network() -> AsyncIterator[Sandbox]:
    """A network of this test's own; a ledger closes four times a second."""
    async with Sandbox(PASSPHRASE, close_seconds=0.25, submit_timeout=5.0) as sandbox:
        yield sandbox


@pytest.fixture
async def town(network: Sandbox) -> AsyncIterator[Town]:
    """For opening accounts on the network."""
    async with aiohttp.ClientSession() as session:
        yield Town(session, network.url, PASSPHRASE)
