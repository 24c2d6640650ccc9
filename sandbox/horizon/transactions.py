"""Horizon's transaction and operation resources."""

import base64
from typing import Any

from sandbox.clock import rfc3339
from sandbox.history import OperationRecord, TransactionRecord
from sandbox.operations.base import muxed_fields
from sandbox.operations.settings import signer_address
from sandbox.strkeys import account_address
from sandbox.transaction import DecoratedSignature, Memo, Preconditions
from sandbox.validity import operation_kind


def _signatures(signatures: tuple[DecoratedSignature, ...]) -> list[str]:
    return [base64.b64encode(each.signature).decode() for each in signatures]


def memo_fields(memo: Memo) -> dict[str, Any]:
    """memo_type, and memo with memo_bytes where there is one."""
    fields: dict[str, Any] = {"memo_type": memo.kind}
    if isinstance(memo.value, int):
        fields["memo"] = str(memo.value)
    elif memo.value is not None:
        encoded = base64.b64encode(memo.value).decode()
        if memo.kind == "text":
            fields["memo"] = memo.value.decode("utf-8", "replace")
            fields["memo_bytes"] = encoded
        else:
            fields["memo"] = encoded
    return fields


def _preconditions(bounds: Preconditions) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if bounds.has_time_bounds:
        fields["timebounds"] = {"min_time": str(bounds.min_time)}
        if bounds.max_time:
            fields["timebounds"]["max_time"] = str(bounds.max_time)
    if bounds.has_ledger_bounds:
        fields["ledgerbounds"] = {"min_ledger": bounds.min_ledger, "max_ledger": bounds.max_ledger}
    if bounds.min_sequence is not None:
        fields["min_account_sequence"] = str(bounds.min_sequence)
    if bounds.min_sequence_age:
        fields["min_account_sequence_age"] = str(bounds.min_sequence_age)
    if bounds.min_sequence_ledger_gap:
        fields["min_account_sequence_ledger_gap"] = bounds.min_sequence_ledger_gap
    if bounds.extra_signers:
        fields["extra_signers"] = [signer_address(key) for key in bounds.extra_signers]
    return fields


def transaction_resource(base: str, record: TransactionRecord, asked: str | None = None) -> dict[str, Any]:
    """GET /transactions/{hash}. `asked` is the hash asked for: a fee bump answers to its inner one, too."""
    submission, inner, header = record.submission, record.submission.inner, record.header
    outer_hash, inner_hash = submission.hash.hex(), inner.hash.hex()
    shown = asked or outer_hash
    outer_signatures, inner_signatures = _signatures(submission.signatures), _signatures(inner.signatures)
    place = str(record.place)
    href = f"{base}/transactions/{shown}"
    bounds = inner.preconditions
    resource: dict[str, Any] = {
        "_links": {
            "self": {"href": href},
            "account": {"href": f"{base}/accounts/{inner.source.address}"},
            "ledger": {"href": f"{base}/ledgers/{header.sequence}"},
            "operations": {"href": href + "/operations{?cursor,limit,order}", "templated": True},
            "effects": {"href": href + "/effects{?cursor,limit,order}", "templated": True},
            "precedes": {"href": f"{base}/transactions?order=asc&cursor={place}"},
            "succeeds": {"href": f"{base}/transactions?order=desc&cursor={place}"},
            "transaction": {"href": href},
        },
        "id": shown,
        "paging_token": place,
        "successful": record.successful,
        "hash": shown,
        "ledger": header.sequence,
        "created_at": rfc3339(header.close_time),
        **muxed_fields("source_account", inner.source),
        "source_account_sequence": str(inner.sequence),
        **muxed_fields("fee_account", submission.fee_source),
        "fee_charged": str(record.result.fee_charged),
        "max_fee": str(submission.fee),
        "operation_count": len(inner.operations),
        "envelope_xdr": submission.envelope,
        "result_xdr": base64.b64encode(record.result.to_xdr()).decode(),
        "fee_meta_xdr": base64.b64encode(record.fee_meta).decode(),
        **memo_fields(inner.memo),
        "signatures": inner_signatures
        if submission.is_fee_bump and shown != outer_hash
        else outer_signatures,
    }
    if bounds.has_time_bounds:
        resource["valid_after"] = rfc3339(bounds.min_time)
        if bounds.max_time:
            resource["valid_before"] = rfc3339(bounds.max_time)
    conditions = _preconditions(bounds)
    if conditions:
        resource["preconditions"] = conditions
    if submission.is_fee_bump:
        resource["fee_bump_transaction"] = {"hash": outer_hash, "signatures": outer_signatures}
        resource["inner_transaction"] = {
            "hash": inner_hash,
            "signatures": inner_signatures,
            "max_fee": str(inner.fee),
        }
    return resource


def operation_resource(base: str, record: OperationRecord, joined: bool = False) -> dict[str, Any]:
    """GET /operations/{id}; with its transaction if `joined`."""
    transaction, operation = record.transaction, record.operation
    place = str(record.place)
    digest = transaction.submission.hash.hex()
    resource: dict[str, Any] = {
        "_links": {
            "self": {"href": f"{base}/operations/{place}"},
            "transaction": {"href": f"{base}/transactions/{digest}"},
            "effects": {"href": f"{base}/operations/{place}/effects"},
            "succeeds": {"href": f"{base}/effects?order=desc&cursor={place}"},
            "precedes": {"href": f"{base}/effects?order=asc&cursor={place}"},
        },
        "id": place,
        "paging_token": place,
        "transaction_successful": transaction.successful,
        **muxed_fields("source_account", record.source),
        "type": operation.NAME,
        "type_i": operation_kind(operation),
        "created_at": rfc3339(transaction.header.close_time),
        "transaction_hash": digest,
        **operation.details(record.source),
    }
    sponsor = _sponsor_of(record)
    if sponsor is not None:
        key = "begin_sponsor" if operation_kind(operation) == 17 else "sponsor"
        resource[key] = account_address(sponsor)
    if joined:
        resource["transaction"] = transaction_resource(base, transaction)
    return resource


def _sponsor_of(record: OperationRecord) -> bytes | None:
    """Who sponsored what this operation added: begun before it in the same transaction for its owner."""
    sponsorships: dict[bytes, bytes] = {}
    inner = record.transaction.submission.inner
    owner = record.source.account
    if operation_kind(record.operation) == 0:
        owner = record.operation.parties()[0]
    for operation in inner.operations[: record.index]:
        source = (operation.source or inner.source).account
        if operation_kind(operation) == 16:
            sponsorships[operation.parties()[0]] = source
        elif operation_kind(operation) == 17:
            sponsorships.pop(source, None)
    if operation_kind(record.operation) in (0, 5, 6, 10, 14, 17):
        return sponsorships.get(owner)
    return None
