"""Build and sign the transaction of a batch.

The sequence number is the batch's slot, exactly; the SDK's own sequence counting and clock are not used. Time
bounds come from the ledger's close time. XDR of a 100-payment transaction is expensive (milliseconds per
pass), so the transaction is serialised once; hash, signatures and the fee bump are made from those bytes.
"""

import hashlib
import re
import struct
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from stellar_sdk import (
    Asset,
    FeeBumpTransactionEnvelope,
    HashMemo,
    IdMemo,
    NoneMemo,
    Payment,
    Preconditions,
    ReturnHashMemo,
    TextMemo,
    TimeBounds,
    Transaction,
    TransactionEnvelope,
)
from stellar_sdk.exceptions import SdkError
from stellar_sdk.strkey import StrKey

from notifier.batch import MAX_LINES, Batch, Envelope, Line, Memo, MemoType
from notifier.signers import Keyring, Signer

MAX_AMOUNT = Decimal("922337203685.4775807")
MAX_SEQUENCE = 2**63 - 1
_STEP = Decimal("0.0000001")
_TX, _FEE_BUMP = 2, 5
_HEX32 = re.compile(r"[0-9a-fA-F]{64}")


class UnbuildableBatch(Exception):
    """The batch doesn't make a transaction: a defect of ours or of the data, never of the network."""


def _amount(line: Line) -> str:
    amount = line.amount
    if not amount.is_finite() or not Decimal(0) < amount <= MAX_AMOUNT:
        raise UnbuildableBatch(f"payment {line.payment_id}: amount {amount} is out of range")
    if amount != amount.quantize(_STEP):
        raise UnbuildableBatch(f"payment {line.payment_id}: amount {amount} has more than 7 decimals")
    return f"{amount:.7f}"


def _asset(line: Line) -> Asset:
    if line.asset_code is None and line.asset_issuer is None:
        return Asset.native()
    if line.asset_code is None or line.asset_issuer is None:
        raise UnbuildableBatch(f"payment {line.payment_id}: an asset needs both code and issuer")
    return Asset(line.asset_code, line.asset_issuer)


def _memo(memo: Memo) -> NoneMemo | TextMemo | IdMemo | HashMemo | ReturnHashMemo:
    value = memo.value
    if memo.type is MemoType.NONE:
        if value is not None:
            raise UnbuildableBatch("memo of type none has a value")
        return NoneMemo()
    if value is None:
        raise UnbuildableBatch(f"memo of type {memo.type} has no value")
    if memo.type is MemoType.TEXT:
        if len(value.encode()) > 28:
            raise UnbuildableBatch("text memo has more than 28 bytes")
        return TextMemo(value)
    if memo.type is MemoType.ID:
        if not (value.isascii() and value.isdigit() and int(value) < 2**64):
            raise UnbuildableBatch("id memo is not an unsigned 64-bit number")
        return IdMemo(int(value))
    if not _HEX32.fullmatch(value):
        raise UnbuildableBatch(f"{memo.type} memo is not 64 hex digits")
    return HashMemo(value) if memo.type is MemoType.HASH else ReturnHashMemo(value)


def _transaction_bytes(batch: Batch, lines: tuple[Line, ...], inner_fee: int, max_time: int) -> bytes:
    """The XDR of `Transaction`, without signatures."""
    if not 1 <= len(lines) <= MAX_LINES:
        raise UnbuildableBatch(f"a transaction holds 1 to {MAX_LINES} payments, not {len(lines)}")
    if not 0 < batch.slot <= MAX_SEQUENCE:
        raise UnbuildableBatch(f"slot {batch.slot} is not a sequence number")
    try:
        payments = [
            Payment(line.destination, _asset(line), _amount(line), source=batch.funding_address)
            for line in lines
        ]
        transaction = Transaction(
            source=batch.channel_address,
            sequence=batch.slot,
            fee=inner_fee,
            operations=payments,
            memo=_memo(batch.memo),
            preconditions=Preconditions(time_bounds=TimeBounds(0, max_time)),
            v1=True,
        )
        return transaction.to_xdr_object().to_xdr_bytes()
    except (SdkError, ValueError, TypeError) as error:
        raise UnbuildableBatch(f"{type(error).__name__}: {error}") from error


def _hash(network_id: bytes, envelope_type: int, body: bytes) -> bytes:
    return hashlib.sha256(network_id + struct.pack(">I", envelope_type) + body).digest()


