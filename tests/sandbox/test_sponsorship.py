"""Sponsored reserves: who counts what, and accounts that hold no lumens at all."""

from typing import Any

import pytest
from stellar_sdk import (
    AccountMerge,
    Asset,
    BeginSponsoringFutureReserves,
    ChangeTrust,
    Claimant,
    CreateAccount,
    CreateClaimableBalance,
    EndSponsoringFutureReserves,
    ManageData,
    Payment,
    RevokeSponsorship,
    SetOptions,
    Signer,
)
from stellar_sdk.operation import Operation

from tests.sandbox.stage import XLM, Stage, key

SPONSOR, CHANNEL = key("sponsor"), key("channel")


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("sponsor", "alice")
    return stage


def sponsored(name: str, *operations: Operation) -> list[Operation]:
    owner = key(name).public_key
    return [
        BeginSponsoringFutureReserves(owner),
        *operations,
        EndSponsoringFutureReserves(source=owner),
    ]


def open_channel(stage: Stage) -> None:
    create = CreateAccount(CHANNEL.public_key, "0")
    stage.must(SPONSOR, *sponsored("channel", create), signers=[SPONSOR, CHANNEL])


async def account(stage: Stage, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await stage.server.accounts().account_id(key(name).public_key).call()
    return found


async def counts(stage: Stage, name: str) -> tuple[int, int, int]:
    found = await account(stage, name)
    return found["subentry_count"], found["num_sponsoring"], found["num_sponsored"]


async def test_a_sponsored_channel_holds_no_lumens_and_works_when_fee_bumped(ready: Stage) -> None:
    open_channel(ready)
    assert ready.balance(CHANNEL) == 0
    assert (await account(ready, "channel"))["sponsor"] == SPONSOR.public_key
    assert await counts(ready, "channel") == (0, 0, 2)
    assert await counts(ready, "sponsor") == (0, 2, 0)
    inner = ready.build(CHANNEL, Payment(key("alice").public_key, XLM, "3", source=SPONSOR.public_key))
    inner.sign(SPONSOR)
    before = ready.balance(key("alice"))
    assert ready.outcome(ready.bump(inner, SPONSOR))[1] == "tx_success"
    assert ready.balance(key("alice")) == before + 30_000_000
    assert ready.balance(CHANNEL) == 0


async def test_a_sponsor_keeps_the_reserves(ready: Stage) -> None:
    open_channel(ready)
    top = (ready.balance(SPONSOR) - 4 * 5_000_000 - 100) // 1
    too_much = f"{(top + 1) // 10**7}.{(top + 1) % 10**7:07d}"
    codes = ready.do(SPONSOR, Payment(key("alice").public_key, XLM, too_much))
    assert codes == ["tx_failed", "op_underfunded"]


async def test_a_sponsored_account_may_spend_its_last_stroop(ready: Stage) -> None:
    open_channel(ready)
    ready.must(SPONSOR, Payment(CHANNEL.public_key, XLM, "5"))
    inner = ready.build(CHANNEL, Payment(SPONSOR.public_key, XLM, "5"))
    assert ready.outcome(ready.bump(inner, SPONSOR))[1] == "tx_success"
    assert ready.balance(CHANNEL) == 0


async def test_a_poor_sponsor_is_low_reserve(ready: Stage) -> None:
    ready.fund("poor", amount="1.9")
    poor = key("poor")
    operations = sponsored("channel", CreateAccount(CHANNEL.public_key, "0"))
    codes = ready.do(poor, *operations, signers=[poor, CHANNEL])
    assert codes == ["tx_failed", "op_success", "op_low_reserve", "op_no_source_account"]


async def test_every_kind_of_subentry_can_be_sponsored(ready: Stage) -> None:
    alice = key("alice")
    usd = Asset("USD", SPONSOR.public_key)
    operations = sponsored(
        "alice",
        ManageData("a", "1", source=alice.public_key),
        ChangeTrust(usd, "5", source=alice.public_key),
        SetOptions(signer=Signer.ed25519_public_key(key("s").public_key, 1), source=alice.public_key),
        CreateClaimableBalance(XLM, "1", [Claimant(SPONSOR.public_key)], source=alice.public_key),
    )
    ready.must(SPONSOR, *operations, signers=[SPONSOR, alice])
    assert await counts(ready, "alice") == (3, 0, 3)
    assert await counts(ready, "sponsor") == (0, 4, 0)
    found = await account(ready, "alice")
    assert found["balances"][0]["sponsor"] == SPONSOR.public_key
    assert found["signers"][0]["sponsor"] == SPONSOR.public_key
    ready.must(
        alice,
        ManageData("a", None),
        ChangeTrust(usd, "0"),
        SetOptions(signer=Signer.ed25519_public_key(key("s").public_key, 0)),
    )
    assert await counts(ready, "alice") == (0, 0, 0)
    assert await counts(ready, "sponsor") == (0, 1, 0)


async def test_sponsoring_must_end_in_its_transaction(ready: Stage) -> None:
    begin = BeginSponsoringFutureReserves(key("alice").public_key)
    sequence = ready.sequence(SPONSOR)
    assert ready.do(SPONSOR, begin) == ["tx_bad_sponsorship"]
    assert ready.sequence(SPONSOR) == sequence + 1


async def test_sponsoring_fails(ready: Stage) -> None:
    alice = key("alice")
    begin = BeginSponsoringFutureReserves(alice.public_key)
    assert ready.do(SPONSOR, begin, begin)[1:] == ["op_success", "op_already_sponsored"]
    back = BeginSponsoringFutureReserves(SPONSOR.public_key, source=alice.public_key)
    assert ready.do(SPONSOR, begin, back, signers=[SPONSOR, alice])[1:] == ["op_success", "op_recursive"]
    assert ready.do(SPONSOR, EndSponsoringFutureReserves()) == ["tx_failed", "op_not_sponsored"]
    own = BeginSponsoringFutureReserves(SPONSOR.public_key)
    assert ready.refusal(ready.build(SPONSOR, own)) == ["tx_failed", "op_malformed"]


async def test_a_sponsor_can_not_be_merged(ready: Stage) -> None:
    open_channel(ready)
    assert ready.do(SPONSOR, AccountMerge(key("alice").public_key)) == ["tx_failed", "op_is_sponsor"]


async def test_merging_a_sponsored_account_frees_its_sponsor(ready: Stage) -> None:
    open_channel(ready)
    inner = ready.build(CHANNEL, AccountMerge(SPONSOR.public_key))
    assert ready.outcome(ready.bump(inner, SPONSOR))[1] == "tx_success"
    assert await counts(ready, "sponsor") == (0, 0, 0)


async def test_sponsorship_of_an_account_can_be_revoked_once_it_can_pay(ready: Stage) -> None:
    open_channel(ready)
    revoke = RevokeSponsorship.revoke_account_sponsorship(CHANNEL.public_key)
    assert ready.do(SPONSOR, revoke) == ["tx_failed", "op_low_reserve"]
    ready.must(SPONSOR, Payment(CHANNEL.public_key, XLM, "1"), revoke)
    assert await counts(ready, "channel") == (0, 0, 0)
    assert await counts(ready, "sponsor") == (0, 0, 0)
    assert ready.do(SPONSOR, revoke) == ["tx_failed", "op_not_sponsor"]


async def test_a_sponsorship_can_be_handed_over(ready: Stage) -> None:
    open_channel(ready)
    alice = key("alice")
    ready.must(
        SPONSOR,
        BeginSponsoringFutureReserves(SPONSOR.public_key, source=alice.public_key),
        RevokeSponsorship.revoke_account_sponsorship(CHANNEL.public_key),
        EndSponsoringFutureReserves(),
        signers=[SPONSOR, alice],
    )
    assert await counts(ready, "alice") == (0, 2, 0)
    assert await counts(ready, "sponsor") == (0, 0, 0)
    assert await counts(ready, "channel") == (0, 0, 2)
    missing = RevokeSponsorship.revoke_data_sponsorship(CHANNEL.public_key, "none")
    assert ready.do(SPONSOR, missing) == ["tx_failed", "op_does_not_exist"]
