"""The transaction of a batch: compared with what stellar-sdk builds from the same parts."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import (
    Account,
    Asset,
    FeeBumpTransactionEnvelope,
    HashMemo,
    IdMemo,
    Keypair,
    MuxedAccount,
    Network,
    NoneMemo,
    Payment,
    ReturnHashMemo,
    TextMemo,
    TransactionBuilder,
    TransactionEnvelope,
)

from notifier.batch import Batch, Envelope, Line, Memo, MemoType
from notifier.envelope import EnvelopeBuilder, UnbuildableBatch
from notifier.signers import KeyMissing, LocalKeyring
from notifier.signers.derivation import AccountKeys

PASSPHRASE = "A network for tests"
SEED = "ab" * 32
FUNDING = Keypair.from_raw_ed25519_seed(hashlib.sha256(b"funding").digest())
CHANNEL = Keypair.from_raw_ed25519_seed(AccountKeys(bytes.fromhex(SEED)).raw_seed(3))
ISSUER = Keypair.from_raw_ed25519_seed(hashlib.sha256(b"issuer").digest()).public_key
PAYEES = [Keypair.from_raw_ed25519_seed(hashlib.sha256(b"%d" % i).digest()).public_key for i in range(100)]
CLOSED = datetime(2026, 12, 1, 12, 0, 0, tzinfo=UTC)
NONE = Memo(MemoType.NONE, None)


def line(payment_id: int = 1, **changes: object) -> Line:
    return replace(Line(payment_id, PAYEES[payment_id % 100], None, None, Decimal("12.5"), False), **changes)  # type: ignore[arg-type]


def batch(*lines: Line, memo: Memo = NONE, slot: int = 77) -> Batch:
    return Batch(
        batch_id=1,
        claim_token=UUID(int=1),
        organization="acme",
        run_id=1,
        channel_address=CHANNEL.public_key,
        channel_key_index=3,
        slot=slot,
        funding_address=FUNDING.public_key,
        memo=memo,
        lines=lines or (line(),),
    )


@pytest.fixture
def builder() -> EnvelopeBuilder:
    return EnvelopeBuilder(
        PASSPHRASE, LocalKeyring(SEED, [FUNDING.secret]), envelope_seconds=60, base_fee=100
    )


def parsed(envelope: Envelope) -> FeeBumpTransactionEnvelope:
    return FeeBumpTransactionEnvelope.from_xdr(envelope.envelope_xdr, PASSPHRASE)


async def test_the_sequence_is_exactly_the_slot(builder: EnvelopeBuilder) -> None:
    for slot in (1, 77, (5 << 32) + 1, 2**63 - 1):
        envelope = await builder.build(batch(slot=slot), 100, 9, CLOSED)
        assert parsed(envelope).transaction.inner_transaction_envelope.transaction.sequence == slot


@pytest.mark.parametrize("slot", [0, -1, 2**63])
async def test_a_slot_that_is_no_sequence_number_is_refused(builder: EnvelopeBuilder, slot: int) -> None:
    with pytest.raises(UnbuildableBatch):
        await builder.build(batch(slot=slot), 100, 9, CLOSED)


async def test_the_whole_envelope_equals_the_sdk_s(builder: EnvelopeBuilder) -> None:
    lines = tuple(line(i, asset_code="EURC", asset_issuer=ISSUER) if i % 2 else line(i) for i in range(100))
    memo = Memo(MemoType.HASH, "cd" * 32)
    ours = await builder.build(batch(*lines, memo=memo), 300, 9, CLOSED)

    sdk = TransactionBuilder(Account(CHANNEL.public_key, 76), PASSPHRASE, base_fee=100)
    for one in lines:
        asset = Asset.native() if one.asset_code is None else Asset(one.asset_code, one.asset_issuer)
        sdk.append_payment_op(one.destination, asset, one.amount, source=FUNDING.public_key)
    inner = sdk.add_hash_memo("cd" * 32).add_time_bounds(0, int(CLOSED.timestamp()) + 60).build()
    inner.sign(CHANNEL)
    inner.sign(FUNDING)
    outer = TransactionBuilder.build_fee_bump_transaction(FUNDING.public_key, 300, inner, PASSPHRASE)
    outer.sign(FUNDING)
    assert ours.envelope_xdr == outer.to_xdr()
    assert ours.inner_hash == inner.hash()
    assert ours.outer_hash == outer.hash()
    assert ours.fee_bid == outer.transaction.fee == 300 * 101
    assert ours.valid_until == CLOSED + timedelta(seconds=60)
    assert ours.as_of_ledger == 9
    assert ours.hashes == (ours.outer_hash, ours.inner_hash)


amounts = st.integers(1, 2**63 - 1).map(lambda stroops: Decimal(stroops) / 10**7)
memos = st.one_of(
    st.just(NONE),
    st.text(min_size=1, max_size=28)
    .filter(lambda t: len(t.encode("utf-8", "ignore")) <= 28 and t.encode("utf-8", "ignore").decode() == t)
    .map(lambda t: Memo(MemoType.TEXT, t)),
    st.integers(0, 2**64 - 1).map(lambda n: Memo(MemoType.ID, str(n))),
    st.binary(min_size=32, max_size=32).map(lambda b: Memo(MemoType.HASH, b.hex())),
    st.binary(min_size=32, max_size=32).map(lambda b: Memo(MemoType.RETURN, b.hex())),
)


def sdk_memo(memo: Memo) -> NoneMemo | TextMemo | IdMemo | HashMemo | ReturnHashMemo:
    if memo.value is None:
        return NoneMemo()
    if memo.type is MemoType.ID:
        return IdMemo(int(memo.value))
    kinds: dict[MemoType, type[TextMemo | HashMemo | ReturnHashMemo]] = {
        MemoType.TEXT: TextMemo,
        MemoType.HASH: HashMemo,
        MemoType.RETURN: ReturnHashMemo,
    }
    return kinds[memo.type](memo.value)


@settings(max_examples=60, deadline=None)
@given(amounts=st.lists(amounts, min_size=1, max_size=5), memo=memos, fee=st.integers(100, 10_000))
async def test_what_was_asked_is_what_was_signed(amounts: list[Decimal], memo: Memo, fee: int) -> None:
    builder = EnvelopeBuilder(PASSPHRASE, LocalKeyring(SEED, [FUNDING.secret]), 60, 100)
    lines = [line(i, amount=amount) for i, amount in enumerate(amounts)]
    envelope = await builder.build(batch(*lines, memo=memo), fee, 9, CLOSED)
    outer = parsed(envelope)
    inner = outer.transaction.inner_transaction_envelope
    assert (outer.hash(), inner.hash()) == (envelope.outer_hash, envelope.inner_hash)
    FUNDING.verify(outer.hash(), outer.signatures[0].signature)
    CHANNEL.verify(inner.hash(), inner.signatures[0].signature)
    FUNDING.verify(inner.hash(), inner.signatures[1].signature)
    assert (len(outer.signatures), len(inner.signatures)) == (1, 2)
    for one, operation in zip(lines, inner.transaction.operations, strict=True):
        assert isinstance(operation, Payment)
        assert Decimal(operation.amount) == one.amount
        assert operation.destination == MuxedAccount.from_account(one.destination)
        assert operation.source == MuxedAccount(FUNDING.public_key)
    assert inner.transaction.memo == sdk_memo(memo)


async def test_muxed_destinations_keep_their_id(builder: EnvelopeBuilder) -> None:
    muxed = MuxedAccount(PAYEES[0], 2**64 - 1).account_muxed
    assert muxed is not None
    envelope = await builder.build(batch(line(destination=muxed)), 100, 9, CLOSED)
    operation = parsed(envelope).transaction.inner_transaction_envelope.transaction.operations[0]
    assert isinstance(operation, Payment)
    assert operation.destination.account_muxed == muxed


@pytest.mark.parametrize(
    "amount",
    ["0", "-1", "0.00000001", "1.123456789", "922337203685.4775808", "NaN", "Infinity"],
)
async def test_amounts_that_the_ledger_cannot_hold_are_refused(builder: EnvelopeBuilder, amount: str) -> None:
    with pytest.raises(UnbuildableBatch):
        await builder.build(batch(line(amount=Decimal(amount))), 100, 9, CLOSED)


async def test_the_smallest_and_the_largest_amount_are_exact(builder: EnvelopeBuilder) -> None:
    lines = (line(1, amount=Decimal("1E-7")), line(2, amount=Decimal("922337203685.4775807")))
    envelope = await builder.build(batch(*lines), 100, 9, CLOSED)
    operations = parsed(envelope).transaction.inner_transaction_envelope.transaction.operations
    amounts = [Decimal(o.amount) for o in operations if isinstance(o, Payment)]
    assert amounts == [Decimal("0.0000001"), Decimal("922337203685.4775807")]


@pytest.mark.parametrize(
    "changes",
    [
        {"destination": "GABC"},
        {"destination": PAYEES[0][:-1] + "A"},
        {"asset_code": "USDC"},
        {"asset_issuer": ISSUER},
        {"asset_code": "TOOLONGACODE1", "asset_issuer": ISSUER},
        {"asset_code": "USDC", "asset_issuer": "GABC"},
    ],
)
async def test_lines_that_make_no_payment_are_refused(
    builder: EnvelopeBuilder, changes: dict[str, object]
) -> None:
    with pytest.raises(UnbuildableBatch):
        await builder.build(batch(line(1, **changes)), 100, 9, CLOSED)


@pytest.mark.parametrize(
    "memo",
    [
        Memo(MemoType.TEXT, "é" * 15),
        Memo(MemoType.TEXT, None),
        Memo(MemoType.ID, "-1"),
        Memo(MemoType.ID, str(2**64)),
        Memo(MemoType.ID, "٣"),
        Memo(MemoType.HASH, "ab" * 31),
        Memo(MemoType.RETURN, "zz" * 32),
        Memo(MemoType.NONE, "something"),
    ],
)
async def test_memos_that_the_ledger_cannot_hold_are_refused(builder: EnvelopeBuilder, memo: Memo) -> None:
    with pytest.raises(UnbuildableBatch):
        await builder.build(batch(memo=memo), 100, 9, CLOSED)


async def test_no_line_and_101_lines_are_refused(builder: EnvelopeBuilder) -> None:
    for lines in ((), tuple(line(i) for i in range(101))):
        with pytest.raises(UnbuildableBatch):
            await builder.build(replace(batch(), lines=lines), 100, 9, CLOSED)


async def test_a_raised_bid_keeps_the_inner_transaction(builder: EnvelopeBuilder) -> None:
    first = await builder.build(batch(line(1), line(2)), 100, 9, CLOSED)
    second = await builder.raise_bid(batch(line(1), line(2)), first, 1000)
    assert second.inner_hash == first.inner_hash
    assert second.outer_hash != first.outer_hash
    assert second.fee_bid == 3000
    outer = parsed(second)
    assert outer.hash() == second.outer_hash
    assert outer.transaction.inner_transaction_envelope.to_xdr() == (
        parsed(first).transaction.inner_transaction_envelope.to_xdr()
    )
    FUNDING.verify(outer.hash(), outer.signatures[0].signature)


async def test_a_stored_envelope_without_a_fee_bump_can_be_wrapped(builder: EnvelopeBuilder) -> None:
    first = await builder.build(batch(), 100, 9, CLOSED)
    plain: TransactionEnvelope = parsed(first).transaction.inner_transaction_envelope
    stored = replace(first, outer_hash=None, envelope_xdr=plain.to_xdr())
    assert (await builder.raise_bid(batch(), stored, 100)).envelope_xdr == first.envelope_xdr


async def test_a_later_envelope_of_the_same_ledger_still_differs(builder: EnvelopeBuilder) -> None:
    first = await builder.build(batch(), 100, 9, CLOSED)
    second = await builder.build(batch(), 100, 9, CLOSED, later_than=first.valid_until)
    assert second.valid_until > first.valid_until
    assert second.inner_hash != first.inner_hash


async def test_a_missing_key_signs_nothing() -> None:
    stranger = EnvelopeBuilder(PASSPHRASE, LocalKeyring("cd" * 32, [FUNDING.secret]), 60, 100)
    with pytest.raises(KeyMissing):
        await stranger.build(batch(), 100, 9, CLOSED)
    other = EnvelopeBuilder(PASSPHRASE, LocalKeyring(SEED, [Keypair.random().secret]), 60, 100)
    with pytest.raises(KeyMissing):
        await other.build(batch(), 100, 9, CLOSED)


def test_the_passphrase_decides_the_hash() -> None:
    assert Network(PASSPHRASE).network_id() == hashlib.sha256(PASSPHRASE.encode()).digest()
