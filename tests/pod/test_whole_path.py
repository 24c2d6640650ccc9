"""Pods, a database and a network: the whole path, judged by the ledger."""

import asyncio
import signal
from contextlib import AsyncExitStack
from datetime import timedelta

import aiohttp
import pytest
from stellar_sdk import Asset, MuxedAccount

from sandbox.server import Sandbox
from tests.database_server import Database
from tests.pod.conftest import PASSPHRASE
from tests.pod.whole_path import open_shop, payees, run_ended
from tests.support.company import Pay, Town, add_schedule, key
from tests.support.judge import judge
from tests.support.pods import pod_environment, pod_process


async def test_one_pod_pays_a_run_exactly_once(database: Database, network: Sandbox, town: Town) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 250)
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        await pod.logged("started")
        add_schedule(database, it, pays)
        assert await run_ended(database) == [("paid", 250, 0)]
        pod.signal(signal.SIGTERM)
        assert await pod.ended() == 0
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_two_pods_share_the_work_and_pay_once(database: Database, network: Sandbox, town: Town) -> None:
    it = await open_shop(town, database, channels=4)
    pays = await payees(town, 600)
    async with AsyncExitStack() as stack:
        environment = pod_environment(database, network.url, PASSPHRASE, it, concurrency="2")
        pods = [await stack.enter_async_context(pod_process(environment)) for _ in range(2)]
        for pod in pods:
            await pod.logged("started")
        add_schedule(database, it, pays)
        assert await run_ended(database) == [("paid", 600, 0)]
        opened = [entry for pod in pods for entry in pod.log if entry["message"] == "run opened"]
        assert len(opened) == 1
        for pod in pods:
            pod.signal(signal.SIGTERM)
        assert [await pod.ended() for pod in pods] == [0, 0]
        assert all(any(entry["message"] == "settled" for entry in pod.log) for pod in pods)
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_each_payee_gets_a_verdict_and_the_good_ones_get_their_money(
    database: Database, network: Sandbox, town: Town
) -> None:
    """Several assets, muxed addresses, memos of their own, and five kinds of payees who can't be paid."""
    it = await open_shop(town, database)
    issuer = key("issuer")
    euro = Asset("EURC", issuer.public_key)
    good = await payees(town, 30)
    holders = [key("holder", i) for i in range(20)]
    exchange, demanding = key("exchange"), key("demanding")
    everybody = [*holders, issuer, exchange, demanding]
    await town.fund({one.public_key: "20" for one in everybody})
    await town.trust(euro, it.funding, *holders[:19])
    await town.issue(euro, issuer, it.funding.public_key, "1000000")
    await town.demand_memo(exchange)
    await town.demand_memo(demanding)

    paid = good + [
        Pay(f"euro{i}", holder.public_key, "7.1234567", euro) for i, holder in enumerate(holders[:19])
    ]
    for i in range(3):
        muxed = MuxedAccount(exchange.public_key, 1000 + i).account_muxed
        assert muxed is not None
        paid.append(Pay(f"muxed{i}", muxed, "3"))
    paid.append(Pay("customer", exchange.public_key, "4", memo_type="id", memo_value="77"))
    paid.append(Pay("customer2", exchange.public_key, "5", memo_type="text", memo_value="número 5"))
    failed = [
        Pay("no-trustline", holders[19].public_key, "1", euro),
        Pay("no-account", key("nobody").public_key, "1"),
        Pay("no-memo", demanding.public_key, "1"),
    ]
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        await pod.logged("started")
        add_schedule(database, it, [*paid, *failed])
        assert await run_ended(database) == [("partly_paid", len(paid), 3)]
    operations = await town.get("/sandbox/operations")
    assert judge(operations, it.funding.public_key, paid).exactly_once
    memos = {
        op["amount"]: (op["memo_type"], op["memo_value"])
        for op in operations
        if op["to"] == exchange.public_key
    }
    assert memos["4.0000000"] == ("id", "77")
    assert memos["5.0000000"] == ("text", "número 5")
    assert memos["3.0000000"][0] == "hash"
    with database.connect() as connection:
        codes = connection.execute(
            "SELECT y.reference::text, p.failure_code FROM payroll.payment AS p"
            " JOIN payroll.payee AS y USING (payee_id)"
            " WHERE p.state = 'failed' ORDER BY 1"
        ).fetchall()
    assert codes == [
        ("salaries-no-account", "op_no_destination"),
        ("salaries-no-memo", "memo_required"),
        ("salaries-no-trustline", "op_no_trust"),
    ]


