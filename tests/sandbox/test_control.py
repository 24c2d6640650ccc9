"""The sandbox's own endpoints, and the process that serves them."""

import asyncio
import json
import signal
import sys
from typing import Any

import aiohttp
import pytest
from stellar_sdk import (
    Asset,
    BumpSequence,
    ChangeTrust,
    Claimant,
    CreateClaimableBalance,
    MuxedAccount,
    Payment,
)

from sandbox.server import Sandbox
from tests.sandbox.stage import XLM, Stage, key


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("alice", "bob", "issuer")
    return stage


async def call(stage: Stage, method: str, path: str, body: object = None) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as client:
        async with client.request(method, stage.sandbox.url + path, json=body) as answer:
            return answer.status, await answer.json()


async def test_operations_show_every_movement_of_money_in_order(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    usd = Asset("USD", key("issuer").public_key)
    ready.must(bob, ChangeTrust(usd, "100"))
    ready.must(key("issuer"), Payment(bob.public_key, usd, "7"))
    ready.do(alice, Payment(bob.public_key, XLM, "1"), Payment(key("nobody").public_key, XLM, "1"))
    builder = ready.builder(alice).add_text_memo("salary")
    builder.append_operation(BumpSequence(0))
    builder.append_operation(Payment(MuxedAccount(bob.public_key, 9), XLM, "2.5"))
    builder.append_operation(CreateClaimableBalance(XLM, "3", [Claimant(bob.public_key)]))
    envelope = ready.sign(builder, alice)
    (record,) = ready.apply(envelope)
    status, moved = await call(ready, "GET", "/sandbox/operations")
    assert status == 200
    assert [each["type"] for each in moved] == [
        *["create_account"] * 3,
        "payment",
        "payment",
        "create_claimable_balance",
    ]
    assert [each["position"] for each in moved] == list(range(6))
    assert moved[3]["asset"] == f"USD:{key('issuer').public_key}"
    assert moved[4] == {
        "position": 4,
        "ledger": record.header.sequence,
        "closed_at": "2027-01-15T08:00:05Z",
        "transaction_hash": envelope.hash_hex(),
        "inner_hash": None,
        "source_account": alice.public_key,
        "source_account_sequence": str(envelope.transaction.sequence),
        "memo_type": "text",
        "memo_value": "salary",
        "operation_index": 1,
        "type": "payment",
        "from": alice.public_key,
        "from_muxed": None,
        "from_muxed_id": None,
        "to": bob.public_key,
        "to_muxed": MuxedAccount(bob.public_key, 9).account_muxed,
        "to_muxed_id": "9",
        "asset": "native",
        "amount": "2.5000000",
        "balance_id": None,
    }
    assert moved[5]["to"] is None
    assert moved[5]["balance_id"].startswith("00000000")
    assert (await call(ready, "GET", "/sandbox/operations?after=4"))[1] == moved[5:]
    _, sent = await call(ready, "GET", "/sandbox/transactions")
    assert [each["successful"] for each in sent] == [True, True, True, False, True]
    assert sent[3]["result_codes"]["operations"] == ["op_success", "op_no_destination"]


async def test_ledgers_close_and_the_clock_moves_on_demand(ready: Stage) -> None:
    _, header = await call(ready, "POST", "/sandbox/close", {"count": 2, "advance": 100})
    assert (header["sequence"], header["close_time"]) == (4, 1_800_000_101)
    assert (await call(ready, "POST", "/sandbox/close"))[1]["sequence"] == 5
    assert (await call(ready, "POST", "/sandbox/clock", {"set": "2028-01-01T00:00:00+00:00"}))[1][
        "now"
    ] == 1_830_297_600
    assert (await call(ready, "POST", "/sandbox/clock", {"advance": 5}))[1]["now"] == 1_830_297_605
    assert (await call(ready, "POST", "/sandbox/close"))[1]["closed_at"] == "2028-01-01T00:00:05Z"


async def test_faults_are_set_listed_and_cleared(ready: Stage) -> None:
    rules = [{"kind": "slow", "delay": 0}, {"kind": "lag", "ledgers": 1}, {"kind": "surge", "rate": 900}]
    status, answer = await call(ready, "POST", "/sandbox/faults", rules)
    assert (status, len(answer["ids"])) == (200, 1)
    _, listed = await call(ready, "GET", "/sandbox/faults")
    assert listed["rules"][0]["params"] == {"delay": 0}
    _, state = await call(ready, "GET", "/sandbox/state")
    assert (state["conditions"]["lag"], state["conditions"]["surge_rate"]) == (1, 900)
    _, chaos = await call(ready, "POST", "/sandbox/faults", {"kind": "chaos", "probability": 0.1})
    assert len(chaos["ids"]) > 5
    assert (await call(ready, "DELETE", f"/sandbox/faults?id={answer['ids'][0]}"))[0] == 200
    assert (await call(ready, "GET", "/sandbox/faults"))[1]["rules"][0]["kind"] == "lost_before"
    await call(ready, "DELETE", "/sandbox/faults")
    assert (await call(ready, "GET", "/sandbox/faults"))[1]["rules"] == []
    assert (await call(ready, "GET", "/sandbox/state"))[1]["conditions"]["lag"] == 0
    assert (await call(ready, "POST", "/sandbox/faults", {"kind": "gremlins"}))[0] == 400
    assert (await call(ready, "POST", "/sandbox/faults", {"kind": "slow", "count": 1, "path": 5, "x": {}}))[
        0
    ] == 400


async def test_foreign_transactions_and_funds_by_endpoint(ready: Stage) -> None:
    alice = key("alice")
    _, foreign = await call(ready, "POST", "/sandbox/foreign", {"secret": alice.secret})
    assert foreign["sequence"] == str(ready.sequence(alice) + 1)
    raw = ready.build(key("bob"), BumpSequence(0))
    await call(ready, "POST", "/sandbox/foreign", {"envelope": raw.to_xdr(), "first": False})
    ready.sandbox.close_ledger()
    assert ready.sequence(alice) == int(foreign["sequence"])
    assert ready.record(raw).successful
    assert (await call(ready, "POST", "/sandbox/foreign", {"secret": key("nobody").secret}))[0] == 400
    status, _ = await call(ready, "POST", "/sandbox/fund", {key("new").public_key: "12.5"})
    assert status == 200
    assert ready.balance(key("new")) == 125_000_000
    assert (await call(ready, "POST", "/sandbox/fund", {key("new").public_key: "1"}))[0] == 400


async def test_ledgers_close_by_the_clock() -> None:
    async with Sandbox(close_seconds=0.02) as sandbox:
        async with asyncio.timeout(5):
            while sandbox.network.latest.sequence < 5:
                await asyncio.sleep(0.01)
        sandbox.disturb_network("stall")
        stalled = sandbox.network.latest.sequence
        await asyncio.sleep(0.2)
        assert sandbox.network.latest.sequence == stalled
        sandbox.clear_faults()
        async with asyncio.timeout(5):
            while sandbox.network.latest.sequence == stalled:
                await asyncio.sleep(0.01)
        sandbox.disturb_network("uneven_closes", factor=1)
        sandbox.disturb_network("stall", for_seconds=0.1)
        stalled = sandbox.network.latest.sequence
        async with asyncio.timeout(5):
            while sandbox.network.latest.sequence < stalled + 3:
                await asyncio.sleep(0.01)


async def test_the_process_says_where_it_serves_and_ends_cleanly_on_sigterm() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "sandbox",
        "--port",
        "0",
        "--close-seconds",
        "manual",
        "--fault",
        '{"kind": "lag", "ledgers": 1}',
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        line = json.loads(await process.stdout.readline())
    async with aiohttp.ClientSession() as client:
        async with client.get(line["horizon"] + "/") as answer:
            assert (await answer.json())["network_passphrase"] == line["passphrase"]
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(10):
        _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")
