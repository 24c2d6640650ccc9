"""What each operation does, and every code with which it can fail."""

import pytest
from stellar_sdk import (
    AccountMerge,
    AllowTrust,
    Asset,
    AuthorizationFlag,
    BumpSequence,
    ChangeTrust,
    Claimant,
    ClaimClaimableBalance,
    ClaimPredicate,
    Clawback,
    CreateAccount,
    CreateClaimableBalance,
    Inflation,
    Keypair,
    ManageData,
    ManageSellOffer,
    MuxedAccount,
    PathPaymentStrictReceive,
    PathPaymentStrictSend,
    Payment,
    SetOptions,
    SetTrustLineFlags,
    Signer,
    TrustLineFlags,
)
from stellar_sdk.operation import Operation
from stellar_sdk.operation.allow_trust import TrustLineEntryFlag
from stellar_sdk.operation.create_claimable_balance import ClaimPredicateType

from sandbox.assets import Credit
from tests.sandbox.stage import XLM, Stage, key

NOBODY = key("nobody").public_key


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("alice", "bob", "issuer", "carol")
    return stage


USD = Asset("USD", key("issuer").public_key)


def trust(stage: Stage, *names: str, limit: str = "1000") -> None:
    for name in names:
        stage.must(key(name), ChangeTrust(USD, limit))


def issue(stage: Stage, name: str, amount: str) -> None:
    stage.must(key("issuer"), Payment(key(name).public_key, USD, amount))


def held(stage: Stage, name: str) -> int:
    line = stage.sandbox.ledger.line(
        key(name).raw_public_key(), Credit(b"USD\0", key("issuer").raw_public_key())
    )
    assert line is not None
    return line.balance


def only(codes: list[str]) -> str:
    assert codes[0] == "tx_failed"
    assert len(codes) == 2
    return codes[1]


# create_account


async def test_a_new_account_starts_at_the_ledgers_sequence(ready: Stage) -> None:
    ready.must(key("alice"), CreateAccount(NOBODY, "1"))
    assert ready.sequence(key("nobody")) == ready.sandbox.network.latest.sequence << 32


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (CreateAccount(key("bob").public_key, "1"), "op_already_exists"),
        (CreateAccount(NOBODY, "0.9999999"), "op_low_reserve"),
        (CreateAccount(NOBODY, "0"), "op_low_reserve"),
        (CreateAccount(NOBODY, "999.0000000"), "op_underfunded"),
        (CreateAccount(NOBODY, "5000"), "op_underfunded"),
    ],
)
async def test_create_account_fails(ready: Stage, operation: Operation, code: str) -> None:
    assert only(ready.do(key("alice"), operation)) == code


async def test_create_account_for_oneself_is_malformed(ready: Stage) -> None:
    alice = key("alice")
    assert ready.refusal(ready.build(alice, CreateAccount(alice.public_key, "5"))) == [
        "tx_failed",
        "op_malformed",
    ]


# payment


async def test_a_payment_moves_lumens(ready: Stage) -> None:
    before = ready.balance(key("bob"))
    ready.must(key("alice"), Payment(key("bob").public_key, XLM, "12.5"))
    assert ready.balance(key("bob")) - before == 125_000_000
    assert ready.balance(key("alice")) == 10_000_000_000 - 125_000_000 - 100


async def test_the_issuer_mints_and_burns(ready: Stage) -> None:
    trust(ready, "alice", "bob")
    issue(ready, "alice", "100")
    ready.must(key("alice"), Payment(key("bob").public_key, USD, "40"))
    ready.must(key("bob"), Payment(key("issuer").public_key, USD, "15"))
    assert (held(ready, "alice"), held(ready, "bob")) == (600_000_000, 250_000_000)


