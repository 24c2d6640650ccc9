"""`paylock channel` against the sandbox: accounts on its ledger, rows in the database."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from click.testing import CliRunner, Result
from stellar_sdk import Keypair

from paylock.commands.channel import command
from sandbox.server import Sandbox
from sandbox.strkeys import account_key
from tests.database_server import Database
from tests.paylock.conftest import FUNDING

SEED = "00112233445566778899aabbccddeeff"


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(close_seconds=0.1) as running:
        running.fund({FUNDING.public_key: "1000"})
        yield running


async def channel(sandbox: Sandbox, database: Database, *arguments: str, **environment: str) -> Result:
    def run() -> Result:
        return CliRunner().invoke(
            command,
            arguments,
            env={
                "PAYLOCK_DATABASE_URL": database.url_for("payroll_operator"),
                "PAYLOCK_HORIZON_URL": sandbox.url,
                "PAYLOCK_NETWORK_PASSPHRASE": sandbox.network.parameters.passphrase,
                "PAYLOCK_CHANNEL_SEED": SEED,
                "PAYLOCK_FUNDING_SECRETS": FUNDING.secret,
                **environment,
            },
        )

    return await asyncio.to_thread(run)


async def test_channels_are_created_on_the_ledger_with_sponsored_reserves(
    sandbox: Sandbox, acme: Database
) -> None:
    result = await channel(sandbox, acme, "add", "--organization", "acme", "--json", "21")
    assert result.exit_code == 0, result.output
    added = json.loads(result.stdout)["added"]
    assert [entry["key_index"] for entry in added] == list(range(21))
    for entry in added:
        account = sandbox.ledger.account(account_key(entry["address"]))
        assert account is not None
        assert account.balance == 0
        assert str(account.sequence) == entry["sequence"]
    listed = await channel(sandbox, acme, "list", "--json")
    assert [entry["sequence"] for entry in json.loads(listed.stdout)] == [
        entry["sequence"] for entry in added
    ]


async def test_asking_again_creates_nothing(sandbox: Sandbox, acme: Database) -> None:
    await channel(sandbox, acme, "add", "--organization", "acme", "3")
    result = await channel(sandbox, acme, "add", "--organization", "acme", "3")
    assert "nothing was changed" in result.output
    result = await channel(sandbox, acme, "add", "--organization", "acme", "--json", "5")
    assert [entry["key_index"] for entry in json.loads(result.stdout)["added"]] == [3, 4]


async def test_accounts_that_a_stopped_call_left_on_the_ledger_are_registered_not_made_again(
    sandbox: Sandbox, acme: Database
) -> None:
    await channel(sandbox, acme, "add", "--organization", "acme", "3")
    with acme.connect() as connection:
        connection.execute("ALTER TABLE payroll.channel_account DISABLE TRIGGER USER")
        connection.execute("DELETE FROM payroll.channel_account WHERE key_index > 0")
    result = await channel(sandbox, acme, "add", "--organization", "acme", "--json", "4")
    assert [(entry["key_index"], entry["created"]) for entry in json.loads(result.stdout)["added"]] == [
        (1, False),
        (2, False),
        (3, True),
    ]


async def test_another_networks_passphrase_is_refused(sandbox: Sandbox, acme: Database) -> None:
    result = await channel(
        sandbox, acme, "add", "--organization", "acme", "1", PAYLOCK_NETWORK_PASSPHRASE="Another Network"
    )
    assert result.exit_code == 1
    assert "belongs to the network" in result.output
    with acme.connect() as connection:
        assert connection.execute("SELECT count(*) FROM payroll.installation").fetchone() == (0,)


async def test_a_missing_secret_is_named_and_no_secret_is_shown(sandbox: Sandbox, acme: Database) -> None:
    other = Keypair.random().secret
    result = await channel(sandbox, acme, "add", "--organization", "acme", "1", PAYLOCK_FUNDING_SECRETS=other)
    assert result.exit_code == 1
    assert FUNDING.public_key in result.output
    assert other not in result.output


@pytest.mark.parametrize("fault", ["lost_after", "timeout_applied", "lost_before"])
async def test_a_lost_answer_creates_each_channel_once(sandbox: Sandbox, acme: Database, fault: str) -> None:
    sandbox.faults.add(fault, method="POST", path="/transactions*", count=1)
    result = await channel(sandbox, acme, "add", "--organization", "acme", "--json", "2")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["added"]) == 2
