"""Every validity check, and for every two of them that the earlier one gives the answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import pytest
from stellar_sdk import (
    Account,
    FeeBumpTransaction,
    FeeBumpTransactionEnvelope,
    Keypair,
    LedgerBounds,
    Payment,
    SignerKey,
    TimeBounds,
    TransactionBuilder,
)
from stellar_sdk.operation import Operation

from tests.sandbox.stage import XLM, Envelope, Stage, key


@dataclass
class Draft:
    """A transaction that would be valid, to be spoiled. The poor account can pay no fee."""

    source: Keypair = field(default_factory=lambda: key("alice"))
    payer: Keypair = field(default_factory=lambda: key("payer"))
    operations: list[Operation] = field(default_factory=lambda: [Payment(key("bob").public_key, XLM, "1")])
    sequence_offset: int = 1
    fee: int = 100
    bump_fee: int = 200
    min_time: int = 0
    max_time: int = 0
    ledger_bounds: LedgerBounds | None = None
    min_gap: int = 0
    extra_signers: list[SignerKey] = field(default_factory=list)
    signed: bool = True
    strangers: list[Keypair] = field(default_factory=list)
    bump_signed: bool = True
    bump_strangers: list[Keypair] = field(default_factory=list)


def twice_the_same_extra_signer(draft: Draft) -> None:
    draft.extra_signers = [SignerKey.ed25519_public_key(key("x").public_key)] * 2


def no_operation(draft: Draft) -> None:
    draft.operations = []


def min_time_to_come(draft: Draft) -> None:
    draft.min_time = 2_000_000_000


def min_ledger_to_come(draft: Draft) -> None:
    draft.ledger_bounds = LedgerBounds(99, 0)


def max_time_gone(draft: Draft) -> None:
    draft.max_time = 1_700_000_000


def max_ledger_gone(draft: Draft) -> None:
    draft.ledger_bounds = LedgerBounds(0, 3)


def low_fee(draft: Draft) -> None:
    draft.fee = 99


def unknown_source(draft: Draft) -> None:
    draft.source = key("nobody")


def wrong_sequence(draft: Draft) -> None:
    draft.sequence_offset = 5


def large_gap(draft: Draft) -> None:
    draft.min_gap = 1000


def not_signed(draft: Draft) -> None:
    draft.signed = False


def poor_source(draft: Draft) -> None:
    if draft.source == key("alice"):
        draft.source = key("poor")


def malformed_operation(draft: Draft) -> None:
    if draft.operations:
        draft.operations = [Payment(key("bob").public_key, XLM, "0")]


def signed_by_a_stranger(draft: Draft) -> None:
    draft.strangers = [key("stranger")]


Spoiler = Callable[[Draft], None]
ORDER: list[tuple[Spoiler, list[str]]] = [
    (twice_the_same_extra_signer, ["tx_malformed"]),
    (no_operation, ["tx_missing_operation"]),
    (min_time_to_come, ["tx_too_early"]),
    (min_ledger_to_come, ["tx_too_early"]),
    (max_time_gone, ["tx_too_late"]),
    (max_ledger_gone, ["tx_too_late"]),
    (low_fee, ["tx_insufficient_fee"]),
    (unknown_source, ["tx_no_source_account"]),
    (wrong_sequence, ["tx_bad_seq"]),
    (large_gap, ["tx_bad_minseq_age_or_gap"]),
    (not_signed, ["tx_bad_auth"]),
    (poor_source, ["tx_insufficient_balance"]),
    (malformed_operation, ["tx_failed", "op_malformed"]),
    (signed_by_a_stranger, ["tx_bad_auth_extra"]),
]
_APART = {
    (no_operation, malformed_operation),
    (min_ledger_to_come, max_ledger_gone),
    (unknown_source, poor_source),
}


def low_bump_fee(draft: Draft) -> None:
    draft.bump_fee = 99


def unknown_payer(draft: Draft) -> None:
    draft.payer = key("nobody else")


def bump_not_signed(draft: Draft) -> None:
    draft.bump_signed = False


def poor_payer(draft: Draft) -> None:
    if draft.payer == key("payer"):
        draft.payer = key("poor")


def bump_signed_by_a_stranger(draft: Draft) -> None:
    draft.bump_strangers = [key("stranger")]


BUMP_ORDER: list[tuple[Spoiler, list[str]]] = [
    (low_bump_fee, ["tx_insufficient_fee"]),
    (unknown_payer, ["tx_no_source_account"]),
    (bump_not_signed, ["tx_bad_auth"]),
    (poor_payer, ["tx_insufficient_balance"]),
    (bump_signed_by_a_stranger, ["tx_bad_auth_extra"]),
    *(
        (spoil, ["tx_fee_bump_inner_failed", *codes])
        for spoil, codes in ORDER
        if spoil not in (low_fee, poor_source)
    ),
]


def build(stage: Stage, draft: Draft, bumped: bool) -> Envelope:
    known = stage.sandbox.ledger.account(draft.source.raw_public_key()) is not None
    last = stage.sequence(draft.source) if known else 0
    account = Account(draft.source.public_key, last + draft.sequence_offset - 1)
    builder = TransactionBuilder(account, stage.passphrase, draft.fee)
    builder.time_bounds = TimeBounds(0, 0)
    builder.ledger_bounds = draft.ledger_bounds
    builder.min_sequence_ledger_gap = draft.min_gap or None
    builder.extra_signers = draft.extra_signers
    for operation in draft.operations:
        builder.append_operation(operation)
    envelope = builder.build()
    envelope.transaction.fee = draft.fee
    assert envelope.transaction.preconditions is not None
    bounds = envelope.transaction.preconditions.time_bounds
    assert bounds is not None
    bounds.min_time, bounds.max_time = draft.min_time, draft.max_time
    for signer in ([draft.source] if draft.signed else []) + draft.strangers:
        envelope.sign(signer)
    if not bumped:
        return envelope
    bump = FeeBumpTransactionEnvelope(
        FeeBumpTransaction(draft.payer, draft.bump_fee, envelope), stage.passphrase
    )
    for signer in ([draft.payer] if draft.bump_signed else []) + draft.bump_strangers:
        bump.sign(signer)
    return bump


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("alice", "bob", "payer")
    stage.fund("poor", amount="1")
    return stage


@pytest.mark.parametrize("bumped", [False, True], ids=["plain", "bumped"])
async def test_an_unspoiled_transaction_is_taken(ready: Stage, bumped: bool) -> None:
    assert ready.refusal(build(ready, Draft(), bumped)) == []


@pytest.mark.parametrize(("order", "bumped"), [(ORDER, False), (BUMP_ORDER, True)], ids=["plain", "bumped"])
async def test_each_check_refuses_with_its_code(
    ready: Stage, order: list[tuple[Spoiler, list[str]]], bumped: bool
) -> None:
    for spoil, codes in order:
        draft = Draft()
        spoil(draft)
        assert ready.refusal(build(ready, draft, bumped)) == codes, spoil.__name__


@pytest.mark.parametrize(("order", "bumped"), [(ORDER, False), (BUMP_ORDER, True)], ids=["plain", "bumped"])
async def test_of_two_checks_the_earlier_one_refuses(
    ready: Stage, order: list[tuple[Spoiler, list[str]]], bumped: bool
) -> None:
    pairs = 0
    for (first, codes), (second, _) in combinations(order, 2):
        if (first, second) in _APART:
            continue
        draft = Draft()
        first(draft)
        second(draft)
        assert ready.refusal(build(ready, draft, bumped)) == codes, f"{first.__name__} + {second.__name__}"
        pairs += 1
    assert pairs > 75


async def test_a_refused_transaction_costs_nothing(ready: Stage) -> None:
    before = ready.balance(key("alice")), ready.sequence(key("alice"))
    for spoil, _ in ORDER:
        draft = Draft()
        spoil(draft)
        ready.send(build(ready, draft, False))
    ready.sandbox.close_ledger()
    assert (ready.balance(key("alice")), ready.sequence(key("alice"))) == before


async def test_core_stops_at_the_first_bad_operation(ready: Stage) -> None:
    good, bad = Payment(key("bob").public_key, XLM, "1"), Payment(key("bob").public_key, XLM, "0")
    draft = Draft(operations=[good, bad, good, bad], fee=400)
    assert ready.refusal(build(ready, draft, False)) == [
        "tx_failed",
        "op_success",
        "op_malformed",
        "op_success",
        "op_success",
    ]


async def test_max_time_counts_twice_the_close_time_on_top(ready: Stage) -> None:
    closed = ready.sandbox.network.latest.close_time
    assert ready.refusal(build(ready, Draft(max_time=closed + 9), False)) == ["tx_too_late"]
    assert ready.refusal(build(ready, Draft(max_time=closed + 10), False)) == []


async def test_min_time_may_be_the_last_close(ready: Stage) -> None:
    closed = ready.sandbox.network.latest.close_time
    assert ready.refusal(build(ready, Draft(min_time=closed + 1), False)) == ["tx_too_early"]
    assert ready.refusal(build(ready, Draft(min_time=closed), False)) == []


async def test_max_time_counts_the_drift_since_the_last_close(ready: Stage) -> None:
    closed = ready.sandbox.network.latest.close_time
    ready.sandbox.network.clock.set(closed + 7)
    assert ready.refusal(build(ready, Draft(max_time=closed + 16), False)) == ["tx_too_late"]
    assert ready.refusal(build(ready, Draft(max_time=closed + 17), False)) == []


async def test_the_maximum_ledger_is_exclusive(ready: Stage) -> None:
    following = ready.sandbox.network.latest.sequence + 1
    late = Draft(ledger_bounds=LedgerBounds(0, following))
    assert ready.refusal(build(ready, late, False)) == ["tx_too_late"]
    assert (
        ready.refusal(build(ready, Draft(ledger_bounds=LedgerBounds(following, following + 1)), False)) == []
    )


async def test_a_minimum_sequence_lets_a_transaction_jump(ready: Stage) -> None:
    alice = key("alice")
    last = ready.sequence(alice)

    def jump(to: int, minimum: int) -> Envelope:
        builder = ready.builder(alice, to)
        builder.min_sequence_number = minimum
        return ready.sign(builder.append_operation(Payment(key("bob").public_key, XLM, "1")), alice)

    assert ready.refusal(jump(last + 10, last + 1)) == ["tx_bad_seq"]
    assert ready.refusal(jump(last, last)) == ["tx_bad_seq"]
    assert ready.outcome(jump(last + 10, last)) == ["tx_success", "op_success"]
    assert ready.sequence(alice) == last + 10


async def test_a_minimum_sequence_age_counts_from_the_last_use(ready: Stage) -> None:
    alice = key("alice")
    ready.must(alice, Payment(key("bob").public_key, XLM, "1"))

    def aged() -> Envelope:
        builder = ready.builder(alice)
        builder.min_sequence_age = 60
        return ready.sign(builder.append_operation(Payment(key("bob").public_key, XLM, "1")), alice)

    assert ready.refusal(aged()) == ["tx_bad_minseq_age_or_gap"]
    ready.sandbox.network.clock.advance(100)
    ready.sandbox.close_ledger()
    assert ready.refusal(aged()) == []


async def test_extra_signers_must_sign(ready: Stage) -> None:
    draft = Draft(extra_signers=[SignerKey.ed25519_public_key(key("extra").public_key)])
    assert ready.refusal(build(ready, draft, False)) == ["tx_bad_auth"]
    draft.strangers = [key("extra")]
    assert ready.refusal(build(ready, draft, False)) == []


async def test_the_first_sequence_of_a_ledger_can_not_be_used(ready: Stage) -> None:
    alice = key("alice")
    builder = ready.builder(alice, (ready.sandbox.network.latest.sequence + 1) << 32)
    builder.min_sequence_number = 0
    envelope = ready.sign(builder.append_operation(Payment(key("bob").public_key, XLM, "1")), alice)
    assert ready.refusal(envelope) == ["tx_bad_seq"]
