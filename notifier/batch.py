"""The values that travel along the path: a claimed batch, its lines, and its signed envelopes."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

MAX_LINES = 100
"""A Stellar transaction holds 1 to 100 operations."""


class MemoType(StrEnum):
    """The five kinds of memo that a Stellar transaction can carry."""

    NONE = "none"
    TEXT = "text"
    ID = "id"
    HASH = "hash"
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Memo:
    """A memo as the database gives it.

    `value` is None (none), the text, decimal digits (id), or 64 hex digits (hash, return).
    """

    type: MemoType
    value: str | None


@dataclass(frozen=True, slots=True)
class Line:
    """One payment of a batch. `amount` is in units of the asset, at most 7 decimals; asset None, None is
    XLM."""

    payment_id: int
    destination: str
    asset_code: str | None
    asset_issuer: str | None
    amount: Decimal
    own_memo: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """Up to 100 payments of one run, bound to one slot (a sequence number of one channel account)."""

    batch_id: int
    claim_token: UUID
    organization: str
    run_id: int
    channel_address: str
    channel_key_index: int
    slot: int
    funding_address: str
    memo: Memo
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Envelope:
    """One signed transaction for a batch, ready to be sent.

    `outer_hash` is None if the transaction isn't fee-bumped. `fee_bid` is in stroops for the whole outer
    transaction. `valid_until` is the transaction's maxTime; `as_of_ledger` the ledger it was built after.
    """

    inner_hash: bytes
    outer_hash: bytes | None
    envelope_xdr: str
    fee_bid: int
    valid_until: datetime
    as_of_ledger: int

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """Every hash under which the ledger may show this envelope, outer first."""
        return (self.inner_hash,) if self.outer_hash is None else (self.outer_hash, self.inner_hash)


@dataclass(frozen=True, slots=True)
class AbandonedBatch:
    """A signed batch taken over from a pod that is gone; `envelopes` are oldest first."""

    batch: Batch
    envelopes: tuple[Envelope, ...]
    held_reason: str | None
