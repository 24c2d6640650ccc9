"""Envelopes: decoded once, hashed once."""

import base64
import binascii
import hashlib
import struct
from dataclasses import dataclass
from typing import NamedTuple

from stellar_sdk import xdr
from xdrlib3 import Error as XdrError
from xdrlib3 import Unpacker

from sandbox.entries import SignerKey
from sandbox.operations import Operation, muxed_party, operation_from_xdr, signer_key
from sandbox.strkeys import Party

_TX_V0, _TX, _FEE_BUMP = 0, 2, 5


class MalformedEnvelope(ValueError):
    """The text is no transaction envelope."""


class DecoratedSignature(NamedTuple):
    """A signature with the last four bytes of its key."""

    hint: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Preconditions:
    """When a transaction is valid. Times in Unix seconds, 0 is no limit; min_sequence None is sequence -
    1."""

    has_time_bounds: bool = False
    min_time: int = 0
    max_time: int = 0
    has_ledger_bounds: bool = False
    min_ledger: int = 0
    max_ledger: int = 0
    min_sequence: int | None = None
    min_sequence_age: int = 0
    min_sequence_ledger_gap: int = 0
    extra_signers: tuple[SignerKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Memo:
    """kind is none, text, id, hash or return."""

    kind: str
    value: bytes | int | None = None


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction, perhaps the inner one of a fee bump. `fee` in stroops for all of it."""

    hash: bytes
    source: Party
    fee: int
    sequence: int
    preconditions: Preconditions
    memo: Memo
    operations: tuple[Operation, ...]
    signatures: tuple[DecoratedSignature, ...]


@dataclass(frozen=True, slots=True)
class Submission:
    """What was sent: a transaction, or a fee bump around one."""

    hash: bytes
    envelope: str
    inner: Transaction
    fee_source: Party
    fee: int
    is_fee_bump: bool
    signatures: tuple[DecoratedSignature, ...]

    @property
    def source(self) -> bytes:
        """The account whose sequence it uses."""
        return self.inner.source.account

    @property
    def sequence(self) -> int:
        """The sequence that it uses up."""
        return self.inner.sequence

    @property
    def operation_count(self) -> int:
        """Operations as fees and capacity count them: a fee bump counts one more."""
        return len(self.inner.operations) + self.is_fee_bump

    @property
    def fee_rate(self) -> float:
        """The bid per operation."""
        return self.fee / max(1, self.operation_count)


def _preconditions(cond: xdr.Preconditions) -> Preconditions:
    v2 = cond.v2
    bounds = v2.time_bounds if v2 is not None else cond.time_bounds
    times = (0, 0)
    if bounds is not None:
        times = (bounds.min_time.time_point.uint64, bounds.max_time.time_point.uint64)
    if v2 is None:
        return Preconditions(bounds is not None, *times)
    ledgers = v2.ledger_bounds
    return Preconditions(
        bounds is not None,
        *times,
        ledgers is not None,
        0 if ledgers is None else ledgers.min_ledger.uint32,
        0 if ledgers is None else ledgers.max_ledger.uint32,
        None if v2.min_seq_num is None else v2.min_seq_num.sequence_number.int64,
        v2.min_seq_age.duration.uint64,
        v2.min_seq_ledger_gap.uint32,
        tuple(signer_key(key) for key in v2.extra_signers),
    )


def _memo(memo: xdr.Memo) -> Memo:
    if memo.text is not None:
        return Memo("text", memo.text)
    if memo.id is not None:
        return Memo("id", memo.id.uint64)
    if memo.hash is not None:
        return Memo("hash", memo.hash.hash)
    if memo.ret_hash is not None:
        return Memo("return", memo.ret_hash.hash)
    return Memo("none")


def _signatures(signatures: list[xdr.DecoratedSignature]) -> tuple[DecoratedSignature, ...]:
    return tuple(
        DecoratedSignature(each.hint.signature_hint, each.signature.signature) for each in signatures
    )


def _unpack_signatures(unpacker: Unpacker) -> tuple[DecoratedSignature, ...]:
    count = unpacker.unpack_uint()
    if count > 20:
        raise MalformedEnvelope("more than 20 signatures")
    return _signatures([xdr.DecoratedSignature.unpack(unpacker) for _ in range(count)])


def _read_inner(unpacker: Unpacker, raw: bytes, start: int, network_id: bytes, v0: bool) -> Transaction:
    """Reads a transaction and its signatures; `start` is where the transaction begins in `raw`."""
    if v0:
        old = xdr.TransactionV0.unpack(unpacker)
        source = Party(old.source_account_ed25519.uint256)
        bounds = old.time_bounds
        kind = xdr.PreconditionType.PRECOND_NONE if bounds is None else xdr.PreconditionType.PRECOND_TIME
        cond = xdr.Preconditions(kind, time_bounds=bounds)
        tx: xdr.TransactionV0 | xdr.Transaction = old
    else:
        new = xdr.Transaction.unpack(unpacker)
        source = muxed_party(new.source_account)
        cond = new.cond
        tx = new
    end = unpacker.get_position()
    body = (bytes(4) if v0 else b"") + raw[start:end]
    digest = hashlib.sha256(network_id + struct.pack(">I", _TX) + body).digest()
    signatures = _unpack_signatures(unpacker)
    return Transaction(
        digest,
        source,
        tx.fee.uint32,
        tx.seq_num.sequence_number.int64,
        _preconditions(cond),
        _memo(tx.memo),
        tuple(operation_from_xdr(each) for each in tx.operations),
        signatures,
    )


def read_envelope(text: str, network_id: bytes) -> Submission:
    """Decodes base64 XDR of a TransactionEnvelope. MalformedEnvelope if it is none."""
    try:
        raw = base64.b64decode(text, validate=True)
        return _read(raw, text, network_id)
    except (
        binascii.Error,
        XdrError,
        ValueError,
        EOFError,
        IndexError,
        AssertionError,
        struct.error,
    ) as error:
        raise MalformedEnvelope(str(error)) from error


def _read(raw: bytes, text: str, network_id: bytes) -> Submission:
    unpacker = Unpacker(raw)
    kind = unpacker.unpack_int()
    if kind in (_TX_V0, _TX):
        inner = _read_inner(unpacker, raw, 4, network_id, kind == _TX_V0)
        submission = Submission(inner.hash, text, inner, inner.source, inner.fee, False, inner.signatures)
    elif kind == _FEE_BUMP:
        fee_source = muxed_party(xdr.MuxedAccount.unpack(unpacker))
        fee = unpacker.unpack_hyper()
        if unpacker.unpack_int() != _TX:
            raise MalformedEnvelope("a fee bump holds a transaction")
        inner = _read_inner(unpacker, raw, unpacker.get_position(), network_id, False)
        if unpacker.unpack_int() != 0:
            raise MalformedEnvelope("unknown extension")
        body = raw[4 : unpacker.get_position()]
        digest = hashlib.sha256(network_id + struct.pack(">I", _FEE_BUMP) + body).digest()
        submission = Submission(digest, text, inner, fee_source, fee, True, _unpack_signatures(unpacker))
    else:
        raise MalformedEnvelope(f"envelope type {kind}")
    unpacker.done()
    return submission
