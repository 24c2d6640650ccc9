"""Ledger headers and fee changes in XDR, so that hashes chain and clients can decode what they are shown."""

import hashlib
import struct

from sandbox.entries import Account, SignerKey
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


def account_entry(account: Account) -> bytes:
    """LedgerEntry of an account, with all its extensions."""
    raw = struct.pack(">II", account.modified, 0) + _account_id(account.key)
    raw += struct.pack(">qqI", account.balance, account.sequence, account.subentries)
    raw += _optional_id(account.inflation_destination) + struct.pack(">I", account.flags)
    raw += _opaque(account.home_domain) + bytes(account.thresholds)
    raw += struct.pack(">I", len(account.signers))
    raw += b"".join(_signer_key(each.key) + struct.pack(">I", each.weight) for each in account.signers)
    raw += struct.pack(">IqqI", 1, 0, 0, 2)
    raw += struct.pack(">III", account.sponsored, account.sponsoring, len(account.signers))
    raw += b"".join(_optional_id(each.sponsor) for each in account.signers)
    raw += struct.pack(">IIIQ", 3, 0, account.sequence_ledger, account.sequence_time)
    if account.sponsor is None:
        return raw + bytes(4)
    return raw + struct.pack(">I", 1) + _optional_id(account.sponsor) + bytes(4)


def fee_changes(before: Account, after: Account) -> bytes:
    """LedgerEntryChanges of a fee: the payer before (STATE) and after (UPDATED)."""
    return struct.pack(">II", 2, 3) + account_entry(before) + struct.pack(">I", 1) + account_entry(after)
