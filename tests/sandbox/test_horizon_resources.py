"""Horizon's resources and pages, read by stellar-sdk's call builders and decoded from XDR."""

import asyncio
import base64
from typing import Any

import aiohttp
import pytest
from stellar_sdk import (
    Asset,
    BumpSequence,
    ChangeTrust,
    CreateAccount,
    HashMemo,
    IdMemo,
    ManageData,
    MuxedAccount,
    Payment,
    ReturnHashMemo,
    SetOptions,
    Signer,
    TextMemo,
    TransactionEnvelope,
)
from stellar_sdk import xdr as x
from stellar_sdk.exceptions import BadRequestError, NotFoundError
from stellar_sdk.memo import Memo

from tests.sandbox.stage import XLM, Stage, key, problem


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("alice", "bob", "issuer")
    return stage


USD = Asset("USD", key("issuer").public_key)
DOLLAR = Asset("PAYDOLLAR", key("issuer").public_key)


async def get(stage: Stage, path: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    async with aiohttp.ClientSession() as client, client.get(stage.sandbox.url + path) as answer:
        return answer.status, await answer.json(content_type=None), dict(answer.headers)


async def test_an_account_tells_everything(ready: Stage) -> None:
    alice = key("alice")
    ready.must(
        alice,
        ChangeTrust(USD, "1000"),
        ChangeTrust(DOLLAR, "5"),
        ManageData("hello", b"\x00\x01"),
        SetOptions(
            home_domain="pay.example",
            low_threshold=1,
            med_threshold=2,
            signer=Signer.ed25519_public_key(key("s").public_key, 5),
        ),
    )
    account = await ready.server.accounts().account_id(alice.public_key).call()
    assert account["account_id"] == account["id"] == account["paging_token"] == alice.public_key
    assert account["sequence"] == str(ready.sequence(alice))
    assert account["sequence_ledger"] == 3
    assert account["sequence_time"] == str(ready.sandbox.network.latest.close_time)
    assert account["subentry_count"] == 4
    assert account["home_domain"] == "pay.example"
    assert account["thresholds"] == {"low_threshold": 1, "med_threshold": 2, "high_threshold": 0}
    assert account["data"] == {"hello": "AAE="}
    assert account["last_modified_ledger"] == 3
    assert [balance.get("asset_code") for balance in account["balances"]] == ["USD", "PAYDOLLAR", None]
    assert account["balances"][1]["asset_type"] == "credit_alphanum12"
    assert account["balances"][0] == {
        "balance": "0.0000000",
        "limit": "1000.0000000",
        "buying_liabilities": "0.0000000",
        "selling_liabilities": "0.0000000",
        "last_modified_ledger": 3,
        "is_authorized": True,
        "is_authorized_to_maintain_liabilities": True,
        "is_clawback_enabled": False,
        "asset_type": "credit_alphanum4",
        "asset_code": "USD",
        "asset_issuer": key("issuer").public_key,
    }
    assert account["balances"][-1]["asset_type"] == "native"
    assert account["balances"][-1]["balance"] == "999.9999600"
    assert {signer["key"]: signer["weight"] for signer in account["signers"]} == {
        alice.public_key: 1,
        key("s").public_key: 5,
    }
    loaded = await ready.server.load_account(alice.public_key)
    assert loaded.sequence == ready.sequence(alice)


async def test_an_account_says_as_of_which_ledger_and_history_does_not(ready: Stage) -> None:
    address = key("alice").public_key
    for path in (f"/accounts/{address}", f"/accounts?signer={address}", "/claimable_balances"):
        _, _, headers = await get(ready, path)
        assert headers["Latest-Ledger"] == "2", path
    for path in ("/", "/transactions", f"/accounts/{address}/payments", "/ledgers/1", "/fee_stats"):
        _, _, headers = await get(ready, path)
        assert "Latest-Ledger" not in headers, path


async def test_what_is_not_there_is_404_and_what_is_no_address_is_400(ready: Stage) -> None:
    with pytest.raises(NotFoundError) as missing:
        await ready.server.accounts().account_id(key("nobody").public_key).call()
    assert problem(missing.value) == "not_found"
    for path in ("/ledgers/999", f"/transactions/{'0' * 64}", "/operations/99", "/nothing/here"):
        status, body, headers = await get(ready, path)
        assert (status, body["type"]) == (404, "https://stellar.org/horizon-errors/not_found"), path
        assert headers["Content-Type"].startswith("application/problem+json")
    for path in (
        "/accounts/GABC",
        "/transactions/xyz",
        "/ledgers/one",
        "/payments?limit=201",
        "/payments?order=up",
    ):
        status, body, _ = await get(ready, path)
        assert (status, body["type"]) == (400, "https://stellar.org/horizon-errors/bad_request"), path


@pytest.mark.parametrize(
    ("memo", "fields"),
    [
        (None, {"memo_type": "none"}),
        (TextMemo("größe"), {"memo_type": "text", "memo": "größe", "memo_bytes": "Z3LDtsOfZQ=="}),
        (IdMemo(2**64 - 1), {"memo_type": "id", "memo": "18446744073709551615"}),
        (HashMemo(b"\x07" * 32), {"memo_type": "hash", "memo": base64.b64encode(b"\x07" * 32).decode()}),
        (
            ReturnHashMemo(b"\x08" * 32),
            {"memo_type": "return", "memo": base64.b64encode(b"\x08" * 32).decode()},
        ),
    ],
)
async def test_memos(ready: Stage, memo: Memo | None, fields: dict[str, str]) -> None:
    alice = key("alice")
    builder = ready.builder(alice).append_operation(BumpSequence(0))
    if memo is not None:
        builder.add_memo(memo)
    found = await ready.post(ready.sign(builder, alice))
    assert {name: value for name, value in found.items() if name.startswith("memo")} == fields


async def test_a_transaction_tells_everything(ready: Stage) -> None:
    alice = key("alice")
    builder = (
        ready.builder(alice, fee=500).append_operation(BumpSequence(0)).append_operation(BumpSequence(0))
    )
    builder.time_bounds = None
    builder.add_time_bounds(5, 1_900_000_000)
    builder.set_ledger_bounds(1, 99)
    builder.set_min_sequence_number(1)
    envelope = ready.sign(builder, alice)
    found = await ready.post(envelope)
    assert found["paging_token"] == str(3 << 32 | 1 << 12)
    assert (found["operation_count"], found["max_fee"], found["fee_charged"]) == (2, "1000", "200")
    assert found["fee_account"] == found["source_account"] == alice.public_key
    assert found["created_at"] == "2027-01-15T08:00:02Z"
    assert (found["valid_after"], found["valid_before"]) == ("1970-01-01T00:00:05Z", "2030-03-17T17:46:40Z")
    assert found["preconditions"] == {
        "timebounds": {"min_time": "5", "max_time": "1900000000"},
        "ledgerbounds": {"min_ledger": 1, "max_ledger": 99},
        "min_account_sequence": "1",
    }
    assert found["signatures"] == [base64.b64encode(envelope.signatures[0].signature).decode()]
    again = TransactionEnvelope.from_xdr(found["envelope_xdr"], ready.passphrase)
    assert again.hash_hex() == found["hash"]


async def test_xdr_in_answers_decodes(ready: Stage) -> None:
    answer = await ready.post(ready.build(key("alice"), Payment(key("bob").public_key, XLM, "1")))
    result = x.TransactionResult.from_xdr(answer["result_xdr"])
    assert result.fee_charged.int64 == 100
    assert result.result.code == x.TransactionResultCode.txSUCCESS
    changes = x.LedgerEntryChanges.from_xdr(answer["fee_meta_xdr"]).ledger_entry_changes
    before, after = changes[0].state, changes[1].updated
    assert before is not None
    assert after is not None
    assert before.data.account is not None
    assert after.data.account is not None
    assert before.data.account.balance.int64 - after.data.account.balance.int64 == 100
    assert after.to_xdr() == x.LedgerEntry.from_xdr(after.to_xdr()).to_xdr()
    ledger = await ready.server.ledgers().ledger(3).call()
    header = x.LedgerHeader.from_xdr(ledger["header_xdr"])
    assert header.ledger_seq.uint32 == 3
    assert header.scp_value.close_time.time_point.uint64 == ready.sandbox.network.latest.close_time
    assert header.previous_ledger_hash.hash.hex() == ledger["prev_hash"]


async def test_ledgers_chain_and_count(ready: Stage) -> None:
    alice = key("alice")
    ready.do(alice, Payment(key("nobody").public_key, XLM, "1"))
    ready.do(alice, BumpSequence(0), BumpSequence(0))
    page = await ready.server.ledgers().order(False).call()
    records = page["_embedded"]["records"]
    assert [record["sequence"] for record in records] == [1, 2, 3, 4]
    assert [record.get("prev_hash") for record in records[1:]] == [record["hash"] for record in records[:-1]]
    counts = [(each["successful_transaction_count"], each["failed_transaction_count"]) for each in records]
    assert counts == [(0, 0), (1, 0), (0, 1), (1, 0)]
    assert [(each["operation_count"], each["tx_set_operation_count"]) for each in records[2:]] == [
        (0, 1),
        (2, 2),
    ]
    assert records[3]["fee_pool"] == "0.0000600"
    assert records[0]["total_coins"] == "100000000000.0000000"


async def test_operations_of_every_kind_have_their_fields(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    muxed = MuxedAccount(bob.public_key, 42)
    ready.must(
        alice,
        CreateAccount(key("new").public_key, "5"),
        Payment(muxed, XLM, "1.5"),
        ChangeTrust(USD, "10"),
        BumpSequence(7),
    )
    page = await ready.server.operations().for_account(alice.public_key).order(True).limit(4).call()
    bump, trust, pay, create = page["_embedded"]["records"]
    assert (bump["type"], bump["type_i"], bump["bump_to"]) == ("bump_sequence", 11, "7")
    assert (trust["type"], trust["limit"], trust["trustor"]) == (
        "change_trust",
        "10.0000000",
        alice.public_key,
    )
    assert (pay["to"], pay["to_muxed"], pay["to_muxed_id"]) == (bob.public_key, muxed.account_muxed, "42")
    assert (pay["amount"], pay["asset_type"]) == ("1.5000000", "native")
    assert (create["type"], create["funder"], create["starting_balance"]) == (
        "create_account",
        alice.public_key,
        "5.0000000",
    )
    assert create["id"] == str(3 << 32 | 1 << 12 | 1)
    assert pay["transaction_successful"] is True
    assert await ready.server.operations().operation(pay["id"]).call() == pay


async def test_payments_leave_other_operations_out(ready: Stage) -> None:
    ready.must(key("alice"), BumpSequence(0), Payment(key("bob").public_key, XLM, "1"))
    for builder in (
        ready.server.payments().for_account(key("bob").public_key),
        ready.server.payments().for_ledger(3),
        ready.server.payments().order(True).limit(1),
    ):
        records = (await builder.call())["_embedded"]["records"]
        assert records[-1]["type"] == "payment"
        assert {record["type"] for record in records} <= {"payment", "create_account"}


async def test_failed_transactions_are_listed_only_when_asked_for(ready: Stage) -> None:
    alice = key("alice")
    ready.do(alice, Payment(key("nobody").public_key, XLM, "1"))
    listed = ready.server.transactions().for_account(alice.public_key)
    assert [each["ledger"] for each in (await listed.call())["_embedded"]["records"]] == [2]
    everything = (await listed.include_failed(True).call())["_embedded"]["records"]
    assert [each["successful"] for each in everything] == [True, False]
    operations = ready.server.operations().for_transaction(everything[1]["hash"])
    records = (await operations.call())["_embedded"]["records"]
    assert [record["transaction_successful"] for record in records] == [False]
    payments = ready.server.payments().for_account(alice.public_key)
    assert len((await payments.call())["_embedded"]["records"]) == 1
    assert len((await payments.include_failed(True).call())["_embedded"]["records"]) == 2


async def test_pages_follow_cursor_order_and_limit(ready: Stage) -> None:
    for number in range(7):
        ready.must(key("alice"), BumpSequence(number))
    everything: list[str] = []
    builder = ready.server.operations().for_account(key("alice").public_key).limit(3)
    page = await builder.call()
    while page["_embedded"]["records"]:
        everything += [record["id"] for record in page["_embedded"]["records"]]
        page = await builder.next()
    assert len(everything) == 8
    assert everything == sorted(everything, key=int)
    builder = ready.server.operations().for_account(key("alice").public_key).limit(3).order(True)
    page = await builder.call()
    assert [record["id"] for record in page["_embedded"]["records"]] == everything[:-4:-1]
    await builder.next()
    back = await builder.prev()
    assert [record["id"] for record in back["_embedded"]["records"]] == everything[-3:]
    now = await ready.server.operations().cursor("now").call()
    assert now["_embedded"]["records"] == []


async def test_the_root_and_the_fee_statistics_are_as_horizons(ready: Stage) -> None:
    root = await ready.server.root().call()
    assert root["network_passphrase"] == ready.passphrase
    assert root["history_latest_ledger"] == root["core_latest_ledger"] == 2
    assert root["history_latest_ledger_closed_at"] == "2027-01-15T08:00:01Z"
    assert root["history_elder_ledger"] == 1
    assert isinstance(root["current_protocol_version"], int)
    ready.must(key("alice"), BumpSequence(0))
    stats = await ready.server.fee_stats().call()
    assert stats["last_ledger"] == "3"
    assert stats["last_ledger_base_fee"] == "100"
    assert stats["ledger_capacity_usage"] == "0"
    for name in ("fee_charged", "max_fee"):
        assert set(stats[name]) >= {"min", "max", "mode", "p10", "p50", "p90", "p99"}
        assert all(isinstance(value, str) for value in stats[name].values())
    assert await ready.server.fetch_base_fee() == 100


async def test_friendbot_gives_ten_thousand_once(ready: Stage) -> None:
    address = key("newcomer").public_key
    status, body, _ = await get(ready, f"/friendbot?addr={address}")
    assert status == 200
    assert body["successful"] is True
    account = await ready.server.accounts().account_id(address).call()
    assert account["balances"][0]["balance"] == "10000.0000000"
    assert (await get(ready, f"/friendbot?addr={address}"))[0] == 400
    assert (await get(ready, "/friendbot?addr=nonsense"))[0] == 400


async def test_accounts_are_found_by_signer_asset_and_sponsor(ready: Stage) -> None:
    alice = key("alice")
    ready.must(
        alice, ChangeTrust(USD, "1"), SetOptions(signer=Signer.ed25519_public_key(key("bob").public_key, 1))
    )
    by_signer = await ready.server.accounts().for_signer(key("bob").public_key).call()
    assert {each["id"] for each in by_signer["_embedded"]["records"]} == {
        alice.public_key,
        key("bob").public_key,
    }
    by_asset = await ready.server.accounts().for_asset(USD).call()
    assert [each["id"] for each in by_asset["_embedded"]["records"]] == [alice.public_key]
    with pytest.raises(BadRequestError):
        await ready.server.accounts().call()


async def test_the_root_account_is_made_from_the_passphrase(ready: Stage) -> None:
    root = ready.sandbox.root
    account = await ready.server.accounts().account_id(root.public_key).call()
    assert float(account["balances"][0]["balance"]) == 100_000_000_000 - 3000 - 0.00003


async def test_payments_stream_as_their_ledgers_close(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    received: list[dict[str, Any]] = []

    async def listen() -> None:
        async for payment in ready.server.payments().for_account(bob.public_key).cursor("now").stream():
            received.append(payment)
            if len(received) == 3:
                return

    listening = asyncio.create_task(listen())
    async with asyncio.timeout(10):
        while not received:
            ready.must(alice, Payment(bob.public_key, XLM, "1"))
            await asyncio.sleep(0.05)
        while not listening.done():
            ready.must(alice, Payment(bob.public_key, XLM, "2"))
            await asyncio.sleep(0.02)
    assert [payment["type"] for payment in received] == ["payment"] * 3
    tokens = [int(payment["paging_token"]) for payment in received]
    assert tokens == sorted(set(tokens))
