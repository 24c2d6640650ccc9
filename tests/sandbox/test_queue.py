"""The queue: one per account, duplicates, replacement, age, bans, capacity and surge prices."""

from collections.abc import AsyncIterator

import pytest
from stellar_sdk import Account, BumpSequence, Payment, TransactionBuilder
from stellar_sdk.server_async import ServerAsync

from sandbox.foreign import Sender
from sandbox.network import Network, Parameters
from sandbox.server import Sandbox
from tests.sandbox.stage import XLM, Envelope, Stage, key


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("alice", "bob", "payer")
    return stage


@pytest.fixture
async def small() -> AsyncIterator[Stage]:
    """A network of ten operations a ledger."""
    async with (
        Sandbox(max_operations=10, start_time=1_800_000_000) as sandbox,
        ServerAsync(sandbox.url) as server,
    ):
        yield Stage(sandbox, server)


def noop(stage: Stage, name: str, fee: int = 100, operations: int = 1) -> Envelope:
    return stage.build(key(name), *[BumpSequence(0)] * operations, fee=fee)


async def test_an_account_has_one_transaction_in_the_queue(ready: Stage) -> None:
    alice = key("alice")
    first = noop(ready, "alice")
    following = ready.build(alice, BumpSequence(0), sequence=ready.sequence(alice) + 2)
    assert ready.refusal(first) == []
    assert ready.refusal(first) == ["DUPLICATE"]
    assert ready.refusal(following) == ["TRY_AGAIN_LATER"]
    assert ready.refusal(noop(ready, "alice", fee=5000)) == ["TRY_AGAIN_LATER"]
    ready.sandbox.close_ledger()
    assert ready.refusal(following) == []


async def test_only_a_fee_bump_of_ten_times_the_rate_replaces(ready: Stage) -> None:
    payer = key("payer")
    ready.send(noop(ready, "alice", fee=150))
    other = ready.build(key("alice"), Payment(payer.public_key, XLM, "1"))
    answer = ready.send(ready.bump(other, payer, fee=1499))
    assert answer.result is not None
    assert (answer.result.name, answer.result.fee_charged) == ("tx_insufficient_fee", 3000)
    replacement = ready.bump(other, payer, fee=1500)
    assert ready.refusal(replacement) == []
    assert [each.hash for each in ready.sandbox.network.queue.waiting()] == [replacement.hash()]


async def test_a_bumped_inner_transaction_is_a_duplicate_by_itself(ready: Stage) -> None:
    inner = ready.build(key("alice"), BumpSequence(0))
    assert ready.refusal(ready.bump(inner, key("payer"))) == []
    assert ready.refusal(inner) == ["DUPLICATE"]


async def test_an_applied_hash_is_banned_for_ten_ledgers_then_a_bad_sequence(ready: Stage) -> None:
    envelope = noop(ready, "alice")
    ready.apply(envelope)
    for _ in range(10):
        assert ready.refusal(envelope) == ["TRY_AGAIN_LATER"]
        ready.sandbox.close_ledger()
    assert ready.refusal(envelope) == ["tx_bad_seq"]


async def test_what_is_outbid_for_four_ledgers_ages_out_and_is_banned(ready: Stage) -> None:
    envelope = noop(ready, "alice", fee=200)
    assert ready.refusal(envelope) == []
    ready.sandbox.disturb_network("surge", rate=1000)
    for _ in range(3):
        ready.sandbox.close_ledger()
        assert ready.refusal(envelope) == ["DUPLICATE"]
    ready.sandbox.close_ledger()
    ready.sandbox.clear_faults()
    assert ready.sandbox.network.find(envelope.hash()) is None
    assert ready.refusal(envelope) == ["TRY_AGAIN_LATER"]
    other = noop(ready, "alice", fee=300)
    assert ready.refusal(other) == []
    for _ in range(10):
        ready.sandbox.close_ledger()
    assert ready.refusal(envelope) == ["tx_bad_seq"]


async def test_what_expires_in_the_queue_is_never_applied(ready: Stage) -> None:
    alice = key("alice")
    builder = ready.builder(alice)
    builder.time_bounds = None
    builder.add_time_bounds(0, ready.sandbox.network.latest.close_time + 20)
    envelope = ready.sign(builder.append_operation(BumpSequence(0)), alice)
    assert ready.refusal(envelope) == []
    ready.sandbox.network.clock.advance(60)
    ready.sandbox.close_ledger()
    assert ready.sandbox.network.find(envelope.hash()) is None
    assert ready.sandbox.network.queue.waiting() == []
    assert ready.sequence(alice) == envelope.transaction.sequence - 1


async def test_fees_of_all_that_is_queued_must_be_covered_by_the_payer(ready: Stage) -> None:
    ready.fund("poor", amount="1.0000700")
    first = ready.bump(ready.build(key("alice"), BumpSequence(0)), key("poor"), fee=200)
    second = ready.bump(ready.build(key("bob"), BumpSequence(0)), key("poor"), fee=200)
    assert ready.refusal(first) == []
    assert ready.refusal(second) == ["tx_insufficient_balance"]


