"""The network loses answers, lies low, rejects and disturbs: paid once all the same, or stopped for a
person."""

import asyncio
from typing import Any

import pytest
from stellar_sdk import Asset

from sandbox.server import Sandbox
from tests.database_server import Database
from tests.pod.conftest import PASSPHRASE
from tests.pod.whole_path import open_shop, payees, run_ended
from tests.support.company import Company, Town, add_schedule
from tests.support.judge import judge
from tests.support.pods import PodProcess, pod_environment, pod_process

FAULTS: dict[str, list[dict[str, Any]]] = {
    "lost answers": [
        {"kind": "timeout_applied", "delay": 0.3},
        {"kind": "timeout_dropped", "delay": 0.3},
        {"kind": "lost_before"},
        {"kind": "lost_after"},
        {"kind": "lost_after_submit"},
        {"kind": "truncated"},
        {"kind": "slow_answer", "delay": 4},
    ],
    "no answers": [
        {"kind": "swallowed"},
        {"kind": "try_again_later", "delay": 0.3},
        {"kind": "banned"},
        {"kind": "rate_limited", "retry_after": 1},
        {"kind": "stale_history"},
        {"kind": "server_error", "status": 502, "body": "html"},
        {"kind": "server_error", "status": 500, "body": "empty"},
        {"kind": "server_error", "status": 503, "body": "null_extras"},
    ],
    "rejections": [
        {"kind": "reject", "code": "tx_bad_seq"},
        {"kind": "reject", "code": "tx_internal_error"},
        {"kind": "reject", "code": "tx_too_late"},
        {"kind": "reject", "code": "tx_insufficient_fee"},
        {"kind": "reject", "code": "tx_insufficient_balance"},
        {"kind": "reject", "code": "tx_bad_auth"},
    ],
}


@pytest.mark.parametrize("kind", FAULTS)
async def test_submissions_that_go_wrong_are_paid_once(
    kind: str, database: Database, network: Sandbox, town: Town
) -> None:
    """One submission after the other meets one fault after the other."""
    it = await open_shop(town, database)
    pays = await payees(town, 700)
    await town.post("/sandbox/faults", FAULTS[kind])
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it, submit_seconds="3")) as pod:
        add_schedule(database, it, pays)
        assert await run_ended(database) == [("paid", 700, 0)]
        assert not [entry for entry in pod.log if entry["message"] == "unexpected"]
    assert [rule.struck for rule in network.faults.rules()] == [1] * len(FAULTS[kind])
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_questions_that_go_unanswered_delay_and_change_nothing(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 250)
    questions = [
        {"kind": kind, "method": "GET", "path": path, "count": 2}
        for path in ("/accounts/*", "/transactions/*", "/")
        for kind in ("lost_before", "rate_limited", "server_error")
    ]
    await town.post("/sandbox/faults", [{"kind": "lost_after", "count": 4}, *questions])
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)):
        add_schedule(database, it, pays)
        assert await run_ended(database) == [("paid", 250, 0)]
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_two_pods_in_constant_trouble_pay_once(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database, channels=4)
    pays = await payees(town, 600)
    await town.post("/sandbox/faults", {"kind": "chaos", "probability": 0.04})
    environment = pod_environment(database, network.url, PASSPHRASE, it, submit_seconds="3")
    async with pod_process(environment), pod_process(environment):
        add_schedule(database, it, pays)
        assert await run_ended(database) == [("paid", 600, 0)]
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_a_lookup_node_that_lags_makes_nobody_paid_twice(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 250)
    await town.post(
        "/sandbox/faults",
        [{"kind": "lag", "ledgers": 4, "for_ledgers": 80}, {"kind": "lost_after_submit", "count": 3}],
    )
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it, submit_seconds="3")):
        add_schedule(database, it, pays)
        assert await run_ended(database) == [("paid", 250, 0)]
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_an_envelope_that_expires_unused_is_signed_again_for_the_same_slot(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 50)
    await town.post("/sandbox/faults", {"kind": "timeout_dropped", "count": 3, "delay": 1})
    async with pod_process(
        pod_environment(database, network.url, PASSPHRASE, it, envelope_seconds="3")
    ) as pod:
        add_schedule(database, it, pays)
        assert await run_ended(database) == [("paid", 50, 0)]
        assert any(entry.get("why") == "expired, slot unused" for entry in pod.log)
    with database.connect() as connection:
        envelopes = connection.execute(
            "SELECT count(DISTINCT slot), count(*) > 1 FROM payroll.envelope"
        ).fetchone()
    assert envelopes == (1, True)
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_a_surge_raises_the_bid_for_the_same_inner_transaction(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 50)
    await town.post("/sandbox/faults", {"kind": "surge", "rate": 900})
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)):
        add_schedule(database, it, pays)
        assert await run_ended(database) == [("paid", 50, 0)]
    with database.connect() as connection:
        envelopes = connection.execute(
            "SELECT fee_bid, inner_hash FROM payroll.envelope ORDER BY envelope_id"
        ).fetchall()
    assert [bid for bid, _ in envelopes] == [100 * 51, 1000 * 51]
    assert len({inner for _, inner in envelopes}) == 1


