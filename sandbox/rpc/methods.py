"""The methods of Stellar RPC, as functions of the network: parameters in, result out. No input or output."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from stellar_sdk import xdr
from xdrlib3 import Error as XdrError

from sandbox.assets import Credit, asset_from_xdr
from sandbox.history import LedgerRecord, TransactionRecord
from sandbox.horizon.resources import fee_percentiles
from sandbox.ledger import Header, LedgerView
from sandbox.ledger_xdr import (
    account_data,
    balance_data,
    close_meta,
    data_data,
    entry_extension,
    header_entry,
    line_data,
    transaction_meta,
)
from sandbox.network import Network
from sandbox.operations import account_bytes
from sandbox.transaction import MalformedEnvelope

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32601, -32602, -32603
_MAX_KEYS = 200
_RETENTION = 120_960


class RpcError(Exception):
    """An answer that is an error, with JSON-RPC's code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _latest(network: Network) -> Header:
    return network.history.ledgers[network.ingested - 1].header


def _oldest(network: Network) -> Header:
    return network.history.ledgers[network.elder - 1].header


def _range(network: Network) -> dict[str, Any]:
    latest, oldest = _latest(network), _oldest(network)
    return {
        "latestLedger": latest.sequence,
        "latestLedgerCloseTime": str(latest.close_time),
        "oldestLedger": oldest.sequence,
        "oldestLedgerCloseTime": str(oldest.close_time),
    }