async def _signatures(digest: bytes, signers: list[Signer]) -> bytes:
    """XDR of `DecoratedSignature<20>`: the hint is the key's last four bytes."""
    parts = [struct.pack(">I", len(signers))]
    for signer in signers:
        hint = StrKey.decode_ed25519_public_key(signer.address)[-4:]
        signature = await signer.sign(digest)
        parts.append(hint + struct.pack(">I", len(signature)) + signature)
    return b"".join(parts)


class EnvelopeBuilder:
    """Builds envelopes for one network.

    `envelope_seconds`: how long after the ledger's close time an envelope stays valid.
    """

    def __init__(
        self, network_passphrase: str, keyring: Keyring, envelope_seconds: int, base_fee: int
    ) -> None:
        self._network_id = hashlib.sha256(network_passphrase.encode()).digest()
        self._keyring = keyring
        self._envelope_seconds = envelope_seconds
        self._base_fee = base_fee

    async def build(
        self,
        batch: Batch,
        fee_per_operation: int,
        ledger: int,
        closed_at: datetime,
        later_than: datetime | None = None,
    ) -> Envelope:
        """Sign the batch's payments for its slot and wrap them in a fee bump by the funding account.

        `ledger` and `closed_at` are the network's latest ledger; `fee_per_operation` is in stroops.
        `later_than` is the time bound of an earlier envelope: the new one differs from it.
        Raises UnbuildableBatch, KeyMissing.
        """
        until = closed_at.replace(microsecond=0) + timedelta(seconds=self._envelope_seconds)
        if later_than is not None and until <= later_than:
            until = later_than + timedelta(seconds=1)
        inner_fee = self._base_fee * len(batch.lines)
        body = _transaction_bytes(batch, batch.lines, inner_fee, int(until.timestamp()))
        inner_hash = _hash(self._network_id, _TX, body)
        signers = [self._keyring.channel(batch.channel_key_index, batch.channel_address)]
        if batch.funding_address != batch.channel_address:
            signers.append(self._keyring.funding(batch.funding_address))
        inner = struct.pack(">I", _TX) + body + await _signatures(inner_hash, signers)
        return await self._wrap(batch, inner, inner_hash, fee_per_operation, until, ledger)

    async def raise_bid(self, batch: Batch, envelope: Envelope, fee_per_operation: int) -> Envelope:
        """The same inner transaction in a new fee bump with a higher bid. Raises KeyMissing,
        UnbuildableBatch."""
        inner = _inner_envelope(envelope)
        until = envelope.valid_until
        return await self._wrap(
            batch, inner, envelope.inner_hash, fee_per_operation, until, envelope.as_of_ledger
        )

    async def _wrap(
        self,
        batch: Batch,
        inner: bytes,
        inner_hash: bytes,
        fee_per_operation: int,
        until: datetime,
        ledger: int,
    ) -> Envelope:
        """`inner` is the XDR of the inner TransactionEnvelope. A fee bump counts one operation more."""
        payer = self._keyring.funding(batch.funding_address)
        fee = fee_per_operation * (len(batch.lines) + 1)
        body = (
            struct.pack(">I", 0)
            + StrKey.decode_ed25519_public_key(batch.funding_address)
            + struct.pack(">q", fee)
            + inner
            + struct.pack(">I", 0)
        )
        outer_hash = _hash(self._network_id, _FEE_BUMP, body)
        outer = struct.pack(">I", _FEE_BUMP) + body + await _signatures(outer_hash, [payer])
        return Envelope(
            inner_hash=inner_hash,
            outer_hash=outer_hash,
            envelope_xdr=b64encode(outer).decode(),
            fee_bid=fee,
            valid_until=until.astimezone(UTC),
            as_of_ledger=ledger,
        )


def _inner_envelope(envelope: Envelope) -> bytes:
    """The XDR of the inner TransactionEnvelope (type 2) of a stored envelope, fee-bumped or not."""
    raw = b64decode(envelope.envelope_xdr)
    if raw[:4] == struct.pack(">I", _TX):
        return raw
    if raw[:4] != struct.pack(">I", _FEE_BUMP):
        raise UnbuildableBatch("stored envelope is of an unknown kind")
    try:
        parsed = FeeBumpTransactionEnvelope.from_xdr(envelope.envelope_xdr, "")
    except (SdkError, ValueError) as error:
        raise UnbuildableBatch(f"stored envelope doesn't parse: {error}") from error
    inner: TransactionEnvelope = parsed.transaction.inner_transaction_envelope
    return inner.to_xdr_object().to_xdr_bytes()
