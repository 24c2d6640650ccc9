"""Operations by family, and how an XDR operation becomes one of them."""

from collections.abc import Callable
from dataclasses import dataclass

from stellar_sdk import xdr

from sandbox.assets import asset_from_xdr
from sandbox.entries import Claimant, Predicate, SignerKey
from sandbox.operations.accounts import AccountMerge, CreateAccount
from sandbox.operations.base import Context, Movement, Operation, OperationFailed, Threshold
from sandbox.operations.claimable import (
    ClaimClaimableBalance,
    ClawbackClaimableBalance,
    CreateClaimableBalance,
)
from sandbox.operations.payments import PathPaymentStrictReceive, PathPaymentStrictSend, Payment
from sandbox.operations.settings import BumpSequence, ManageData, SetOptions
from sandbox.operations.sponsoring import (
    BeginSponsoringFutureReserves,
    EndSponsoringFutureReserves,
    RevokeSponsorship,
    Sponsored,
)
from sandbox.operations.trust import AllowTrust, ChangeTrust, Clawback, SetTrustLineFlags
from sandbox.strkeys import Party

__all__ = [
    "Context",
    "Movement",
    "Operation",
    "OperationFailed",
    "Threshold",
    "Unsupported",
    "operation_from_xdr",
]


@dataclass(frozen=True, slots=True)
class Unsupported(Operation):
    """An operation that this network does not know: op_not_supported."""

    kind: int = -1


def muxed_party(account: xdr.MuxedAccount) -> Party:
    """The party that an XDR account names."""
    if account.med25519 is not None:
        return Party(account.med25519.ed25519.uint256, account.med25519.id.uint64)
    assert account.ed25519 is not None
    return Party(account.ed25519.uint256)


def account_bytes(account: xdr.AccountID) -> bytes:
    """32 raw bytes of an account id."""
    assert account.account_id.ed25519 is not None
    return account.account_id.ed25519.uint256


def signer_key(key: xdr.SignerKey) -> SignerKey:
    """The value of an XDR signer key."""
    if key.ed25519_signed_payload is not None:
        signed = key.ed25519_signed_payload
        return SignerKey(3, signed.ed25519.uint256, signed.payload)
    raw = key.ed25519 or key.pre_auth_tx or key.hash_x
    assert raw is not None
    return SignerKey(int(key.type), raw.uint256)


def _predicate(predicate: xdr.ClaimPredicate) -> Predicate:
    kind = int(predicate.type)
    parts = predicate.and_predicates or predicate.or_predicates or []
    if kind == 3:
        parts = [predicate.not_predicate] if predicate.not_predicate else []
    moment = predicate.abs_before or predicate.rel_before
    return Predicate(kind, tuple(_predicate(part) for part in parts), moment.int64 if moment else 0)