async def test_a_full_ledger_takes_the_highest_bids_and_charges_all_the_lowest_of_them(small: Stage) -> None:
    names = [f"n{number}" for number in range(4)]
    small.fund(*names)
    bids = dict(zip(names, (200, 500, 300, 400), strict=True))
    sent = {name: noop(small, name, fee=fee, operations=3) for name, fee in bids.items()}
    for envelope in sent.values():
        assert small.refusal(envelope) == []
    small.sandbox.close_ledger()
    charged = {
        name: record.result.fee_charged
        for name, envelope in sent.items()
        if (record := small.sandbox.network.find(envelope.hash())) is not None
    }
    assert charged == {"n1": 900, "n2": 900, "n3": 900}
    small.sandbox.close_ledger()
    assert small.record(sent["n0"]).result.fee_charged == 300


async def test_a_full_queue_takes_only_higher_bids_and_tells_the_fee(small: Stage) -> None:
    names = [f"n{number}" for number in range(6)]
    small.fund(*names)
    for name in names[:4]:
        assert small.refusal(noop(small, name, fee=200, operations=5)) == []
    answer = small.send(noop(small, "n4", fee=200, operations=5))
    assert answer.result is not None
    assert (answer.result.name, answer.result.fee_charged) == ("tx_insufficient_fee", 1001)
    assert small.refusal(noop(small, "n5", fee=201, operations=5)) == []
    assert len(small.sandbox.network.queue.waiting()) == 4


async def test_a_fee_bump_takes_one_more_operation_of_the_ledger(small: Stage) -> None:
    small.fund("n0", "payer")
    bumped = small.bump(small.build(key("n0"), *[BumpSequence(0)] * 10), key("payer"))
    assert small.refusal(bumped) == []
    small.sandbox.close_ledger()
    assert small.sandbox.network.find(bumped.hash()) is None


async def test_fee_bumps_of_five_and_four_operations_do_not_fit_into_a_ledger_of_ten(small: Stage) -> None:
    small.fund("n0", "n1", "payer")
    for name, count in (("n0", 5), ("n1", 4)):
        bumped = small.bump(small.build(key(name), *[BumpSequence(0)] * count), key("payer"))
        assert small.refusal(bumped) == []
    assert len(small.sandbox.network.close().transactions) == 1
    assert len(small.sandbox.network.close().transactions) == 1


async def test_surge_asks_for_a_higher_bid_and_names_it(ready: Stage) -> None:
    ready.sandbox.disturb_network("surge", rate=700)
    answer = ready.send(ready.bump(ready.build(key("alice"), BumpSequence(0)), key("payer"), fee=699))
    assert answer.result is not None
    assert (answer.result.name, answer.result.fee_charged) == ("tx_insufficient_fee", 1400)
    (record,) = ready.apply(ready.bump(ready.build(key("alice"), BumpSequence(0)), key("payer"), fee=900))
    assert record.result.fee_charged == 1400


async def test_fees_are_taken_before_anything_is_applied(ready: Stage) -> None:
    """Alice's fee is gone before Bob's transaction is applied, in whatever order they apply."""
    alice, bob = key("alice"), key("bob")
    spend = ready.balance(alice) - 2 * 5_000_000
    text = f"{spend // 10**7}.{spend % 10**7:07d}"
    own = ready.build(alice, BumpSequence(0))
    foreign = ready.build(
        bob, Payment(bob.public_key, XLM, text, source=alice.public_key), signers=[bob, alice]
    )
    ready.apply(own, foreign)
    assert ready.record(foreign).result.operation_results[0].code == "op_underfunded"


async def test_a_sequence_bumped_in_the_same_ledger_is_bad_seq_with_its_fee_gone(ready: Stage) -> None:
    alice = key("alice")
    envelope = ready.build(alice, Payment(key("bob").public_key, XLM, "1"))
    assert ready.refusal(envelope) == []
    goal = envelope.transaction.sequence + 5
    bump = ready.build(key("bob"), BumpSequence(goal, source=alice.public_key), signers=[key("bob"), alice])
    before = ready.balance(alice)
    ready.sandbox.network.inject(ready.read(bump))
    ready.sandbox.close_ledger()
    record = ready.record(envelope)
    assert record.result.name == "tx_bad_seq"
    assert not record.successful
    assert ready.balance(alice) == before - 100
    assert ready.sequence(alice) == goal
    assert record.movements == ()


def order_of_application(seed: int) -> list[bytes]:

    network = Network(Parameters("order", seed=seed))
    sandbox_keys = [key(f"k{number}") for number in range(12)]
    Sender(network).fund({each.public_key: 10**9 for each in sandbox_keys})
    network.close()
    for each in sandbox_keys:
        account = network.state.account(each.raw_public_key())
        assert account is not None
        builder = TransactionBuilder(Account(each.public_key, account.sequence), "order", 100)
        envelope = builder.add_time_bounds(0, 0).append_bump_sequence_op(0).build()
        envelope.sign(each)
        network.submit(network.read(envelope.to_xdr()))
    return [record.submission.source for record in network.close().transactions]


async def test_the_order_is_shuffled_and_follows_the_seed() -> None:
    assert order_of_application(1) == order_of_application(1)
    assert order_of_application(1) != order_of_application(2)
    assert sorted(order_of_application(1)) != order_of_application(1)