async def test_payments_fail_with_the_reason(ready: Stage) -> None:
    alice, bob, carol = key("alice"), key("bob"), key("carol")

    def pay(to: Keypair, asset: Asset, amount: str) -> Payment:
        return Payment(to.public_key, asset, amount)

    assert only(ready.do(alice, pay(key("nobody"), XLM, "1"))) == "op_no_destination"
    assert only(ready.do(alice, pay(bob, XLM, "999.5"))) == "op_underfunded"
    assert only(ready.do(alice, pay(bob, USD, "1"))) == "op_no_trust"
    trust(ready, "bob", limit="10")
    assert only(ready.do(alice, pay(bob, USD, "1"))) == "op_src_no_trust"
    trust(ready, "alice")
    assert only(ready.do(alice, pay(bob, USD, "1"))) == "op_underfunded"
    issue(ready, "alice", "100")
    assert only(ready.do(alice, pay(bob, USD, "10.0000001"))) == "op_line_full"
    assert only(ready.do(alice, pay(carol, USD, "1"))) == "op_no_trust"
    ready.must(key("issuer"), SetOptions(set_flags=AuthorizationFlag.AUTHORIZATION_REQUIRED))
    trust(ready, "carol")
    assert only(ready.do(alice, pay(carol, USD, "1"))) == "op_not_authorized"
    assert only(ready.do(carol, pay(bob, USD, "1"))) == "op_src_not_authorized"


