"""Weights and thresholds, and signers that are no keys."""

import hashlib

import pytest
from stellar_sdk import (
    BumpSequence,
    DecoratedSignature,
    ManageData,
    Payment,
    SetOptions,
    Signer,
    SignerKey,
)
from stellar_sdk.strkey import StrKey

from tests.sandbox.stage import XLM, Stage, key


@pytest.fixture
def ready(stage: Stage) -> Stage:
    stage.fund("alice", "bob")
    return stage


def require(stage: Stage, *, master: int, low: int, medium: int, high: int, **weights: int) -> None:
    signers = [SetOptions(signer=Signer.ed25519_public_key(key(n).public_key, w)) for n, w in weights.items()]
    limits = SetOptions(master_weight=master, low_threshold=low, med_threshold=medium, high_threshold=high)
    stage.must(key("alice"), *signers, limits)


async def test_each_operation_needs_its_own_threshold(ready: Stage) -> None:
    alice = key("alice")
    require(ready, master=1, low=1, medium=2, high=3, second=1, third=1)
    pay, bump = Payment(key("bob").public_key, XLM, "1"), BumpSequence(0)
    refused = ["tx_failed", "op_bad_auth"]
    assert ready.refusal(ready.build(alice, pay)) == refused
    ready.must(alice, bump)
    ready.must(alice, pay, signers=[alice, key("second")])
    options = SetOptions(low_threshold=1)
    assert ready.refusal(ready.build(alice, options, signers=[alice, key("second")])) == refused
    ready.must(alice, options, signers=[alice, key("second"), key("third")])


async def test_a_signature_too_many_is_refused(ready: Stage) -> None:
    alice = key("alice")
    require(ready, master=1, low=1, medium=2, high=3, second=1, third=1)
    pay = Payment(key("bob").public_key, XLM, "1")
    three = [alice, key("second"), key("third")]
    assert ready.refusal(ready.build(alice, pay, signers=three)) == ["tx_bad_auth_extra"]


async def test_a_master_key_without_weight_signs_nothing(ready: Stage) -> None:
    alice = key("alice")
    require(ready, master=0, low=1, medium=1, high=1, second=1)
    pay = Payment(key("bob").public_key, XLM, "1")
    assert ready.refusal(ready.build(alice, pay)) == ["tx_bad_auth"]
    ready.must(alice, pay, signers=[key("second")])


async def test_a_signature_of_another_network_is_bad_auth(ready: Stage) -> None:
    alice = key("alice")
    builder = ready.builder(alice).append_operation(BumpSequence(0))
    builder.network_passphrase = "Public Global Stellar Network ; September 2015"
    assert ready.refusal(ready.sign(builder, alice)) == ["tx_bad_auth"]


async def test_a_preimage_signs_for_its_hash(ready: Stage) -> None:
    alice, secret = key("alice"), b"open sesame"
    digest = hashlib.sha256(secret).digest()
    ready.must(alice, SetOptions(signer=Signer.sha256_hash(digest, 1)))
    envelope = ready.build(alice, BumpSequence(0), signers=[])
    envelope.sign_hashx(secret)
    assert ready.outcome(envelope) == ["tx_success", "op_success"]


async def test_a_preauthorized_transaction_needs_no_signature_and_works_once(ready: Stage) -> None:
    alice = key("alice")
    planned = ready.build(alice, BumpSequence(0), sequence=ready.sequence(alice) + 2, signers=[])
    ready.must(alice, SetOptions(signer=Signer.pre_auth_tx(planned.hash(), 1)))
    assert (await ready.server.load_account(alice.public_key)).sequence == planned.transaction.sequence - 1
    assert ready.outcome(planned) == ["tx_success", "op_success"]
    account = await ready.server.accounts().account_id(alice.public_key).call()
    assert account["subentry_count"] == 0
    assert [signer["type"] for signer in account["signers"]] == ["ed25519_public_key"]


async def test_a_signed_payload_counts_as_a_signature(ready: Stage) -> None:
    alice, helper, payload = key("alice"), key("payload signer"), b"\x01\x02\x03\x04\x05"
    signer_key = SignerKey.ed25519_signed_payload(_payload(helper.public_key, payload))
    ready.must(alice, SetOptions(signer=Signer(signer_key, 1)))
    envelope = ready.build(alice, BumpSequence(0), signers=[])
    tail = payload[-4:]
    hint = bytes(a ^ b for a, b in zip(helper.signature_hint(), tail, strict=True))
    envelope.signatures.append(DecoratedSignature(hint, helper.sign(payload)))
    assert ready.outcome(envelope) == ["tx_success", "op_success"]


def _payload(address: str, payload: bytes) -> bytes:
    raw = StrKey.decode_ed25519_public_key(address)
    return raw + len(payload).to_bytes(4, "big") + payload + b"\0" * (-len(payload) % 4)


async def test_a_weight_lost_before_apply_is_bad_auth_and_uses_the_sequence(ready: Stage) -> None:
    """Both are valid when sent; the foreign one is applied first and takes the master key's weight."""
    alice, bob = key("alice"), key("bob")
    ready.must(alice, SetOptions(signer=Signer.ed25519_public_key(key("second").public_key, 1)))
    sequence = ready.sequence(alice)
    doomed = ready.build(alice, ManageData("a", "1"))
    thief = ready.build(
        bob, SetOptions(master_weight=0, source=alice.public_key), signers=[bob, key("second")]
    )
    assert ready.refusal(doomed) == []
    ready.sandbox.network.inject(ready.read(thief))
    ready.sandbox.close_ledger()
    assert ready.record(doomed).result.name == "tx_bad_auth"
    assert ready.sequence(alice) == sequence + 1
