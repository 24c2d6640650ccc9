"""Every fault that the sandbox can make, as a client meets it."""

import asyncio
from typing import Any

import aiohttp
import pytest
from stellar_sdk import BumpSequence, Payment, TransactionEnvelope, exceptions
from stellar_sdk import xdr as x
from stellar_sdk.exceptions import (
    BadRequestError,
    BadResponseError,
    BaseRequestError,
    NotFoundError,
)

from sandbox.faults import NETWORK_KINDS, REQUEST_KINDS, Faults, UnknownFault
from sandbox.foreign import Disturbance
from tests.sandbox.stage import XLM, Envelope, Stage, key, problem


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("alice", "bob", "payer")
    return stage


def noop(stage: Stage, name: str = "alice") -> TransactionEnvelope:
    return stage.build(key(name), BumpSequence(0))


async def submit(stage: Stage, envelope: Envelope) -> dict[str, Any]:
    return await stage.server.submit_transaction(envelope, skip_memo_required_check=True)


def is_applied(stage: Stage, envelope: Envelope) -> bool:
    stage.sandbox.close_ledger()
    return stage.sandbox.network.find(envelope.hash()) is not None


async def post_async(stage: Stage, envelope: Envelope) -> tuple[int, dict[str, Any]]:
    async with aiohttp.ClientSession() as client:
        url = stage.sandbox.url + "/transactions_async"
        async with client.post(url, data={"tx": envelope.to_xdr()}) as answer:
            return answer.status, await answer.json()


async def test_an_answer_lost_before_it_took_effect(ready: Stage) -> None:
    envelope = noop(ready)
    ready.sandbox.faults.add("lost_before")
    with pytest.raises(exceptions.ConnectionError):
        await submit(ready, envelope)
    assert not is_applied(ready, envelope)


async def test_an_answer_lost_after_it_took_effect(ready: Stage) -> None:
    envelope = noop(ready)
    ready.sandbox.faults.add("lost_after")
    with pytest.raises(exceptions.ConnectionError):
        await ready.post(envelope)
    assert ready.sandbox.network.find(envelope.hash()) is not None


async def test_an_answer_lost_right_after_core_took_it(ready: Stage) -> None:
    envelope = noop(ready)
    ready.sandbox.faults.add("lost_after_submit")
    with pytest.raises(exceptions.ConnectionError):
        await submit(ready, envelope)
    assert is_applied(ready, envelope)


@pytest.mark.parametrize(("kind", "applied"), [("timeout_applied", True), ("timeout_dropped", False)])
async def test_a_timeout_tells_nothing(ready: Stage, kind: str, applied: bool) -> None:
    envelope = noop(ready)
    ready.sandbox.faults.add(kind)
    with pytest.raises(BadResponseError) as caught:
        await submit(ready, envelope)
    assert (caught.value.status, problem(caught.value)) == (504, "transaction_submission_timeout")
    assert caught.value.extras == {"hash": envelope.hash_hex(), "envelope_xdr": envelope.to_xdr()}
    assert is_applied(ready, envelope) is applied


async def test_a_swallowed_transaction_was_pending_and_never_comes(ready: Stage) -> None:
    envelope = noop(ready)
    ready.sandbox.faults.add("swallowed")
    assert await post_async(ready, envelope) == (201, {"tx_status": "PENDING", "hash": envelope.hash_hex()})
    assert not is_applied(ready, envelope)


async def test_try_again_later(ready: Stage) -> None:
    envelope = noop(ready)
    ready.sandbox.faults.add("try_again_later", count=2, delay=0.01)
    status, body = await post_async(ready, envelope)
    assert (status, body["tx_status"]) == (503, "TRY_AGAIN_LATER")
    with pytest.raises(BadResponseError) as caught:
        await submit(ready, envelope)
    assert caught.value.status == 504
    assert not is_applied(ready, envelope)


async def test_a_banned_hash_is_refused_for_ten_ledgers(ready: Stage) -> None:
    envelope = noop(ready)
    ready.sandbox.faults.add("banned")
    assert (await post_async(ready, envelope))[1]["tx_status"] == "TRY_AGAIN_LATER"
    for _ in range(9):
        ready.sandbox.close_ledger()
    assert (await post_async(ready, envelope))[1]["tx_status"] == "TRY_AGAIN_LATER"
    ready.sandbox.close_ledger()
    assert (await post_async(ready, envelope))[1]["tx_status"] == "PENDING"


async def test_a_rate_limit_tells_when_to_come_back(ready: Stage) -> None:
    ready.sandbox.faults.add("rate_limited", method="GET", path="/accounts/*", retry_after=7)
    async with aiohttp.ClientSession() as client:
        async with client.get(f"{ready.sandbox.url}/accounts/{key('alice').public_key}") as answer:
            assert answer.status == 429
            assert answer.headers["Retry-After"] == "7"
            body = await answer.json(content_type="application/problem+json")
            assert body["type"].endswith("/rate_limit_exceeded")


