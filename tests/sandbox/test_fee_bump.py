"""Fee bumps: two hashes, the payer's fee, and the inner transaction's result within."""

import pytest
from stellar_sdk import BumpSequence, Payment
from stellar_sdk import xdr as x
from stellar_sdk.exceptions import BadRequestError

from tests.sandbox.stage import XLM, Stage, flat, key


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("alice", "payer")
    return stage


async def test_the_payer_pays_and_the_inner_source_gives_the_sequence(ready: Stage) -> None:
    alice, payer = key("alice"), key("payer")
    before, sequence = ready.balance(alice), ready.sequence(alice)
    inner = ready.build(alice, Payment(payer.public_key, XLM, "1"), fee=100)
    bump = ready.bump(inner, payer, fee=300)
    (record,) = ready.apply(bump)
    assert flat(record.result.result_codes()) == ["tx_fee_bump_inner_success", "tx_success", "op_success"]
    assert record.result.fee_charged == 200
    assert ready.balance(payer) == 10_000_000_000 + 10_000_000 - 200
    assert ready.balance(alice) == before - 10_000_000
    assert ready.sequence(alice) == sequence + 1


async def test_both_hashes_find_it(ready: Stage) -> None:
    inner = ready.build(key("alice"), BumpSequence(0))
    bump = ready.bump(inner, key("payer"), fee=250)
    answer = await ready.post(bump)
    by_outer = await ready.server.transactions().transaction(bump.hash_hex()).call()
    by_inner = await ready.server.transactions().transaction(inner.hash_hex()).call()
    assert answer == by_outer
    assert (by_outer["hash"], by_inner["hash"]) == (bump.hash_hex(), inner.hash_hex())
    for found in (by_outer, by_inner):
        assert found["fee_account"] == key("payer").public_key
        assert found["source_account"] == key("alice").public_key
        assert found["envelope_xdr"] == bump.to_xdr()
        assert (found["max_fee"], found["fee_charged"]) == ("500", "200")
        assert found["fee_bump_transaction"]["hash"] == bump.hash_hex()
        assert found["inner_transaction"]["hash"] == inner.hash_hex()
        assert found["inner_transaction"]["max_fee"] == "100"
    assert by_outer["signatures"] == by_outer["fee_bump_transaction"]["signatures"]
    assert by_inner["signatures"] == by_inner["inner_transaction"]["signatures"]


async def test_the_result_holds_the_inner_pair(ready: Stage) -> None:
    inner = ready.build(key("alice"), Payment(key("nobody").public_key, XLM, "1"), BumpSequence(0))
    bump = ready.bump(inner, key("payer"))
    with pytest.raises(BadRequestError) as caught:
        await ready.post(bump)
    extras = caught.value.extras
    assert extras is not None
    assert extras["result_codes"] == {
        "transaction": "tx_fee_bump_inner_failed",
        "inner_transaction": "tx_failed",
        "operations": ["op_no_destination", "op_success"],
    }
    result = x.TransactionResult.from_xdr(extras["result_xdr"])
    assert result.fee_charged.int64 == 300
    pair = result.result.inner_result_pair
    assert pair is not None
    assert pair.transaction_hash.hash == inner.hash()
    assert pair.result.fee_charged.int64 == 0
    assert pair.result.result.code == x.TransactionResultCode.txFAILED
    results = pair.result.result.results
    assert results is not None
    assert results[0].tr is not None
    assert results[0].tr.payment_result is not None
    assert results[0].tr.payment_result.code == x.PaymentResultCode.PAYMENT_NO_DESTINATION


async def test_a_bump_must_not_bid_less_per_operation_than_its_inner_transaction(ready: Stage) -> None:
    inner = ready.build(key("alice"), BumpSequence(0), fee=500)
    bump = ready.bump(inner, key("payer"), fee=500)
    bump.transaction.fee = 999
    bump.signatures.clear()
    bump.sign(key("payer"))
    answer = ready.send(bump)
    assert answer.result is not None
    assert (answer.result.name, answer.result.fee_charged) == ("tx_insufficient_fee", 1000)


async def test_an_inner_transaction_may_bid_nothing(ready: Stage) -> None:
    inner = ready.build(key("alice"), BumpSequence(0))
    inner.transaction.fee = 0
    inner.signatures.clear()
    inner.sign(key("alice"))
    assert ready.refusal(inner) == ["tx_insufficient_fee"]
    assert ready.outcome(ready.bump(inner, key("payer"))) == [
        "tx_fee_bump_inner_success",
        "tx_success",
        "op_success",
    ]


async def test_an_account_without_lumens_acts_if_another_pays(ready: Stage) -> None:
    ready.fund("poor", amount="1")
    poor = key("poor")
    assert ready.refusal(ready.build(poor, BumpSequence(0))) == ["tx_insufficient_balance"]
    assert ready.outcome(ready.bump(ready.build(poor, BumpSequence(0)), key("payer")))[1] == "tx_success"
