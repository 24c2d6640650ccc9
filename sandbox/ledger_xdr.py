"""Headers, entries and metadata in XDR, so that hashes chain and clients can decode what they are shown."""

import hashlib
import struct

from sandbox.assets import Credit
from sandbox.assets import to_xdr as asset_xdr
from sandbox.entries import Account, ClaimableBalance, DataEntry, Predicate, SignerKey, Trustline
from sandbox.ledger import Header


def seal_header(header: Header, contents: bytes) -> Header:
    """Fills in the header's XDR and hash. `contents` is the hash of the ledger's transactions."""
    raw = struct.pack(">I", header.protocol) + header.previous_hash
    raw += contents + struct.pack(">QII", header.close_time, 0, 0)
    raw += hashlib.sha256(contents).digest() + bytes(32)
    raw += struct.pack(">IqqIQ", header.sequence, header.total_coins, header.fee_pool, 0, 0)
    raw += struct.pack(">III", header.base_fee, header.base_reserve, header.max_operations)
    raw += bytes(128) + bytes(4)
    header.xdr = raw
    header.hash = hashlib.sha256(raw).digest()
    return header


def _opaque(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


def _account_id(key: bytes) -> bytes:
    return bytes(4) + key


def _optional_id(key: bytes | None) -> bytes:
    return bytes(4) if key is None else b"\0\0\0\x01" + _account_id(key)


def _signer_key(key: SignerKey) -> bytes:
    raw = struct.pack(">I", key.kind) + key.key
    return raw + _opaque(key.payload) if key.kind == 3 else raw


def account_data(account: Account) -> bytes:
    """LedgerEntryData of an account, with all its extensions."""
    raw = bytes(4) + _account_id(account.key)
    raw += struct.pack(">qqI", account.balance, account.sequence, account.subentries)
    raw += _optional_id(account.inflation_destination) + struct.pack(">I", account.flags)
    raw += _opaque(account.home_domain) + bytes(account.thresholds)
    raw += struct.pack(">I", len(account.signers))
    raw += b"".join(_signer_key(each.key) + struct.pack(">I", each.weight) for each in account.signers)
    raw += struct.pack(">IqqI", 1, 0, 0, 2)
    raw += struct.pack(">III", account.sponsored, account.sponsoring, len(account.signers))
    raw += b"".join(_optional_id(each.sponsor) for each in account.signers)
    return raw + struct.pack(">IIIQ", 3, 0, account.sequence_ledger, account.sequence_time)


def line_data(owner: bytes, asset: Credit, line: Trustline) -> bytes:
    """LedgerEntryData of a trustline."""
    raw = struct.pack(">I", 1) + _account_id(owner) + asset_xdr(asset)
    return raw + struct.pack(">qqII", line.balance, line.limit, line.flags, 0)


def data_data(owner: bytes, name: bytes, entry: DataEntry) -> bytes:
    """LedgerEntryData of a named value."""
    return struct.pack(">I", 3) + _account_id(owner) + _opaque(name) + _opaque(entry.value) + bytes(4)


def _predicate(predicate: Predicate) -> bytes:
    raw = struct.pack(">I", predicate.kind)
    if predicate.kind in (1, 2):
        return raw + struct.pack(">I", len(predicate.parts)) + b"".join(map(_predicate, predicate.parts))
    if predicate.kind == 3:
        return raw + struct.pack(">I", 1) + _predicate(predicate.parts[0])
    return raw if predicate.kind == 0 else raw + struct.pack(">q", predicate.time)


def balance_data(balance_id: bytes, balance: ClaimableBalance) -> bytes:
    """LedgerEntryData of a claimable balance."""
    raw = struct.pack(">II", 4, 0) + balance_id + struct.pack(">I", len(balance.claimants))
    for claimant in balance.claimants:
        raw += bytes(4) + _account_id(claimant.account) + _predicate(claimant.predicate)
    raw += asset_xdr(None if balance.asset is None else Credit(*balance.asset))
    return raw + struct.pack(">qIII", balance.amount, 1, 0, balance.flags)


def entry_extension(sponsor: bytes | None) -> bytes:
    """LedgerEntry's ext: who sponsors it."""
    return bytes(4) if sponsor is None else struct.pack(">I", 1) + _optional_id(sponsor) + bytes(4)


def _account_entry(account: Account) -> bytes:
    return struct.pack(">I", account.modified) + account_data(account) + entry_extension(account.sponsor)


def transaction_meta(operation_count: int) -> bytes:
    """TransactionMeta (v3) that names no changes."""
    return struct.pack(">III", 3, 0, 0) + struct.pack(">I", operation_count) + bytes(4 * operation_count + 8)


def header_entry(header: Header) -> bytes:
    """LedgerHeaderHistoryEntry."""
    return header.hash + header.xdr + bytes(4)


def close_meta(header: Header, transactions: list[tuple[bytes, bytes, bytes, bytes, int]]) -> bytes:
    """LedgerCloseMeta (v1). Of each transaction: hash, envelope, result, fee changes, number of
    operations."""
    raw = struct.pack(">II", 1, 0) + header_entry(header)
    raw += struct.pack(">I", 1) + header.previous_hash + struct.pack(">II", 2, 0)
    raw += struct.pack(">I", 1 if transactions else 0)
    if transactions:
        raw += struct.pack(">III", 0, 0, len(transactions)) + b"".join(each[1] for each in transactions)
    raw += struct.pack(">II", 0, 0) + struct.pack(">I", len(transactions))
    for digest, _, result, fees, operation_count in transactions:
        raw += digest + result + fees + transaction_meta(operation_count)
    return raw + struct.pack(">IIQII", 0, 0, 0, 0, 0)


def fee_changes(before: Account, after: Account) -> bytes:
    """LedgerEntryChanges of a fee: the payer before (STATE) and after (UPDATED)."""
    return struct.pack(">II", 2, 3) + _account_entry(before) + struct.pack(">I", 1) + _account_entry(after)