async def test_sigterm_lets_what_was_sent_settle_and_exits_cleanly(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database, channels=2)
    pays = await payees(town, 500)
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        await pod.logged("started")
        add_schedule(database, it, pays)
        await pod.logged("settled")
        pod.signal(signal.SIGTERM)
        assert await pod.ended() == 0
    with database.connect() as connection:
        live = connection.execute(
            "SELECT count(*) FROM payroll.payment_batch WHERE state IN ('claimed', 'signed')"
        ).fetchone()
        retired = connection.execute(
            "SELECT count(*) FROM payroll.pod WHERE retired_at IS NOT NULL"
        ).fetchone()
    assert (live, retired) == ((0,), (1,))
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        assert await run_ended(database) == [("paid", 500, 0)]
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_a_batch_that_is_still_in_flight_when_the_grace_ends_is_left_to_the_next_pod(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 50)
    await town.post("/sandbox/faults", {"kind": "stall"})
    environment = pod_environment(database, network.url, PASSPHRASE, it)
    async with pod_process({**environment, "PAYLOCK_GRACE_SECONDS": "0.5"}) as pod:
        await pod.logged("started")
        add_schedule(database, it, pays)
        async with asyncio.timeout(60):
            while not (await town.get("/sandbox/state"))["queued"]:
                await asyncio.sleep(0.05)
        pod.signal(signal.SIGTERM)
        assert await pod.ended() == 0
    network.clear_faults()
    async with pod_process(environment) as pod:
        assert await run_ended(database) == [("paid", 50, 0)]
        assert pod.log
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_a_schedule_that_nobody_notified_of_is_paid_at_its_moment(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 5)
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        await pod.logged("started")
        add_schedule(database, it, pays, due=timedelta(seconds=2))
        assert await run_ended(database) == [("paid", 5, 0)]
    with database.connect() as connection:
        row = connection.execute("SELECT opened_at >= pay_at FROM payroll.pay_run").fetchone()
    assert row == (True,)


async def test_a_pod_refuses_a_node_of_another_network(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    async with pod_process(pod_environment(database, network.url, "Another network", it)) as pod:
        assert await pod.ended() == 2
        (refusal,) = [entry for entry in pod.log if entry["message"] == "refusing to start"]
        assert "Another network" in refusal["reason"]
        assert PASSPHRASE in refusal["reason"]


async def test_a_pod_refuses_a_database_of_another_network(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    with database.connect() as connection:
        connection.execute("UPDATE payroll.installation SET network_passphrase = 'Another network'")
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        assert await pod.ended() == 2
        (refusal,) = [entry for entry in pod.log if entry["message"] == "refusing to start"]
        assert "PL012" in refusal["reason"]


async def test_no_secret_is_ever_logged(database: Database, network: Sandbox, town: Town) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 3)
    environment = pod_environment(database, network.url, PASSPHRASE, it, log_level="debug")
    async with pod_process(environment) as pod:
        await pod.logged("started")
        add_schedule(database, it, pays)
        await run_ended(database)
        pod.signal(signal.SIGTERM)
        await pod.ended()
        text = repr(pod.log)
    for secret in (it.funding.secret, it.channel_seed_hex, database.server.password):
        assert secret not in text


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_health_and_metrics_are_served(
    path: str, database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        await pod.logged("started")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{await pod.port()}{path}") as answer:
                text = await answer.text()
                assert answer.status == 200, text
    if path == "/metrics":
        assert "paylock_runs_opened_total 0.0" in text
        assert "process_resident_memory_bytes" in text