async def test_stale_history_is_503(ready: Stage) -> None:
    ready.sandbox.faults.add("stale_history")
    with pytest.raises(BadResponseError) as caught:
        await submit(ready, noop(ready))
    assert (caught.value.status, problem(caught.value)) == (503, "stale_history")


@pytest.mark.parametrize("body", ["problem", "html", "empty"])
async def test_a_server_error_may_have_any_body(ready: Stage, body: str) -> None:
    ready.sandbox.faults.add("server_error", status=502, body=body)
    envelope = noop(ready)
    with pytest.raises(BaseRequestError):
        await submit(ready, envelope)
    assert not is_applied(ready, envelope)


async def test_null_extras_break_the_sdk_as_the_real_ones_do(ready: Stage) -> None:
    ready.sandbox.faults.add("server_error", body="null_extras")
    with pytest.raises(AttributeError):
        await submit(ready, noop(ready))


async def test_a_truncated_answer_came_after_the_effect(ready: Stage) -> None:
    envelope = noop(ready)
    ready.sandbox.faults.add("truncated")
    with pytest.raises(exceptions.ConnectionError):
        await ready.post(envelope)
    assert ready.sandbox.network.find(envelope.hash()) is not None


async def test_slow_requests_come_through(ready: Stage) -> None:
    ready.sandbox.faults.add("slow", delay=0.05)
    ready.sandbox.faults.add("slow_answer", method="GET", path="/fee_stats", delay=0.05)
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert (await ready.post(noop(ready)))["successful"]
    await ready.server.fee_stats().call()
    assert loop.time() - started >= 0.1


async def test_rejects_by_code(ready: Stage) -> None:
    envelope = ready.build(key("alice"), Payment(key("bob").public_key, XLM, "1"), BumpSequence(0))
    expected = {
        "tx_internal_error": {"transaction": "tx_internal_error"},
        "tx_bad_seq": {"transaction": "tx_bad_seq"},
        "tx_failed": {"transaction": "tx_failed", "operations": ["op_no_trust", "op_success"]},
    }
    for code, codes in expected.items():
        ready.sandbox.faults.add("reject", code=code, operations=["op_no_trust", "op_success"])
        with pytest.raises(BadRequestError) as caught:
            await submit(ready, envelope)
        assert caught.value.extras is not None
        assert caught.value.extras["result_codes"] == codes
        x.TransactionResult.from_xdr(caught.value.extras["result_xdr"])
    assert not is_applied(ready, envelope)


async def test_a_reject_of_a_fee_bump_shows_the_inner_code(ready: Stage) -> None:
    bump = ready.bump(ready.build(key("alice"), BumpSequence(0)), key("payer"))
    ready.sandbox.faults.add("reject", code="tx_bad_auth")
    with pytest.raises(BadRequestError) as caught:
        await submit(ready, bump)
    assert caught.value.extras is not None
    assert caught.value.extras["result_codes"] == {
        "transaction": "tx_fee_bump_inner_failed",
        "inner_transaction": "tx_bad_auth",
    }


async def test_a_lookup_can_be_denied(ready: Stage) -> None:
    answer = await ready.post(noop(ready))
    ready.sandbox.faults.add("not_found", method="GET", path="/transactions/*")
    with pytest.raises(NotFoundError):
        await ready.server.transactions().transaction(answer["hash"]).call()
    await ready.server.transactions().transaction(answer["hash"]).call()


async def test_rules_count_skip_and_look_at_the_source(ready: Stage) -> None:
    rule = ready.sandbox.faults.add("stale_history", source=key("bob").public_key, skip=1, count=1)
    assert (await post_async(ready, noop(ready, "alice")))[0] == 201
    assert (await post_async(ready, noop(ready, "bob")))[0] == 201
    status, _ = await post_async_problem(ready, noop(ready, "bob"))
    assert status == 503
    assert rule.struck == 1
    assert (await post_async(ready, noop(ready, "bob")))[0] == 409


async def post_async_problem(stage: Stage, envelope: Envelope) -> tuple[int, str]:
    async with aiohttp.ClientSession() as client:
        url = stage.sandbox.url + "/transactions_async"
        async with client.post(url, data={"tx": envelope.to_xdr()}) as answer:
            return answer.status, await answer.text()


def test_random_faults_follow_the_seed() -> None:
    def strikes(seed: int) -> list[str]:
        faults = Faults(seed)
        faults.add_chaos(0.1)
        return [rule.kind for _ in range(200) if (rule := faults.strike("POST", "/transactions")) is not None]

    assert strikes(1) == strikes(1)
    assert strikes(1) != strikes(2)
    assert len(set(strikes(1))) > 5


def test_unknown_faults_are_refused() -> None:
    with pytest.raises(UnknownFault, match="known:"):
        Faults().add("gremlins")
    assert not set(REQUEST_KINDS) & set(NETWORK_KINDS)


