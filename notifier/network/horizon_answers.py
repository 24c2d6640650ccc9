"""Horizon's JSON to the protocol's values.

Readers raise `Unreadable` for anything that isn't as Horizon writes it; the adapter turns that into
`Unknown`.
"""

import json
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from notifier.network.protocol import (
    AccountReading,
    ChannelUse,
    InLedger,
    LedgerClose,
    MemoRequired,
    NetworkIdentity,
    Rejected,
)
from notifier.network.results import read_codes
from notifier.result_codes import FEE_BUMP_WRAPPERS


class Unreadable(Exception):
    """The answer isn't what Horizon writes."""


def read_json(body: bytes) -> Mapping[str, Any]:
    """A JSON object. Raises Unreadable for anything else."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON: {type(error).__name__}") from None
    if not isinstance(value, dict):
        raise Unreadable(f"JSON {type(value).__name__} instead of an object")
    return value


def _field(record: Mapping[str, Any], name: str) -> Any:
    try:
        return record[name]
    except KeyError:
        raise Unreadable(f"no field {name}") from None


def integer(value: object) -> int:
    """A whole number, which Horizon writes as a JSON number or a string of digits."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Unreadable(f"{type(value).__name__} instead of a number")
    try:
        return int(value)
    except ValueError:
        raise Unreadable("not a whole number") from None


def instant(value: object) -> datetime:
    """An ISO 8601 instant with its zone."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise Unreadable("not an instant with a zone")
    return moment


def hash_bytes(value: object) -> bytes:
    """64 hex digits."""
    try:
        raw = bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise Unreadable("not a transaction hash")
    return raw


def read_identity(root: Mapping[str, Any]) -> NetworkIdentity:
    """Horizon's root document."""
    passphrase = _field(root, "network_passphrase")
    if not isinstance(passphrase, str):
        raise Unreadable("network_passphrase is not text")
    ledger = integer(_field(root, "history_latest_ledger"))
    return NetworkIdentity(
        passphrase, LedgerClose(ledger, instant(_field(root, "history_latest_ledger_closed_at")))
    )


def read_account(record: Mapping[str, Any], address: str, latest_ledger: str | None) -> AccountReading:
    """An account resource with the Latest-Ledger header that came with it."""
    if record.get("account_id", record.get("id")) != address:
        raise Unreadable("the answer is about another account")
    if latest_ledger is None:
        raise Unreadable("no Latest-Ledger header")
    return AccountReading(integer(_field(record, "sequence")), integer(latest_ledger))


def read_memo_required(record: Mapping[str, Any]) -> MemoRequired:
    """The data entry config.memo_required: "1" (MQ== in base64) demands a memo."""
    value = _field(record, "value")
    try:
        return MemoRequired(b64decode(value, validate=True) == b"1")
    except (ValueError, TypeError):
        raise Unreadable("a value that isn't base64") from None


def hashes_of(record: Mapping[str, Any]) -> tuple[bytes, bytes | None]:
    """(outer or only hash, inner hash or None) of a transaction resource."""
    inner = record.get("inner_transaction")
    inner_hash = hash_bytes(_field(inner, "hash")) if isinstance(inner, dict) else None
    outer = record.get("fee_bump_transaction")
    outer_hash = (
        hash_bytes(_field(outer, "hash")) if isinstance(outer, dict) else hash_bytes(_field(record, "hash"))
    )
    return outer_hash, inner_hash


def read_transaction(record: Mapping[str, Any], tx_hash: bytes) -> InLedger:
    """A transaction resource that must be about `tx_hash` (its own hash or its inner transaction's)."""
    if tx_hash not in (hash_bytes(_field(record, "hash")), *hashes_of(record)):
        raise Unreadable("the answer is about another transaction")
    successful = _field(record, "successful")
    if not isinstance(successful, bool):
        raise Unreadable("successful is not true or false")
    code, operations = "tx_success", None
    if not successful:
        try:
            codes = read_codes(_field(record, "result_xdr"))
        except Unreadable:
            raise
        except Exception as error:  # the XDR reader raises many kinds for garbage
            raise Unreadable(f"result_xdr: {type(error).__name__}") from None
        code, operations = codes.transaction, codes.operations
        if code in ("tx_success", *FEE_BUMP_WRAPPERS):
            raise Unreadable(f"not successful, but its code is {code}")
    return InLedger(
        tx_hash=tx_hash,
        ledger=integer(_field(record, "ledger")),
        closed_at=instant(_field(record, "created_at")),
        successful=successful,
        result_code=code,
        operation_codes=operations,
        fee_charged=integer(_field(record, "fee_charged")),
    )


def read_rejection(problem: Mapping[str, Any]) -> Rejected:
    """The result codes of a `transaction_failed` problem."""
    extras = problem.get("extras")
    codes = extras.get("result_codes") if isinstance(extras, dict) else None
    if not isinstance(codes, dict) or not isinstance(codes.get("transaction"), str):
        raise Unreadable("transaction_failed without result codes")
    code: str = codes["transaction"]
    if code in FEE_BUMP_WRAPPERS:
        inner = codes.get("inner_transaction")
        if not isinstance(inner, str):
            raise Unreadable(f"{code} without the inner transaction's code")
        code = inner
    operations = codes.get("operations")
    if operations is not None and not (
        isinstance(operations, list) and all(isinstance(o, str) for o in operations)
    ):
        raise Unreadable("operation codes are not a list of names")
    return Rejected(code, tuple(operations) if operations else None)


def read_channel_use(record: Mapping[str, Any]) -> ChannelUse:
    """A transaction resource from an account's history."""
    outer, inner = hashes_of(record)
    found = read_transaction(record, inner or outer)
    return ChannelUse(outer, inner, integer(_field(record, "source_account_sequence")), found)


def records_of(page: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The records of a page."""
    embedded = page.get("_embedded")
    records = embedded.get("records") if isinstance(embedded, dict) else None
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise Unreadable("a page without records")
    return records
