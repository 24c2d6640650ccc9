"""POST /transactions and /transactions_async, as a client sees them."""

import asyncio

import aiohttp
import pytest
from stellar_sdk import CreateAccount, Payment
from stellar_sdk import xdr as x
from stellar_sdk.exceptions import BadRequestError, BadResponseError, NotFoundError

from tests.sandbox.stage import XLM, Stage, flat, key, problem


async def test_a_payment_is_answered_when_its_ledger_closed(stage: Stage) -> None:
    (alice,) = stage.fund("alice")
    envelope = stage.build(alice, CreateAccount(key("bob").public_key, "50"))
    answer = await stage.post(envelope)
    assert answer["hash"] == envelope.hash_hex()
    assert answer["successful"] is True
    assert answer["ledger"] == 3
    assert answer["fee_charged"] == "100"
    assert answer["max_fee"] == "100"
    assert answer["source_account_sequence"] == str(envelope.transaction.sequence)
    assert stage.balance(key("bob")) == 50 * 10**7


async def test_a_hash_is_unknown_until_its_ledger_closed(stage: Stage) -> None:
    (alice,) = stage.fund("alice")
    envelope = stage.build(alice, Payment(alice.public_key, XLM, "1"))
    sending = asyncio.create_task(stage.server.submit_transaction(envelope, skip_memo_required_check=True))
    while not stage.sandbox.network.queue.waiting():
        await asyncio.sleep(0.005)
    with pytest.raises(NotFoundError):
        await stage.server.transactions().transaction(envelope.hash_hex()).call()
    assert not sending.done()
    stage.sandbox.close_ledger()
    assert (await sending)["successful"] is True
    assert (await stage.server.transactions().transaction(envelope.hash_hex()).call())["successful"] is True


async def test_a_repeat_is_answered_from_the_ledger(stage: Stage) -> None:
    (alice,) = stage.fund("alice")
    envelope = stage.build(alice, Payment(alice.public_key, XLM, "1"))
    first = await stage.post(envelope)
    assert await stage.server.submit_transaction(envelope, skip_memo_required_check=True) == first


async def test_without_a_close_the_answer_is_504_with_the_hash(stage: Stage) -> None:
    (alice,) = stage.fund("alice")
    envelope = stage.build(alice, Payment(alice.public_key, XLM, "1"))
    with pytest.raises(BadResponseError) as caught:
        await stage.server.submit_transaction(envelope, skip_memo_required_check=True)
    assert caught.value.status == 504
    assert problem(caught.value) == "transaction_submission_timeout"
    assert caught.value.extras == {"hash": envelope.hash_hex(), "envelope_xdr": envelope.to_xdr()}


async def test_a_refused_transaction_is_400_and_keeps_its_sequence(stage: Stage) -> None:
    (alice,) = stage.fund("alice")
    envelope = stage.build(alice, Payment(alice.public_key, XLM, "1"), sequence=77)
    with pytest.raises(BadRequestError) as caught:
        await stage.server.submit_transaction(envelope, skip_memo_required_check=True)
    extras = caught.value.extras
    assert extras is not None
    assert problem(caught.value) == "transaction_failed"
    assert set(extras) == {"envelope_xdr", "result_xdr", "result_codes"}
    assert extras["result_codes"] == {"transaction": "tx_bad_seq"}
    assert extras["envelope_xdr"] == envelope.to_xdr()
    result = x.TransactionResult.from_xdr(extras["result_xdr"])
    assert result.result.code == x.TransactionResultCode.txBAD_SEQ
    with pytest.raises(NotFoundError):
        await stage.server.transactions().transaction(envelope.hash_hex()).call()


async def test_a_transaction_that_failed_in_a_ledger_is_400_and_found(stage: Stage) -> None:
    (alice,) = stage.fund("alice")
    envelope = stage.build(
        alice, Payment(alice.public_key, XLM, "1"), Payment(key("nobody").public_key, XLM, "1")
    )
    for _ in range(2):
        with pytest.raises(BadRequestError) as caught:
            await stage.post(envelope)
        extras = caught.value.extras
        assert extras is not None
        assert flat(extras["result_codes"]) == ["tx_failed", "op_success", "op_no_destination"]
    found = await stage.server.transactions().transaction(envelope.hash_hex()).call()
    assert found["successful"] is False
    assert stage.sequence(alice) == envelope.transaction.sequence


async def test_another_content_type_is_415(stage: Stage) -> None:
    async with (
        aiohttp.ClientSession() as client,
        client.post(stage.sandbox.url + "/transactions", json={"tx": "AAAA"}) as answer,
    ):
        body = await answer.json(content_type="application/problem+json")
        assert answer.status == 415
        assert body["type"] == "https://stellar.org/horizon-errors/unsupported_media_type"


async def test_what_is_no_envelope_is_transaction_malformed(stage: Stage) -> None:
    async with aiohttp.ClientSession() as client:
        for text in ("", "AAAA", "no base64!", "AAAABQ=="):
            async with client.post(stage.sandbox.url + "/transactions", data={"tx": text}) as answer:
                body = await answer.json(content_type="application/problem+json")
                assert answer.status == 400
                assert body["type"].endswith("/transaction_malformed")
                assert body["extras"] == {"envelope_xdr": text}


async def test_async_submission_gives_cores_word(stage: Stage) -> None:
    alice, bob = stage.fund("alice", "bob")
    envelope = stage.build(alice, Payment(bob.public_key, XLM, "1"))
    other = stage.build(alice, Payment(bob.public_key, XLM, "2"))
    wrong = stage.build(bob, Payment(alice.public_key, XLM, "2"), sequence=9)
    async with aiohttp.ClientSession() as client:

        async def post(xdr: str) -> tuple[int, dict[str, str]]:
            async with client.post(stage.sandbox.url + "/transactions_async", data={"tx": xdr}) as answer:
                return answer.status, await answer.json()

        assert await post(envelope.to_xdr()) == (201, {"tx_status": "PENDING", "hash": envelope.hash_hex()})
        assert await post(envelope.to_xdr()) == (409, {"tx_status": "DUPLICATE", "hash": envelope.hash_hex()})
        assert await post(other.to_xdr()) == (503, {"tx_status": "TRY_AGAIN_LATER", "hash": other.hash_hex()})
        status, body = await post(wrong.to_xdr())
        assert (status, body["tx_status"]) == (400, "ERROR")
        result = x.TransactionResult.from_xdr(body["error_result_xdr"])
        assert result.result.code == x.TransactionResultCode.txBAD_SEQ
        stage.sandbox.close_ledger()
        assert (await post(envelope.to_xdr()))[1]["tx_status"] == "TRY_AGAIN_LATER"