async def test_lookups_can_lag_and_show_the_state_of_then(ready: Stage) -> None:
    alice = key("alice")
    ready.sandbox.disturb_network("lag", ledgers=2)
    before = ready.sequence(alice)
    envelope = noop(ready)
    ready.apply_unseen(envelope)

    async def seen() -> tuple[int, int]:
        async with aiohttp.ClientSession() as client:
            async with client.get(f"{ready.sandbox.url}/accounts/{alice.public_key}") as answer:
                body = await answer.json()
                return int(answer.headers["Latest-Ledger"]), int(body["sequence"])

    assert await seen() == (2, before)
    assert ready.sandbox.network.find(envelope.hash()) is None
    root = await ready.server.root().call()
    assert (root["history_latest_ledger"], root["core_latest_ledger"]) == (2, 3)
    ready.sandbox.close_ledger()
    ready.sandbox.close_ledger()
    assert await seen() == (3, before + 1)
    assert ready.sandbox.network.find(envelope.hash()) is not None


async def test_lists_show_nothing_that_lookups_have_not_reached(ready: Stage) -> None:
    alice = key("alice")
    ready.sandbox.disturb_network("lag", ledgers=1)
    ready.apply_unseen(ready.build(alice, Payment(key("bob").public_key, XLM, "1")))
    for builder in (
        ready.server.transactions().for_account(alice.public_key),
        ready.server.payments(),
        ready.server.operations().for_account(alice.public_key),
        ready.server.ledgers(),
    ):
        newest = (await builder.order(True).limit(1).call())["_embedded"]["records"][0]
        assert int(newest["paging_token"]) >> 32 == 2
    ready.sandbox.close_ledger()
    newest = (await ready.server.payments().order(True).limit(1).call())["_embedded"]["records"][0]
    assert int(newest["paging_token"]) >> 32 == 3


async def test_short_retention_forgets_what_was_applied(ready: Stage) -> None:
    answer = await ready.post(noop(ready))
    ready.sandbox.disturb_network("retention", ledgers=2)
    ready.sandbox.close_ledger()
    assert (await ready.server.root().call())["history_elder_ledger"] == 3
    assert await ready.server.transactions().transaction(answer["hash"]).call() == answer
    ready.sandbox.close_ledger()
    with pytest.raises(NotFoundError):
        await ready.server.transactions().transaction(answer["hash"]).call()
    with pytest.raises(BadRequestError) as caught:
        await ready.server.ledgers().ledger(3).call()
    assert (caught.value.status, problem(caught.value)) == (410, "before_history")


async def test_disturbances_of_the_network_end_by_themselves(ready: Stage) -> None:
    ready.sandbox.disturb_network("surge", rate=500, for_ledgers=2)
    ready.sandbox.close_ledger()
    assert ready.sandbox.network.conditions.surge_rate == 500
    ready.sandbox.close_ledger()
    assert ready.sandbox.network.conditions.surge_rate == 0


async def test_a_foreign_transaction_uses_a_channels_slot_up(ready: Stage) -> None:
    alice = key("alice")
    envelope = noop(ready)
    assert ready.refusal(envelope) == []
    foreign = ready.sandbox.disturb(Disturbance(alice.secret, memo="not ours"))
    assert foreign.sequence == envelope.transaction.sequence
    ready.sandbox.close_ledger()
    assert ready.sandbox.network.find(foreign.inner.hash) is not None
    assert ready.record(envelope).result.name == "tx_bad_seq"
    assert ready.sequence(alice) == envelope.transaction.sequence


async def test_a_foreign_payment_moves_another_accounts_money(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    ready.sandbox.disturb(
        Disturbance(alice.secret, payer_secret=bob.secret, destination=alice.public_key, amount="2")
    )
    before = ready.balance(alice)
    ready.sandbox.close_ledger()
    assert ready.balance(alice) == before + 20_000_000


async def test_a_foreign_bump_passes_a_channels_slot(ready: Stage) -> None:
    alice = key("alice")
    goal = ready.sequence(alice) + 30
    ready.sandbox.disturb(Disturbance(alice.secret, bump_to=goal))
    ready.sandbox.close_ledger()
    assert ready.sequence(alice) == goal


async def test_one_of_two_nodes_may_lag(ready: Stage) -> None:
    """As behind a load balancer: the same question, answered by a node that is behind."""
    envelope = noop(ready)
    ready.apply(envelope)
    ready.sandbox.faults.add("lagging_node", method="GET", path="/*", ledgers=1, count=2)
    found = ready.server.transactions().transaction(envelope.hash_hex())
    with pytest.raises(NotFoundError):
        await found.call()
    account = await ready.server.accounts().account_id(key("alice").public_key).call()
    assert account["sequence"] == str(envelope.transaction.sequence - 1)
    assert (await found.call())["ledger"] == 3
    account = await ready.server.accounts().account_id(key("alice").public_key).call()
    assert account["sequence"] == str(envelope.transaction.sequence)


async def test_lookups_lag_by_no_more_than_the_past_that_is_kept(ready: Stage) -> None:
    with pytest.raises(UnknownFault, match="at most 63"):
        ready.sandbox.disturb_network("lag", ledgers=64)