async def test_the_destinations_faults_come_before_the_sources(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    assert only(ready.do(alice, Payment(NOBODY, USD, "1"))) == "op_no_destination"
    assert only(ready.do(alice, Payment(bob.public_key, USD, "1"))) == "op_no_trust"
    trust(ready, "bob", limit="1")
    assert only(ready.do(alice, Payment(bob.public_key, USD, "5"))) == "op_line_full"


async def test_a_balance_that_is_full_is_line_full(ready: Stage) -> None:
    trust(ready, "alice", "bob", limit="922337203685.4775807")
    issue(ready, "bob", "922337203685.4775807")
    assert only(ready.do(key("issuer"), Payment(key("bob").public_key, USD, "0.0000001"))) == "op_line_full"


async def test_a_payment_of_lumens_to_oneself_always_succeeds(ready: Stage) -> None:
    alice = key("alice")
    ready.must(alice, Payment(alice.public_key, XLM, "999999999"))


async def test_an_asset_goes_back_to_an_issuer_that_is_gone(ready: Stage) -> None:
    trust(ready, "alice")
    issue(ready, "alice", "5")
    ready.must(key("issuer"), AccountMerge(key("bob").public_key))
    ready.must(key("alice"), Payment(key("issuer").public_key, USD, "5"))
    assert only(ready.do(key("alice"), ChangeTrust(USD, "7"))) == "op_no_issuer"


async def test_a_failed_transaction_names_every_operation_and_applies_none(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    before = ready.balance(bob)
    codes = ready.do(
        alice,
        Payment(bob.public_key, XLM, "1"),
        Payment(NOBODY, XLM, "1"),
        Payment(bob.public_key, XLM, "2"),
        Payment(bob.public_key, USD, "2"),
        Payment(bob.public_key, XLM, "998"),
    )
    assert codes == [
        "tx_failed",
        "op_success",
        "op_no_destination",
        "op_success",
        "op_no_trust",
        "op_underfunded",
    ]
    assert ready.balance(bob) == before


async def test_what_a_failed_operation_did_is_gone_for_the_next(ready: Stage) -> None:
    """The first payment credits Bob before it finds Alice underfunded; Bob has nothing of it to spend."""
    alice, bob = key("alice"), key("bob")
    lend = Payment(bob.public_key, XLM, "5000")
    spend = Payment(key("carol").public_key, XLM, "4000", source=bob.public_key)
    codes = ready.do(alice, lend, spend, signers=[alice, bob])
    assert codes == ["tx_failed", "op_underfunded", "op_underfunded"]


async def test_a_failed_transaction_costs_fee_and_sequence(ready: Stage) -> None:
    alice = key("alice")
    balance, sequence = ready.balance(alice), ready.sequence(alice)
    ready.do(alice, Payment(NOBODY, XLM, "1"))
    assert (ready.balance(alice), ready.sequence(alice)) == (balance - 100, sequence + 1)


@pytest.mark.parametrize("operation", [Payment(NOBODY, XLM, "0"), Payment(NOBODY, Asset("USD", NOBODY), "0")])
async def test_a_payment_of_nothing_is_malformed(ready: Stage, operation: Operation) -> None:
    assert ready.refusal(ready.build(key("alice"), operation)) == ["tx_failed", "op_malformed"]


async def test_a_muxed_destination_gets_the_money_of_its_account(ready: Stage) -> None:
    muxed = MuxedAccount(key("bob").public_key, 77)
    before = ready.balance(key("bob"))
    ready.must(key("alice"), Payment(muxed, XLM, "3"))
    assert ready.balance(key("bob")) == before + 30_000_000


# path payments


async def test_path_payments_work_for_one_asset_only(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob").public_key
    before = ready.balance(key("bob"))
    ready.must(alice, PathPaymentStrictReceive(bob, XLM, "5", XLM, "4", []))
    ready.must(alice, PathPaymentStrictSend(bob, XLM, "3", XLM, "3", []))
    assert ready.balance(key("bob")) - before == 70_000_000
    assert (
        only(ready.do(alice, PathPaymentStrictReceive(bob, XLM, "3", XLM, "4", []))) == "op_over_source_max"
    )
    assert only(ready.do(alice, PathPaymentStrictSend(bob, XLM, "3", XLM, "4", []))) == "op_under_dest_min"
    assert only(ready.do(alice, PathPaymentStrictReceive(bob, XLM, "3", USD, "4", []))) == "op_no_trust"
    trust(ready, "bob")
    assert only(ready.do(alice, PathPaymentStrictReceive(bob, XLM, "3", USD, "4", []))) == "op_too_few_offers"
    assert only(ready.do(alice, PathPaymentStrictSend(NOBODY, XLM, "3", USD, "4", []))) == "op_no_destination"


# change_trust and authorization


async def test_change_trust_fails(ready: Stage) -> None:
    alice = key("alice")
    assert only(ready.do(alice, ChangeTrust(Asset("USD", NOBODY), "1"))) == "op_no_issuer"
    assert only(ready.do(alice, ChangeTrust(USD, "0"))) == "op_invalid_limit"
    trust(ready, "alice")
    issue(ready, "alice", "10")
    assert only(ready.do(alice, ChangeTrust(USD, "9"))) == "op_invalid_limit"
    assert only(ready.do(alice, ChangeTrust(USD, "0"))) == "op_invalid_limit"
    ready.must(alice, Payment(key("issuer").public_key, USD, "10"))
    ready.must(alice, ChangeTrust(USD, "0"))
    issuer = key("issuer")
    assert ready.refusal(ready.build(issuer, ChangeTrust(USD, "1"))) == ["tx_failed", "op_malformed"]


async def test_each_trustline_needs_half_a_lumen(ready: Stage) -> None:
    ready.fund("poor", amount="1.5000099")
    assert only(ready.do(key("poor"), ChangeTrust(USD, "1"))) == "op_low_reserve"
    ready.must(key("alice"), Payment(key("poor").public_key, XLM, "0.0000200"))
    ready.must(key("poor"), ChangeTrust(USD, "1"))


@pytest.mark.filterwarnings("ignore:Use .*SetTrustLineFlags:DeprecationWarning")
async def test_an_issuer_grants_and_takes_authorization(ready: Stage) -> None:
    issuer, alice = key("issuer"), key("alice")
    grant = SetTrustLineFlags(alice.public_key, USD, set_flags=TrustLineFlags.AUTHORIZED_FLAG)
    revoke = SetTrustLineFlags(alice.public_key, USD, clear_flags=TrustLineFlags.AUTHORIZED_FLAG)
    ready.must(issuer, SetOptions(set_flags=AuthorizationFlag.AUTHORIZATION_REQUIRED))
    assert only(ready.do(issuer, grant)) == "op_no_trustline"
    trust(ready, "alice")
    assert only(ready.do(issuer, Payment(alice.public_key, USD, "1"))) == "op_not_authorized"
    ready.must(issuer, grant)
    issue(ready, "alice", "1")
    assert only(ready.do(issuer, revoke)) == "op_cant_revoke"
    ready.must(issuer, SetOptions(set_flags=AuthorizationFlag.AUTHORIZATION_REVOCABLE))
    ready.must(issuer, revoke)
    ready.must(issuer, AllowTrust(alice.public_key, "USD", TrustLineEntryFlag(2)))
    keep = SetTrustLineFlags(alice.public_key, USD, set_flags=TrustLineFlags.AUTHORIZED_FLAG)
    assert only(ready.do(issuer, keep)) == "op_invalid_state"
    assert only(ready.do(alice, Payment(issuer.public_key, USD, "1"))) == "op_src_not_authorized"
    not_issuer = ready.build(
        alice, SetTrustLineFlags(key("bob").public_key, USD, set_flags=TrustLineFlags(1))
    )
    assert ready.refusal(not_issuer) == ["tx_failed", "op_malformed"]


async def test_clawback_takes_from_holders_of_clawback_assets(ready: Stage) -> None:
    issuer, alice = key("issuer"), key("alice")
    trust(ready, "bob")
    issue(ready, "bob", "5")
    assert only(ready.do(issuer, Clawback(USD, key("bob").public_key, "1"))) == "op_not_clawback_enabled"
    assert only(ready.do(issuer, SetOptions(set_flags=AuthorizationFlag(8)))) == "op_auth_revocable_required"
    ready.must(issuer, SetOptions(set_flags=AuthorizationFlag(10)))
    trust(ready, "alice")
    issue(ready, "alice", "5")
    assert only(ready.do(issuer, Clawback(USD, key("carol").public_key, "1"))) == "op_no_trust"
    assert only(ready.do(issuer, Clawback(USD, alice.public_key, "6"))) == "op_underfunded"
    ready.must(issuer, Clawback(USD, alice.public_key, "2"))
    assert held(ready, "alice") == 30_000_000


# set_options, manage_data, bump_sequence


@pytest.mark.filterwarnings("ignore:.*recommend using AuthorizationFlag:DeprecationWarning")
async def test_set_options_fails(ready: Stage) -> None:
    alice = key("alice")
    assert only(ready.do(alice, SetOptions(inflation_dest=NOBODY))) == "op_invalid_inflation"
    ready.must(alice, SetOptions(set_flags=AuthorizationFlag.AUTHORIZATION_IMMUTABLE))
    cant = SetOptions(set_flags=AuthorizationFlag.AUTHORIZATION_REQUIRED)
    assert only(ready.do(alice, cant)) == "op_cant_change"
    assert only(ready.do(alice, AccountMerge(key("bob").public_key))) == "op_immutable_set"
    refused = {
        "op_unknown_flag": SetOptions(set_flags=16),
        "op_bad_flags": SetOptions(set_flags=1, clear_flags=1),
        "op_threshold_out_of_range": SetOptions(low_threshold=256),
        "op_bad_signer": SetOptions(signer=Signer.ed25519_public_key(alice.public_key, 1)),
        "op_invalid_home_domain": SetOptions(home_domain="pay\nroll"),
    }
    for code, operation in refused.items():
        assert ready.refusal(ready.build(alice, operation)) == ["tx_failed", code]
    twenty = [SetOptions(signer=Signer.ed25519_public_key(key(f"s{n}").public_key, 1)) for n in range(20)]
    ready.must(alice, *twenty)
    one_more = SetOptions(signer=Signer.ed25519_public_key(key("s20").public_key, 1))
    assert only(ready.do(alice, one_more)) == "op_too_many_signers"
    ready.fund("poor", amount="1.4")
    assert only(ready.do(key("poor"), one_more)) == "op_low_reserve"


async def test_data_entries_are_set_changed_and_removed(ready: Stage) -> None:
    alice = key("alice")
    assert only(ready.do(alice, ManageData("config", None))) == "op_data_name_not_found"
    ready.must(alice, ManageData("config.memo_required", "1"))
    account = await ready.server.accounts().account_id(alice.public_key).call()
    assert account["data"] == {"config.memo_required": "MQ=="}
    assert account["subentry_count"] == 1
    assert (await ready.server.data(alice.public_key, "config.memo_required").call()) == {"value": "MQ=="}
    ready.must(alice, ManageData("config.memo_required", "2"))
    ready.must(alice, ManageData("config.memo_required", None))
    assert ready.refusal(ready.build(alice, ManageData("naïve", "1"))) == [
        "tx_failed",
        "op_data_invalid_name",
    ]
    ready.fund("poor", amount="1.4")
    assert only(ready.do(key("poor"), ManageData("a", "1"))) == "op_low_reserve"


async def test_bump_sequence_never_lowers(ready: Stage) -> None:
    alice = key("alice")
    ready.must(alice, BumpSequence(0))
    last = ready.sequence(alice)
    ready.must(alice, BumpSequence(last + 100))
    assert ready.sequence(alice) == last + 100


# account_merge


async def test_account_merge_moves_everything(ready: Stage) -> None:
    before, rest = ready.balance(key("bob")), ready.balance(key("alice"))
    ready.must(key("alice"), AccountMerge(key("bob").public_key))
    assert ready.balance(key("bob")) == before + rest - 100
    assert ready.sandbox.ledger.account(key("alice").raw_public_key()) is None
    assert ready.refusal(ready.build(key("alice"), AccountMerge(key("bob").public_key), sequence=5)) == [
        "tx_no_source_account"
    ]


async def test_account_merge_fails(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    assert only(ready.do(alice, AccountMerge(NOBODY))) == "op_no_account"
    ready.must(alice, ManageData("a", "1"))
    assert only(ready.do(alice, AccountMerge(bob.public_key))) == "op_has_sub_entries"
    ready.must(alice, ManageData("a", None), BumpSequence((ready.sandbox.network.latest.sequence + 50) << 32))
    assert only(ready.do(alice, AccountMerge(bob.public_key))) == "op_seq_num_too_far"
    assert ready.refusal(ready.build(bob, AccountMerge(bob.public_key))) == ["tx_failed", "op_malformed"]


# claimable balances


def put_aside(amount: str, *claimants: Claimant, asset: Asset = XLM) -> CreateClaimableBalance:
    return CreateClaimableBalance(asset, amount, list(claimants))


async def balance_id(stage: Stage) -> str:
    page = await stage.server.claimable_balances().order(True).limit(1).call()
    return str(page["_embedded"]["records"][0]["id"])


async def test_a_claimable_balance_waits_for_its_claimant(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    ready.must(alice, put_aside("5", Claimant(bob.public_key), Claimant(NOBODY)))
    account = await ready.server.accounts().account_id(alice.public_key).call()
    assert (account["num_sponsoring"], account["subentry_count"]) == (2, 0)
    identity = await balance_id(ready)
    assert only(ready.do(key("carol"), ClaimClaimableBalance(identity))) == "op_cannot_claim"
    before = ready.balance(bob)
    ready.must(bob, ClaimClaimableBalance(identity))
    assert ready.balance(bob) == before + 50_000_000 - 100
    assert only(ready.do(bob, ClaimClaimableBalance(identity))) == "op_does_not_exist"
    account = await ready.server.accounts().account_id(alice.public_key).call()
    assert account["num_sponsoring"] == 0


async def test_a_claimable_balance_opens_and_shuts_with_time(ready: Stage) -> None:
    alice, bob, carol = key("alice"), key("bob"), key("carol")
    soon = ClaimPredicate.predicate_before_relative_time(60)
    later = ClaimPredicate.predicate_not(soon)
    assert soon.claim_predicate_type == ClaimPredicateType.CLAIM_PREDICATE_BEFORE_RELATIVE_TIME
    ready.must(alice, put_aside("5", Claimant(bob.public_key, soon), Claimant(carol.public_key, later)))
    identity = await balance_id(ready)
    assert only(ready.do(carol, ClaimClaimableBalance(identity))) == "op_cannot_claim"
    ready.sandbox.network.clock.advance(100)
    ready.sandbox.close_ledger()
    assert only(ready.do(bob, ClaimClaimableBalance(identity))) == "op_cannot_claim"
    ready.must(carol, ClaimClaimableBalance(identity))


async def test_the_absolute_end_of_a_claim_is_exclusive(ready: Stage) -> None:
    alice, bob, carol = key("alice"), key("bob"), key("carol")
    end = ready.sandbox.network.latest.close_time + 100
    until = ClaimPredicate.predicate_before_absolute_time(end)
    after = ClaimPredicate.predicate_not(until)
    ready.must(alice, put_aside("5", Claimant(bob.public_key, until), Claimant(carol.public_key, after)))
    identity = await balance_id(ready)
    claim = ready.build(bob, ClaimClaimableBalance(identity))
    ready.sandbox.network.clock.set(end)
    assert only(ready.outcome(claim)) == "op_cannot_claim"
    ready.must(carol, ClaimClaimableBalance(identity))


async def test_claimable_balances_fail(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    to_bob = Claimant(bob.public_key)
    assert only(ready.do(alice, put_aside("5", to_bob, asset=USD))) == "op_no_trust"
    trust(ready, "alice")
    assert only(ready.do(alice, put_aside("5", to_bob, asset=USD))) == "op_underfunded"
    issue(ready, "alice", "5")
    assert only(ready.do(alice, put_aside("1000", to_bob))) == "op_underfunded"
    assert only(ready.do(alice, put_aside("998.45", to_bob))) == "op_low_reserve"
    malformed = ["tx_failed", "op_malformed"]
    assert ready.refusal(ready.build(alice, put_aside("5", to_bob, to_bob))) == malformed
    assert ready.refusal(ready.build(alice, put_aside("0", to_bob))) == malformed
    ready.must(alice, put_aside("5", to_bob, asset=USD))
    identity = await balance_id(ready)
    assert only(ready.do(bob, ClaimClaimableBalance(identity))) == "op_no_trust"
    trust(ready, "bob", limit="4")
    assert only(ready.do(bob, ClaimClaimableBalance(identity))) == "op_line_full"
    trust(ready, "bob", limit="5")
    ready.must(bob, ClaimClaimableBalance(identity))
    assert held(ready, "bob") == 50_000_000


# the outer codes


async def test_operations_of_another_account_need_its_signature(ready: Stage) -> None:
    alice, bob = key("alice"), key("bob")
    pay = Payment(alice.public_key, XLM, "1", source=bob.public_key)
    assert ready.refusal(ready.build(alice, pay)) == ["tx_failed", "op_bad_auth"]
    ready.must(alice, pay, signers=[alice, bob])


async def test_an_unknown_source_of_an_operation_shows_at_apply(ready: Stage) -> None:
    alice, nobody = key("alice"), key("nobody")
    pay = Payment(alice.public_key, XLM, "1", source=nobody.public_key)
    assert only(ready.do(alice, pay, signers=[alice, nobody])) == "op_no_source_account"
    ready.must(alice, CreateAccount(nobody.public_key, "5"), pay, signers=[alice, nobody])


@pytest.mark.parametrize("operation", [Inflation(), ManageSellOffer(USD, XLM, "1", "1")])
async def test_what_the_network_does_not_know_is_not_supported(ready: Stage, operation: Operation) -> None:
    assert ready.refusal(ready.build(key("alice"), operation)) == ["tx_failed", "op_not_supported"]


async def test_a_thousand_subentries_are_the_limit(ready: Stage) -> None:
    hoarder: Keypair = key("hoarder")
    ready.fund("hoarder", amount="100000")
    for start in range(0, 1000, 100):
        ready.must(hoarder, *(ManageData(f"n{start + n}", "1") for n in range(100)))
    assert only(ready.do(hoarder, ManageData("one more", "1"))) == "op_too_many_subentries"
