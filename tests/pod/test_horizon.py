"""The Horizon adapter against scripted answers: whatever isn't as Horizon writes it is "unknown"."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from stellar_sdk import Keypair, xdr

from notifier.network.horizon import MAX_ANSWER_BYTES, HorizonNetwork
from notifier.network.protocol import (
    AccountReading,
    ChannelUses,
    InLedger,
    LedgerClose,
    MemoRequired,
    NetworkIdentity,
    NotAsked,
    NotFound,
    Queued,
    Rejected,
    TryAgainLater,
    Unknown,
)
from tests.pod.scripted_http import Reply, Request, ScriptedServer, scripted_server

OUTER, INNER = bytes.fromhex("ab" * 32), bytes.fromhex("cd" * 32)
CHANNEL = Keypair.from_raw_ed25519_seed(bytes(32)).public_key
OTHER = Keypair.from_raw_ed25519_seed(bytes(31) + b"1").public_key
ERRORS = "https://stellar.org/horizon-errors/"


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with scripted_server() as script:
        yield script


@pytest.fixture
async def horizon(server: ScriptedServer) -> AsyncIterator[HorizonNetwork]:
    async with HorizonNetwork(server.url, submit_seconds=0.3, ask_seconds=0.3) as network:
        yield network


def reply(body: object, status: int = 200, **headers: str) -> Reply:
    return Reply(status, json.dumps(body).encode(), {k.replace("_", "-"): v for k, v in headers.items()})


def problem(slug: str, status: int, extras: object = None) -> Reply:
    return reply({"type": ERRORS + slug, "status": status, "extras": extras}, status)


def result_xdr(outer: str, inner: str | None, *payments: str) -> str:
    """A TransactionResult: codes by their XDR names."""

    def operations(code: str) -> list[xdr.OperationResult] | None:
        if code not in ("txSUCCESS", "txFAILED"):
            return None
        results = []
        for payment in payments:
            if payment.startswith("op"):
                results.append(xdr.OperationResult(xdr.OperationResultCode[payment]))
                continue
            results.append(
                xdr.OperationResult(
                    xdr.OperationResultCode.opINNER,
                    xdr.OperationResultTr(
                        xdr.OperationType.PAYMENT,
                        payment_result=xdr.PaymentResult(xdr.PaymentResultCode[payment]),
                    ),
                )
            )
        return results

    pair = None
    if inner is not None:
        inner_result = xdr.InnerTransactionResult(
            xdr.Int64(100),
            xdr.InnerTransactionResultResult(xdr.TransactionResultCode[inner], operations(inner)),
            xdr.InnerTransactionResultExt(0),
        )
        pair = xdr.InnerTransactionResultPair(xdr.Hash(INNER), inner_result)
    return xdr.TransactionResult(
        xdr.Int64(200),
        xdr.TransactionResultResult(xdr.TransactionResultCode[outer], pair, operations(outer)),
        xdr.TransactionResultExt(0),
    ).to_xdr()


def transaction(**changes: Any) -> dict[str, Any]:
    return {
        "id": OUTER.hex(),
        "hash": OUTER.hex(),
        "successful": True,
        "ledger": 7,
        "created_at": "2026-12-01T10:00:00Z",
        "fee_charged": "200",
        "max_fee": "200",
        "source_account": CHANNEL,
        "source_account_sequence": "50",
        "paging_token": "1",
        "result_xdr": result_xdr("txFEE_BUMP_INNER_SUCCESS", "txSUCCESS", "PAYMENT_SUCCESS"),
        "fee_bump_transaction": {"hash": OUTER.hex(), "signatures": []},
        "inner_transaction": {"hash": INNER.hex(), "signatures": [], "max_fee": "100"},
        **changes,
    }


APPLIED = InLedger(OUTER, 7, datetime(2026, 12, 1, 10, tzinfo=UTC), True, "tx_success", None, 200)

NO_ANSWERS = [
    Reply(fate="reset"),
    Reply(fate="hang"),
    Reply(body=b'{"hash": "' + b"a" * 100, fate="cut"),
    Reply(body=b""),
    Reply(body=b"\xff\xfe\x00"),
    Reply(body=b"[]"),
    Reply(body=b"null"),
    Reply(body=b"{}"),
    Reply(body=b'{"a":' * 5000),
    Reply(502, b"<html><body>502 Bad Gateway</body></html>", {"Content-Type": "text/html"}),
    Reply(500, b"oops"),
    Reply(504, b""),
    Reply(302, b"", {"Location": "/elsewhere"}),
    Reply(403, b"blocked"),
    Reply(404, b"<html>not found</html>", {"Content-Type": "text/html"}),
    Reply(200, b"{}", {"Content-Encoding": "gzip"}),
    problem("transaction_submission_timeout", 504, {"hash": OUTER.hex()}),
    problem("internal_server_error", 500),
    problem("transaction_failed", 400, None),
    problem("transaction_failed", 400, {"result_codes": None}),
    problem("transaction_failed", 400, {"result_codes": {"transaction": 5}}),
    problem("transaction_failed", 400, {"result_codes": {"transaction": "tx_fee_bump_inner_failed"}}),
    problem("transaction_failed", 400, {"result_codes": {"transaction": "tx_failed", "operations": "op"}}),
    problem("bad_request", 400),
]


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=range(len(NO_ANSWERS)))
async def test_anything_unexpected_is_unknown_to_every_question(
    server: ScriptedServer, horizon: HorizonNetwork, answer: Reply
) -> None:
    server.answer = lambda _request: answer
    assert isinstance(await horizon.submit("AAAA", (OUTER, INNER)), Unknown)
    assert isinstance(await horizon.transaction(OUTER), Unknown)
    assert isinstance(await horizon.account(CHANNEL), Unknown)
    assert isinstance(await horizon.identity(), Unknown)
    assert isinstance(await horizon.channel_uses(CHANNEL, 50), Unknown)
    assert isinstance(await horizon.memo_required(CHANNEL), Unknown)


async def test_a_server_that_is_not_there_is_unknown() -> None:
    async with HorizonNetwork("http://127.0.0.1:9", submit_seconds=1) as horizon:
        assert isinstance(await horizon.submit("AAAA", (OUTER,)), Unknown)
        assert isinstance(await horizon.identity(), Unknown)


async def test_an_endless_answer_is_cut_off(server: ScriptedServer) -> None:
    server.answer = lambda _request: Reply(body=b" " * (MAX_ANSWER_BYTES + 10))
    async with HorizonNetwork(server.url, submit_seconds=20, ask_seconds=20) as horizon:
        assert await horizon.identity() == Unknown("answer too long")


async def test_nothing_is_ever_posted_twice_by_one_submission(
    server: ScriptedServer, horizon: HorizonNetwork
) -> None:
    for answer in NO_ANSWERS:
        server.requests.clear()
        server.answer = lambda _request, answer=answer: answer  # type: ignore[misc]
        await horizon.submit("AAAA", (OUTER,))
        assert len(server.requests) == 1


async def test_a_submission_is_form_encoded(server: ScriptedServer, horizon: HorizonNetwork) -> None:
    server.answer = lambda _request: reply(transaction())
    assert await horizon.submit("AA+/BB==", (OUTER, INNER)) == APPLIED
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/transactions")
    assert request.headers["content-type"].startswith("application/x-www-form-urlencoded")
    assert request.form == {"tx": ["AA+/BB=="]}


async def test_an_answer_about_another_transaction_is_unknown(
    server: ScriptedServer, horizon: HorizonNetwork
) -> None:
    server.answer = lambda _request: reply(transaction())
    assert isinstance(await horizon.submit("AAAA", (b"x" * 32,)), Unknown)
    assert isinstance(await horizon.transaction(b"x" * 32), Unknown)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ({"transaction": "tx_bad_seq"}, Rejected("tx_bad_seq")),
        (
            {"transaction": "tx_fee_bump_inner_failed", "inner_transaction": "tx_bad_seq", "operations": []},
            Rejected("tx_bad_seq"),
        ),
        (
            {
                "transaction": "tx_fee_bump_inner_failed",
                "inner_transaction": "tx_failed",
                "operations": ["op_success", "op_no_trust"],
            },
            Rejected("tx_failed", ("op_success", "op_no_trust")),
        ),
        ({"transaction": "tx_insufficient_balance", "operations": None}, Rejected("tx_insufficient_balance")),
    ],
)
async def test_a_rejection_carries_the_inner_code(
    server: ScriptedServer, horizon: HorizonNetwork, codes: object, expected: Rejected
) -> None:
    server.answer = lambda _request: problem("transaction_failed", 400, {"result_codes": codes})
    assert await horizon.submit("AAAA", (OUTER,)) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (reply({"tx_status": "PENDING", "hash": "ab"}, 201), Queued()),
        (reply({"tx_status": "DUPLICATE", "hash": "ab"}, 409), Queued()),
        (reply({"tx_status": "TRY_AGAIN_LATER", "hash": "ab"}, 503), TryAgainLater()),
        (problem("try_again_later", 503), TryAgainLater()),
        (problem("transaction_malformed", 400), Rejected("transaction_malformed")),
        (problem("stale_history", 503), NotAsked("HTTP 503 stale_history")),
        (
            reply({"type": ERRORS + "rate_limit_exceeded"}, 429, Retry_After="7"),
            NotAsked("HTTP 429 rate_limit_exceeded", 7.0),
        ),
        (
            Reply(429, b"slow down", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
            NotAsked("HTTP 429", 0.0),
        ),
        (Reply(503, b"", {"Retry-After": "1e9"}), Unknown("HTTP 503", 300.0)),
    ],
)
async def test_submission_answers_that_say_less_than_a_ledger(
    server: ScriptedServer, horizon: HorizonNetwork, answer: Reply, expected: object
) -> None:
    server.answer = lambda _request: answer
    assert await horizon.submit("AAAA", (OUTER,)) == expected


@pytest.mark.parametrize("asked", [OUTER, INNER])
async def test_a_transaction_is_found_under_both_hashes(
    server: ScriptedServer, horizon: HorizonNetwork, asked: bytes
) -> None:
    server.answer = lambda _request: reply(transaction(hash=asked.hex()))
    found = await horizon.transaction(asked)
    assert isinstance(found, InLedger)
    assert found.tx_hash == asked
    assert server.requests[0].path == f"/transactions/{asked.hex()}"


@pytest.mark.parametrize(
    ("result", "code", "operations"),
    [
        (
            ("txFEE_BUMP_INNER_FAILED", "txFAILED", "PAYMENT_SUCCESS", "PAYMENT_NO_TRUST", "opNO_ACCOUNT"),
            "tx_failed",
            ("op_success", "op_no_trust", "op_no_source_account"),
        ),
        (("txFEE_BUMP_INNER_FAILED", "txBAD_SEQ"), "tx_bad_seq", None),
        (("txINSUFFICIENT_BALANCE", None), "tx_insufficient_balance", None),
        (
            ("txFAILED", None, "PAYMENT_UNDERFUNDED", "opBAD_AUTH"),
            "tx_failed",
            ("op_underfunded", "op_bad_auth"),
        ),
        (("txNO_ACCOUNT", None), "tx_no_source_account", None),
        (("txBAD_MIN_SEQ_AGE_OR_GAP", None), "tx_bad_min_seq_age_or_gap", None),
    ],
)
async def test_failures_in_a_ledger_carry_the_codes_of_their_result(
    server: ScriptedServer,
    horizon: HorizonNetwork,
    result: tuple[str, str | None],
    code: str,
    operations: tuple[str, ...] | None,
) -> None:
    server.answer = lambda _request: reply(transaction(successful=False, result_xdr=result_xdr(*result)))
    found = await horizon.transaction(OUTER)
    assert isinstance(found, InLedger)
    assert (found.successful, found.result_code, found.operation_codes) == (False, code, operations)


@pytest.mark.parametrize(
    "changes",
    [
        {"successful": "yes"},
        {"successful": None},
        {"ledger": None},
        {"ledger": 1.5},
        {"ledger": True},
        {"created_at": "yesterday"},
        {"created_at": "2026-12-01T10:00:00"},
        {"fee_charged": "many"},
        {"hash": "zz", "fee_bump_transaction": None, "inner_transaction": None},
        {"successful": False, "result_xdr": "AAAA"},
        {"successful": False, "result_xdr": None},
        {"successful": False, "result_xdr": "!!"},
        {"successful": False},
    ],
)
async def test_a_transaction_with_a_wrong_field_is_unknown(
    server: ScriptedServer, horizon: HorizonNetwork, changes: dict[str, Any]
) -> None:
    server.answer = lambda _request: reply(transaction(**changes))
    assert isinstance(await horizon.transaction(OUTER), Unknown)


async def test_only_horizon_s_own_404_means_not_found(
    server: ScriptedServer, horizon: HorizonNetwork
) -> None:
    server.answer = lambda _request: problem("not_found", 404)
    assert await horizon.transaction(OUTER) == NotFound()
    assert await horizon.account(CHANNEL) == NotFound()
    assert await horizon.memo_required(CHANNEL) == MemoRequired(False)
    server.answer = lambda _request: Reply(404, b"<html>")
    assert isinstance(await horizon.transaction(OUTER), Unknown)


async def test_an_account_s_sequence_comes_with_its_ledger(
    server: ScriptedServer, horizon: HorizonNetwork
) -> None:
    server.answer = lambda _request: reply({"account_id": CHANNEL, "sequence": "50"}, Latest_Ledger="9")
    assert await horizon.account(CHANNEL) == AccountReading(50, 9)
    server.answer = lambda _request: reply({"account_id": CHANNEL, "sequence": "50"})
    assert isinstance(await horizon.account(CHANNEL), Unknown)
    server.answer = lambda _request: reply({"account_id": OTHER, "sequence": "50"}, Latest_Ledger="9")
    assert isinstance(await horizon.account(CHANNEL), Unknown)


async def test_the_root_names_the_network_and_its_latest_ledger(
    server: ScriptedServer, horizon: HorizonNetwork
) -> None:
    server.answer = lambda _request: reply(
        {
            "network_passphrase": "Net",
            "history_latest_ledger": 12,
            "history_latest_ledger_closed_at": "2026-12-01T10:00:00Z",
        }
    )
    assert await horizon.identity() == NetworkIdentity("Net", LedgerClose(12, APPLIED.closed_at))


@pytest.mark.parametrize(("value", "required"), [("MQ==", True), ("MA==", False), ("", False)])
async def test_sep_29_asks_for_the_data_entry(
    server: ScriptedServer, horizon: HorizonNetwork, value: str, required: bool
) -> None:
    server.answer = lambda _request: reply({"value": value})
    assert await horizon.memo_required(CHANNEL) == MemoRequired(required)
    assert server.requests[0].path == f"/accounts/{CHANNEL}/data/config.memo_required"


def page(*records: dict[str, Any]) -> Reply:
    return reply({"_embedded": {"records": list(records)}})


async def test_the_channel_s_history_is_read_back_until_it_is_past_the_slot(
    server: ScriptedServer, horizon: HorizonNetwork
) -> None:
    filler = [
        transaction(source_account_sequence=str(900 - i), paging_token=str(900 - i)) for i in range(200)
    ]
    pages = {
        None: page(*filler),
        "701": page(
            transaction(source_account=OTHER, source_account_sequence="50"),
            transaction(source_account_sequence="50"),
            transaction(source_account_sequence="49"),
        ),
    }

    def answer(request: Request) -> Reply:
        assert request.path == f"/accounts/{CHANNEL}/transactions"
        assert request.query["include_failed"] == ["true"]
        assert request.query["order"] == ["desc"]
        return pages[request.query.get("cursor", [None])[0]]

    server.answer = answer
    uses = await horizon.channel_uses(CHANNEL, 50)
    assert isinstance(uses, ChannelUses)
    assert uses.complete
    (use,) = uses.uses
    assert (use.tx_hash, use.inner_hash, use.sequence) == (OUTER, INNER, 50)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("newest", "complete"),
    [
        ({"source_account": OTHER}, True),  # another account's transaction moved the sequence
        ({"source_account_sequence": "51"}, True),
        ({"source_account_sequence": "49", "successful": True}, False),
        ({"source_account_sequence": "49", "successful": False}, False),
        ({"source_account": OTHER, "ledger": 0}, False),  # made the account, in ledger 50 >> 32
        (None, False),
    ],
)
async def test_a_history_that_ends_before_the_slot_was_used_is_a_node_that_is_behind(
    server: ScriptedServer, horizon: HorizonNetwork, newest: dict[str, Any] | None, complete: bool
) -> None:
    older = [transaction(source_account_sequence=str(n), successful=n != 48) for n in (48, 47)]
    found = [] if newest is None else [transaction(**newest)]
    server.answer = lambda _request: page(*found, *([] if newest is None else older))
    assert await horizon.channel_uses(CHANNEL, 50) == ChannelUses((), complete=complete)


async def test_a_history_that_never_ends_is_not_called_complete(
    server: ScriptedServer, horizon: HorizonNetwork
) -> None:
    server.answer = lambda _request: page(*[transaction(source_account=OTHER)] * 200)
    uses = await horizon.channel_uses(CHANNEL, 50)
    assert uses == ChannelUses((), complete=False)
    assert len(server.requests) == 5