# --- what a person must look at ---------------------------------------------------------------------------


async def batch_states(database: Database) -> list[tuple[str, str | None]]:
    async with await database.connect_async() as connection:
        cursor = await connection.execute(
            "SELECT state::text, held_reason FROM payroll.payment_batch ORDER BY batch_id"
        )
        return [(state, held) for state, held in await cursor.fetchall()]


async def wait_for_batches(database: Database, expected: list[str]) -> list[tuple[str, str | None]]:
    async with asyncio.timeout(60):
        while True:
            found = await batch_states(database)
            if [state for state, _ in found] == expected:
                return found
            await asyncio.sleep(0.1)


async def disturbed(
    pod: PodProcess, database: Database, town: Town, it: Company, how: dict[str, Any]
) -> None:
    """While the only batch is signed and not applied, something foreign happens to its channel."""
    async with asyncio.timeout(60):
        while await batch_states(database) != [("signed", None)]:
            await asyncio.sleep(0.05)
    secret = it.channel_key(it.channels[0][0]).secret
    await town.post("/sandbox/foreign", {"secret": secret, **how})
    assert pod.process.returncode is None


async def test_a_foreign_transaction_on_the_slot_quarantines_batch_and_channel(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database, channels=1)
    pays = await payees(town, 20)
    await town.post("/sandbox/faults", {"kind": "timeout_dropped", "count": 1, "delay": 2})
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        add_schedule(database, it, pays)
        await disturbed(
            pod, database, town, it, {"payer_secret": network.root.secret, "destination": pays[0].destination}
        )
        await wait_for_batches(database, ["quarantined"])
        (entry,) = await pod.logged("quarantined")
        assert len(entry["evidence"]["transactions"]) == 1
    verdict = judge(await town.get("/sandbox/operations"), it.funding.public_key, [])
    assert verdict.exactly_once


async def test_a_sequence_bumped_past_the_slot_quarantines_after_some_ledgers(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database, channels=1)
    pays = await payees(town, 20)
    await town.post("/sandbox/faults", {"kind": "timeout_dropped", "count": 1, "delay": 2})
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        add_schedule(database, it, pays)
        await disturbed(pod, database, town, it, {"bump_to": 2**62})
        await wait_for_batches(database, ["quarantined"])
        (entry,) = await pod.logged("quarantined")
        assert entry["evidence"]["transactions"] == []
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, []).exactly_once


async def test_a_stale_node_that_answers_for_history_quarantines_nothing(
    database: Database, network: Sandbox, town: Town
) -> None:
    """Behind a load balancer one node knows the channel's sequence, the other is stuck a minute ago and says
    that it knows nothing of the transaction."""
    it = await open_shop(town, database, channels=1)
    pays = await payees(town, 20)
    stale = {"kind": "lagging_node", "method": "GET", "ledgers": 60, "count": None}
    await town.post(
        "/sandbox/faults",
        [
            {"kind": "lost_after_submit", "count": 1},
            {**stale, "path": "/transactions/*"},
            {**stale, "path": "/accounts/*/transactions"},
        ],
    )
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        add_schedule(database, it, pays)
        await pod.logged("alert: slot_unexplained")
        await asyncio.sleep(3)  # a dozen ledgers
        assert [state for state, _ in await batch_states(database)] == ["signed"]
        network.clear_faults()
        assert await run_ended(database) == [("paid", 20, 0)]
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_a_defect_holds_the_batch_until_a_person_resumes_it(
    database: Database, network: Sandbox, town: Town
) -> None:
    code = "tx_malformed"
    it = await open_shop(town, database, channels=1)
    pays = await payees(town, 20)
    await town.post("/sandbox/faults", {"kind": "reject", "code": code, "count": 1})
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        add_schedule(database, it, pays)
        await pod.logged("held for a person")
        ((state, reason),) = await batch_states(database)
        assert state == "signed"
        assert reason is not None
        assert code in reason
        await pod.logged("taken over", seconds=60)  # it is looked at again after a lease, and not sent
        assert await batch_states(database) == [("signed", reason)]
        assert judge(await town.get("/sandbox/operations"), it.funding.public_key, []).exactly_once
        with database.connect() as connection:
            connection.execute("UPDATE payroll.payment_batch SET held_reason = NULL")
        assert await run_ended(database) == [("paid", 20, 0)]
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_a_funding_account_without_money_waits_and_goes_on_when_mended(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 40, amount="1000000")
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        add_schedule(database, it, pays)
        await pod.logged("settled")
        with database.connect() as connection:
            assert connection.execute("SELECT state::text FROM payroll.pay_run").fetchone() == (
                "awaiting_funds",
            )
        root = await town.builder(network.root.public_key)
        await town.send(
            root.append_payment_op(it.funding.public_key, Asset.native(), "90000000"), network.root
        )
        assert await run_ended(database) == [("paid", 40, 0)]
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once