def get_health(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """getHealth."""
    return {
        "status": "healthy",
        "ledgerRetentionWindow": network.conditions.retention or _RETENTION,
        **_range(network),
    }


def get_network(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """getNetwork."""
    return {"passphrase": network.parameters.passphrase, "protocolVersion": network.parameters.protocol}


def get_version_info(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """getVersionInfo."""
    return {
        "version": "23.0.0-sandbox",
        "commitHash": "0" * 40,
        "buildTimestamp": "2026-01-01T00:00:00",
        "captiveCoreVersion": "stellar-core 23.0.0 (sandbox)",
        "protocolVersion": network.parameters.protocol,
    }


def get_latest_ledger(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """getLatestLedger."""
    record = network.history.ledgers[network.ingested - 1]
    header = record.header
    return {
        "id": header.hash.hex(),
        "protocolVersion": header.protocol,
        "sequence": header.sequence,
        "closeTime": str(header.close_time),
        "headerXdr": _text(header.xdr),
        "metadataXdr": _text(_close_meta(record)),
    }


def _close_meta(record: LedgerRecord) -> bytes:
    transactions = [
        (
            each.submission.hash,
            base64.b64decode(each.submission.envelope),
            each.result.to_xdr(),
            each.fee_meta,
            len(each.submission.inner.operations),
        )
        for each in record.transactions
    ]
    return close_meta(record.header, transactions)


def _entry(view: LedgerView, key: xdr.LedgerKey) -> tuple[bytes, int, bytes | None] | None:
    """LedgerEntryData, the ledger of its last change, and its sponsor."""
    if key.account is not None:
        account = view.account(account_bytes(key.account.account_id))
        return None if account is None else (account_data(account), account.modified, account.sponsor)
    if key.trust_line is not None:
        owner, asset = account_bytes(key.trust_line.account_id), asset_from_xdr(key.trust_line.asset)
        line = view.line(owner, asset) if isinstance(asset, Credit) else None
        if line is None or asset is None:
            return None
        return line_data(owner, asset, line), line.modified, line.sponsor
    if key.data is not None:
        owner, name = account_bytes(key.data.account_id), key.data.data_name.string64
        entry = view.data_entry(owner, name)
        return None if entry is None else (data_data(owner, name, entry), entry.modified, entry.sponsor)
    if key.claimable_balance is not None and key.claimable_balance.balance_id.v0 is not None:
        balance_id = key.claimable_balance.balance_id.v0.hash
        balance = view.balance(balance_id)
        return (
            None
            if balance is None
            else (balance_data(balance_id, balance), balance.modified, balance.sponsor)
        )
    return None


def get_ledger_entries(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """getLedgerEntries: those that exist, as of `latestLedger`."""
    keys = params.get("keys", [])
    if not isinstance(keys, list) or len(keys) > _MAX_KEYS:
        raise RpcError(INVALID_PARAMS, f"key count ({len(keys)}) exceeds maximum supported ({_MAX_KEYS})")
    view, entries = network.view(), []
    for text in keys:
        try:
            key = xdr.LedgerKey.from_xdr(text)
        except (ValueError, XdrError, EOFError, TypeError, binascii.Error) as error:
            raise RpcError(INVALID_PARAMS, f"cannot unmarshal key value {text}") from error
        found = _entry(view, key)
        if found is not None:
            data, modified, sponsor = found
            entry = {"key": text, "xdr": _text(data), "lastModifiedLedgerSeq": modified}
            entries.append({**entry, "extXdr": _text(entry_extension(sponsor))})
    return {"entries": entries, "latestLedger": network.ingested}


def send_transaction(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """sendTransaction: core's word."""
    try:
        submission = network.read(str(params.get("transaction", "")))
    except MalformedEnvelope as error:
        raise RpcError(INVALID_PARAMS, "invalid_xdr") from error
    answer = network.submit(submission)
    latest = _latest(network)
    result: dict[str, Any] = {
        "status": answer.status.value,
        "hash": submission.hash.hex(),
        "latestLedger": latest.sequence,
        "latestLedgerCloseTime": str(latest.close_time),
    }
    if answer.result is not None:
        result["errorResultXdr"] = _text(answer.result.to_xdr())
    return result


def _transaction(record: TransactionRecord) -> dict[str, Any]:
    submission = record.submission
    return {
        "status": "SUCCESS" if record.successful else "FAILED",
        "applicationOrder": record.order,
        "feeBump": submission.is_fee_bump,
        "envelopeXdr": submission.envelope,
        "resultXdr": _text(record.result.to_xdr()),
        "resultMetaXdr": _text(
            transaction_meta(len(submission.inner.operations) if record.successful else 0)
        ),
        "ledger": record.header.sequence,
    }


def get_transaction(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """getTransaction, by outer or inner hash."""
    text = str(params.get("hash", ""))
    if len(text) != 64:
        raise RpcError(INVALID_PARAMS, f"unexpected hash length ({len(text)})")
    try:
        digest = bytes.fromhex(text)
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"incorrect hash: {error}") from error
    record = network.find(digest)
    if record is None:
        return {"status": "NOT_FOUND", "txHash": text, **_range(network)}
    return {
        **_transaction(record),
        "txHash": text,
        "createdAt": str(record.header.close_time),
        **_range(network),
    }


def _page(network: Network, params: dict[str, Any], least: int, most: int) -> tuple[int, int, int]:
    """Start ledger, place after which to go on, and limit."""
    pagination = params.get("pagination") or {}
    limit = int(pagination.get("limit") or least)
    if not 1 <= limit <= most:
        raise RpcError(INVALID_PARAMS, f"limit must not exceed {most}")
    cursor = pagination.get("cursor")
    if cursor:
        if not str(cursor).isdecimal():
            raise RpcError(INVALID_PARAMS, f"invalid cursor: {cursor}")
        return 0, int(cursor), limit
    start = int(params.get("startLedger") or 0)
    if not network.elder <= start <= network.ingested:
        bounds = f"the oldest ledger: {network.elder} and the latest ledger: {network.ingested}"
        raise RpcError(INVALID_PARAMS, f"start ledger must be between {bounds} for this rpc instance")
    return start, 0, limit


def get_transactions(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """getTransactions, failed ones too, in the order of the ledger."""
    start, after, limit = _page(network, params, 50, 200)
    found: list[TransactionRecord] = []
    for record in network.history.transactions().after(max(after, (start << 32) - 1)):
        assert isinstance(record, TransactionRecord)
        if len(found) == limit or record.header.sequence > network.ingested:
            break
        if record.header.sequence >= network.elder:
            found.append(record)
    latest, oldest = _latest(network), _oldest(network)
    return {
        "transactions": [
            {**_transaction(each), "txHash": each.submission.hash.hex(), "createdAt": each.header.close_time}
            for each in found
        ],
        "latestLedger": latest.sequence,
        "latestLedgerCloseTimestamp": latest.close_time,
        "oldestLedger": oldest.sequence,
        "oldestLedgerCloseTimestamp": oldest.close_time,
        "cursor": str(found[-1].place if found else after or latest.sequence << 32),
    }


def get_ledgers(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """getLedgers. The cursor is a ledger's number."""
    start, after, limit = _page(network, params, 5, 200)
    first = max(start, after + 1, network.elder)
    records = network.history.ledgers[first - 1 : min(first - 1 + limit, network.ingested)]
    latest, oldest = _latest(network), _oldest(network)
    return {
        "ledgers": [
            {
                "hash": each.header.hash.hex(),
                "sequence": each.header.sequence,
                "ledgerCloseTime": str(each.header.close_time),
                "headerXdr": _text(header_entry(each.header)),
                "metadataXdr": _text(_close_meta(each)),
            }
            for each in records
        ],
        "latestLedger": latest.sequence,
        "latestLedgerCloseTime": latest.close_time,
        "oldestLedger": oldest.sequence,
        "oldestLedgerCloseTime": oldest.close_time,
        "cursor": str(records[-1].header.sequence if records else after),
    }


def get_fee_stats(network: Network, params: dict[str, Any]) -> dict[str, Any]:
    """getFeeStats: figures are strings."""
    window = 10
    charged, _, _ = network.fee_statistics(window)
    ledgers = min(window, network.ingested)
    nothing = dict.fromkeys(fee_percentiles([], 0), "0")
    return {
        "sorobanInclusionFee": {**nothing, "transactionCount": "0", "ledgerCount": ledgers},
        "inclusionFee": {
            **(fee_percentiles(charged, 0) if charged else nothing),
            "transactionCount": str(len(charged)),
            "ledgerCount": ledgers,
        },
        "latestLedger": network.ingested,
    }


METHODS: dict[str, Callable[[Network, dict[str, Any]], dict[str, Any]]] = {
    "getHealth": get_health,
    "getNetwork": get_network,
    "getVersionInfo": get_version_info,
    "getLatestLedger": get_latest_ledger,
    "getLedgerEntries": get_ledger_entries,
    "sendTransaction": send_transaction,
    "getTransaction": get_transaction,
    "getTransactions": get_transactions,
    "getLedgers": get_ledgers,
    "getFeeStats": get_fee_stats,
}