def _create_account(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.create_account_op
    assert op is not None
    return CreateAccount(source, account_bytes(op.destination), op.starting_balance.int64)


def _payment(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.payment_op
    assert op is not None
    return Payment(source, muxed_party(op.destination), asset_from_xdr(op.asset), op.amount.int64)


def _strict_receive(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.path_payment_strict_receive_op
    assert op is not None
    path = tuple(asset_from_xdr(each) for each in op.path)
    return PathPaymentStrictReceive(
        source,
        muxed_party(op.destination),
        asset_from_xdr(op.send_asset),
        op.send_max.int64,
        asset_from_xdr(op.dest_asset),
        op.dest_amount.int64,
        path,
    )


def _strict_send(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.path_payment_strict_send_op
    assert op is not None
    path = tuple(asset_from_xdr(each) for each in op.path)
    return PathPaymentStrictSend(
        source,
        muxed_party(op.destination),
        asset_from_xdr(op.send_asset),
        op.send_amount.int64,
        asset_from_xdr(op.dest_asset),
        op.dest_min.int64,
        path,
    )


def _set_options(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.set_options_op
    assert op is not None
    weights = (op.master_weight, op.low_threshold, op.med_threshold, op.high_threshold)
    master, low, medium, high = (None if value is None else value.uint32 for value in weights)
    return SetOptions(
        source,
        None if op.inflation_dest is None else account_bytes(op.inflation_dest),
        None if op.clear_flags is None else op.clear_flags.uint32,
        None if op.set_flags is None else op.set_flags.uint32,
        (master, low, medium, high),
        None if op.home_domain is None else op.home_domain.string32,
        None if op.signer is None else (signer_key(op.signer.key), op.signer.weight.uint32),
    )


def _change_trust(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.change_trust_op
    assert op is not None
    return ChangeTrust(source, asset_from_xdr(op.line), op.limit.int64)


def _allow_trust(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.allow_trust_op
    assert op is not None
    code4, code12 = op.asset.asset_code4, op.asset.asset_code12
    code = code4.asset_code4 if code4 is not None else code12.asset_code12 if code12 is not None else b""
    return AllowTrust(source, account_bytes(op.trustor), code, op.authorize.uint32)


def _account_merge(source: Party | None, body: xdr.OperationBody) -> Operation:
    assert body.destination is not None
    return AccountMerge(source, muxed_party(body.destination))


def _manage_data(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.manage_data_op
    assert op is not None
    return ManageData(
        source, op.data_name.string64, None if op.data_value is None else op.data_value.data_value
    )


def _bump_sequence(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.bump_sequence_op
    assert op is not None
    return BumpSequence(source, op.bump_to.sequence_number.int64)


def _create_claimable_balance(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.create_claimable_balance_op
    assert op is not None
    claimants = []
    for each in op.claimants:
        assert each.v0 is not None
        claimants.append(Claimant(account_bytes(each.v0.destination), _predicate(each.v0.predicate)))
    return CreateClaimableBalance(source, asset_from_xdr(op.asset), op.amount.int64, tuple(claimants))


def _balance_id(balance_id: xdr.ClaimableBalanceID) -> bytes:
    assert balance_id.v0 is not None
    return balance_id.v0.hash


def _claim_claimable_balance(source: Party | None, body: xdr.OperationBody) -> Operation:
    assert body.claim_claimable_balance_op is not None
    return ClaimClaimableBalance(source, _balance_id(body.claim_claimable_balance_op.balance_id))


def _begin_sponsoring(source: Party | None, body: xdr.OperationBody) -> Operation:
    assert body.begin_sponsoring_future_reserves_op is not None
    return BeginSponsoringFutureReserves(
        source, account_bytes(body.begin_sponsoring_future_reserves_op.sponsored_id)
    )


def _end_sponsoring(source: Party | None, body: xdr.OperationBody) -> Operation:
    return EndSponsoringFutureReserves(source)


def _revoke_sponsorship(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.revoke_sponsorship_op
    assert op is not None
    if op.signer is not None:
        subject = Sponsored(account_bytes(op.signer.account_id), signer=signer_key(op.signer.signer_key))
        return RevokeSponsorship(source, subject)
    key = op.ledger_key
    assert key is not None
    if key.account is not None:
        return RevokeSponsorship(source, Sponsored(account_bytes(key.account.account_id)))
    if key.trust_line is not None:
        asset = asset_from_xdr(key.trust_line.asset)
        return RevokeSponsorship(source, Sponsored(account_bytes(key.trust_line.account_id), line=asset))
    if key.data is not None:
        return RevokeSponsorship(
            source, Sponsored(account_bytes(key.data.account_id), data=key.data.data_name.string64)
        )
    if key.claimable_balance is not None:
        return RevokeSponsorship(source, Sponsored(balance_id=_balance_id(key.claimable_balance.balance_id)))
    raise NotImplementedError("sponsorship of offers")


def _clawback(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.clawback_op
    assert op is not None
    return Clawback(source, asset_from_xdr(op.asset), muxed_party(op.from_), op.amount.int64)


def _clawback_claimable_balance(source: Party | None, body: xdr.OperationBody) -> Operation:
    assert body.clawback_claimable_balance_op is not None
    return ClawbackClaimableBalance(source, _balance_id(body.clawback_claimable_balance_op.balance_id))


def _set_trust_line_flags(source: Party | None, body: xdr.OperationBody) -> Operation:
    op = body.set_trust_line_flags_op
    assert op is not None
    asset = asset_from_xdr(op.asset)
    return SetTrustLineFlags(
        source, account_bytes(op.trustor), asset, op.clear_flags.uint32, op.set_flags.uint32
    )


_READERS: dict[int, Callable[[Party | None, xdr.OperationBody], Operation]] = {
    0: _create_account,
    1: _payment,
    2: _strict_receive,
    5: _set_options,
    6: _change_trust,
    7: _allow_trust,
    8: _account_merge,
    10: _manage_data,
    11: _bump_sequence,
    13: _strict_send,
    14: _create_claimable_balance,
    15: _claim_claimable_balance,
    16: _begin_sponsoring,
    17: _end_sponsoring,
    18: _revoke_sponsorship,
    19: _clawback,
    20: _clawback_claimable_balance,
    21: _set_trust_line_flags,
}


def operation_from_xdr(operation: xdr.Operation) -> Operation:
    """One of the operations that the sandbox knows, or Unsupported."""
    source = None if operation.source_account is None else muxed_party(operation.source_account)
    kind = int(operation.body.type)
    reader = _READERS.get(kind)
    if reader is None:
        return Unsupported(source, kind)
    try:
        return reader(source, operation.body)
    except NotImplementedError:
        return Unsupported(source, kind)
