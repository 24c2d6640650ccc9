"""Stellar RPC over the same ledger, read by stellar-sdk's RPC client."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from stellar_sdk import (
    Asset,
    BumpSequence,
    ChangeTrust,
    Claimant,
    CreateClaimableBalance,
    ManageData,
    Payment,
)
from stellar_sdk import xdr as x
from stellar_sdk.exceptions import SorobanRpcErrorResponse
from stellar_sdk.soroban_rpc import GetTransactionStatus, SendTransactionStatus
from stellar_sdk.soroban_server_async import SorobanServerAsync

from tests.sandbox.stage import XLM, Stage, key


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("alice", "bob", "payer")
    return stage


@pytest.fixture
async def rpc(ready: Stage) -> AsyncIterator[SorobanServerAsync]:
    async with SorobanServerAsync(ready.sandbox.rpc_url) as server:
        yield server


async def test_health_network_and_latest_ledger(ready: Stage, rpc: SorobanServerAsync) -> None:
    health = await rpc.get_health()
    assert (health.status, health.latest_ledger, health.oldest_ledger) == ("healthy", 2, 1)
    assert (await rpc.get_network()).passphrase == ready.passphrase
    latest = await rpc.get_latest_ledger()
    assert (latest.sequence, latest.close_time) == (2, ready.sandbox.network.latest.close_time)
    assert x.LedgerHeader.from_xdr(latest.header_xdr).ledger_seq.uint32 == 2
    assert await rpc.get_version_info()


async def test_a_sent_transaction_is_found_after_its_ledger(ready: Stage, rpc: SorobanServerAsync) -> None:
    envelope = ready.build(key("alice"), Payment(key("bob").public_key, XLM, "1"))
    assert (await rpc.send_transaction(envelope)).status == SendTransactionStatus.PENDING
    assert (await rpc.send_transaction(envelope)).status == SendTransactionStatus.DUPLICATE
    missing = await rpc.get_transaction(envelope.hash_hex())
    assert (missing.status, missing.latest_ledger) == (GetTransactionStatus.NOT_FOUND, 2)
    ready.sandbox.close_ledger()
    found = await rpc.get_transaction(envelope.hash_hex())
    assert (found.status, found.ledger, found.application_order) == (GetTransactionStatus.SUCCESS, 3, 1)
    assert found.envelope_xdr == envelope.to_xdr()
    assert found.result_xdr is not None
    assert found.result_meta_xdr is not None
    assert x.TransactionResult.from_xdr(found.result_xdr).fee_charged.int64 == 100
    assert x.TransactionMeta.from_xdr(found.result_meta_xdr).to_xdr() == found.result_meta_xdr
    assert (await rpc.send_transaction(envelope)).status == SendTransactionStatus.TRY_AGAIN_LATER


async def test_a_refusal_carries_its_result(ready: Stage, rpc: SorobanServerAsync) -> None:
    answer = await rpc.send_transaction(ready.build(key("alice"), BumpSequence(0), sequence=3))
    assert answer.status == SendTransactionStatus.ERROR
    assert answer.error_result_xdr is not None
    result = x.TransactionResult.from_xdr(answer.error_result_xdr)
    assert result.result.code == x.TransactionResultCode.txBAD_SEQ


async def test_a_fee_bump_is_found_by_both_hashes_and_a_failure_says_so(
    ready: Stage, rpc: SorobanServerAsync
) -> None:
    inner = ready.build(key("alice"), Payment(key("nobody").public_key, XLM, "1"))
    bump = ready.bump(inner, key("payer"))
    ready.apply(bump)
    for envelope in (inner, bump):
        found = await rpc.get_transaction(envelope.hash_hex())
        assert (found.status, found.fee_bump) == (GetTransactionStatus.FAILED, True)
        assert found.transaction_hash == envelope.hash_hex()


async def test_ledger_entries_decode_and_name_their_ledger(ready: Stage, rpc: SorobanServerAsync) -> None:
    alice = key("alice")
    usd = Asset("USD", key("bob").public_key)
    ready.must(
        alice,
        ChangeTrust(usd, "5"),
        ManageData("a", "1"),
        CreateClaimableBalance(XLM, "2", [Claimant(key("bob").public_key)]),
    )
    balance_id = next(iter(ready.sandbox.ledger.tables[3]))
    address = alice.xdr_account_id()
    keys = [
        x.LedgerKey(x.LedgerEntryType.ACCOUNT, account=x.LedgerKeyAccount(address)),
        x.LedgerKey(
            x.LedgerEntryType.TRUSTLINE,
            trust_line=x.LedgerKeyTrustLine(address, usd.to_trust_line_asset_xdr_object()),
        ),
        x.LedgerKey(x.LedgerEntryType.DATA, data=x.LedgerKeyData(address, x.String64(b"a"))),
        x.LedgerKey(
            x.LedgerEntryType.CLAIMABLE_BALANCE,
            claimable_balance=x.LedgerKeyClaimableBalance(
                x.ClaimableBalanceID(
                    x.ClaimableBalanceIDType.CLAIMABLE_BALANCE_ID_TYPE_V0, v0=x.Hash(balance_id)
                )
            ),
        ),
        x.LedgerKey(x.LedgerEntryType.ACCOUNT, account=x.LedgerKeyAccount(key("nobody").xdr_account_id())),
    ]
    answer = await rpc.get_ledger_entries(keys)
    assert answer.latest_ledger == 3
    assert answer.entries is not None
    assert [entry.key for entry in answer.entries] == [each.to_xdr() for each in keys[:4]]
    decoded = [x.LedgerEntryData.from_xdr(entry.xdr) for entry in answer.entries]
    assert [each.to_xdr() for each in decoded] == [entry.xdr for entry in answer.entries]
    assert decoded[0].account is not None
    assert decoded[0].account.seq_num.sequence_number.int64 == ready.sequence(alice)
    assert decoded[1].trust_line is not None
    assert decoded[1].trust_line.limit.int64 == 50_000_000
    assert decoded[2].data is not None
    assert decoded[2].data.data_value.data_value == b"1"
    assert decoded[3].claimable_balance is not None
    assert decoded[3].claimable_balance.amount.int64 == 20_000_000
    loaded = await rpc.load_account(alice.public_key)
    assert loaded.sequence == ready.sequence(alice)


async def test_transactions_and_ledgers_come_in_pages(ready: Stage, rpc: SorobanServerAsync) -> None:
    for _ in range(3):
        ready.must(key("alice"), BumpSequence(0))
    first = await rpc.get_transactions(start_ledger=3, limit=2)
    assert [each.ledger for each in first.transactions] == [3, 4]
    rest = await rpc.get_transactions(cursor=first.cursor)
    assert [each.ledger for each in rest.transactions] == [5]
    ledgers = await rpc.get_ledgers(start_ledger=1, limit=3)
    assert [each.sequence for each in ledgers.ledgers] == [1, 2, 3]
    for each in ledgers.ledgers:
        assert x.LedgerHeaderHistoryEntry.from_xdr(each.header_xdr).hash.hash.hex() == each.hash
        meta = x.LedgerCloseMeta.from_xdr(each.metadata_xdr)
        assert meta.to_xdr() == each.metadata_xdr
        assert meta.v1 is not None
    assert [each.sequence for each in (await rpc.get_ledgers(cursor=ledgers.cursor)).ledgers] == [4, 5]
    with pytest.raises(SorobanRpcErrorResponse, match="start ledger must be between"):
        await rpc.get_transactions(start_ledger=99)


async def test_fee_statistics(ready: Stage, rpc: SorobanServerAsync) -> None:
    stats = await rpc.get_fee_stats()
    assert stats.inclusion_fee.transaction_count == 1
    assert stats.latest_ledger == 2


async def test_errors_have_json_rpcs_codes(ready: Stage, rpc: SorobanServerAsync) -> None:
    cases = {
        "sendTransaction": ({"transaction": "AAAA"}, -32602),
        "getTransaction": ({"hash": "abc"}, -32602),
        "getLedgerEntries": ({"keys": ["AA"]}, -32602),
        "noSuchMethod": ({}, -32601),
    }
    async with aiohttp.ClientSession() as client:
        for method, (params, code) in cases.items():
            call = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
            async with client.post(ready.sandbox.rpc_url, json=call) as answer:
                body = await answer.json()
                assert (body["id"], body["error"]["code"]) == (7, code), method


async def test_retention_and_lag_hold_for_rpc_too(ready: Stage, rpc: SorobanServerAsync) -> None:
    envelope = ready.build(key("alice"), BumpSequence(0))
    ready.sandbox.disturb_network("lag", ledgers=1)
    ready.apply_unseen(envelope)
    assert (await rpc.get_transaction(envelope.hash_hex())).status == GetTransactionStatus.NOT_FOUND
    ready.sandbox.close_ledger()
    assert (await rpc.get_transaction(envelope.hash_hex())).status == GetTransactionStatus.SUCCESS
    ready.sandbox.disturb_network("retention", ledgers=1)
    ready.sandbox.close_ledger()
    gone = await rpc.get_transaction(envelope.hash_hex())
    assert (gone.status, gone.oldest_ledger) == (GetTransactionStatus.NOT_FOUND, 4)


async def test_faults_strike_single_methods(ready: Stage, rpc: SorobanServerAsync) -> None:
    envelope = ready.build(key("alice"), BumpSequence(0))
    faults = ready.sandbox.faults
    faults.add("try_again_later", path="/rpc/sendTransaction")
    assert (await rpc.send_transaction(envelope)).status == SendTransactionStatus.TRY_AGAIN_LATER
    faults.add("reject", path="/rpc/sendTransaction", code="tx_insufficient_fee")
    rejected = await rpc.send_transaction(envelope)
    assert rejected.error_result_xdr is not None
    code = x.TransactionResult.from_xdr(rejected.error_result_xdr).result.code
    assert code == x.TransactionResultCode.txINSUFFICIENT_FEE
    faults.add("swallowed", path="/rpc/sendTransaction")
    assert (await rpc.send_transaction(envelope)).status == SendTransactionStatus.PENDING
    assert ready.sandbox.network.queue.waiting() == []
    faults.add("server_error", path="/rpc/sendTransaction")
    with pytest.raises(SorobanRpcErrorResponse) as caught:
        await rpc.send_transaction(envelope)
    assert caught.value.code == -32603
    faults.add("lost_after_submit", path="/rpc/sendTransaction")
    with pytest.raises(Exception):  # noqa: B017 - whatever a client makes of a reset
        await rpc.send_transaction(envelope)
    assert len(ready.sandbox.network.queue.waiting()) == 1
    ready.sandbox.close_ledger()
    faults.add("not_found", path="/rpc/getTransaction")
    assert (await rpc.get_transaction(envelope.hash_hex())).status == GetTransactionStatus.NOT_FOUND
    assert (await rpc.get_transaction(envelope.hash_hex())).status == GetTransactionStatus.SUCCESS
