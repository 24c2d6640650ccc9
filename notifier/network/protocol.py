"""Questions to the network and the values that answer them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer that means anything: timeout, reset, 5xx, garbage. `retry_after` in seconds if the server
    said so."""

    reason: str
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class NotAsked:
    """The server refused to ask (429, stale history): nothing was submitted."""

    reason: str
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class NotFound:
    """Not in what this node has read so far. No evidence of absence."""


@dataclass(frozen=True, slots=True)
class InLedger:
    """A transaction in a closed ledger.

    `tx_hash` is the hash it was found under, which is one of ours. `result_code` is the inner transaction's
    code if it was fee-bumped and the fee bump itself was valid. `operation_codes` has one entry per operation
    for tx_failed, else None. `fee_charged` in stroops.
    """

    tx_hash: bytes
    ledger: int
    closed_at: datetime
    successful: bool
    result_code: str
    operation_codes: tuple[str, ...] | None
    fee_charged: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """The network said "failed" without saying whether it is in a ledger.

    `code` is the inner transaction's code where there is one, else the outer's.
    """

    code: str
    operation_codes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    """Core holds it (PENDING, DUPLICATE)."""


@dataclass(frozen=True, slots=True)
class TryAgainLater:
    """Core has another transaction of that account queued, or the hash is banned because it already
    applied."""


SubmitAnswer = InLedger | Rejected | Queued | TryAgainLater | NotAsked | Unknown
LookupAnswer = InLedger | NotFound | NotAsked | Unknown


@dataclass(frozen=True, slots=True)
class LedgerClose:
    """A closed ledger that the node has read."""

    sequence: int
    closed_at: datetime


@dataclass(frozen=True, slots=True)
class NetworkIdentity:
    """Which network a node serves, and its latest ledger."""

    passphrase: str
    latest: LedgerClose


@dataclass(frozen=True, slots=True)
class AccountReading:
    """An account's sequence number as of a ledger: both from one answer of one node."""

    sequence: int
    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class MemoRequired:
    """Whether an account demands a memo (SEP-29). An account that doesn't exist demands none."""

    required: bool


@dataclass(frozen=True, slots=True)
class ChannelUse:
    """A transaction in a ledger whose source is the channel account."""

    tx_hash: bytes
    inner_hash: bytes | None
    sequence: int
    found: InLedger


@dataclass(frozen=True, slots=True)
class ChannelUses:
    """Transactions with the channel as source and the asked sequence.

    `complete`: the history was read far enough, and holds something that is later than the last use of an
    earlier number. Without that the node that answered may be behind, and knows nothing of the slot yet.
    """

    uses: tuple[ChannelUse, ...]
    complete: bool


class Network(Protocol):
    """The node that the pod talks to."""

    async def identity(self) -> NetworkIdentity | NotAsked | Unknown:
        """The network's passphrase and the node's latest ledger."""

    async def submit(self, envelope_xdr: str, hashes: tuple[bytes, ...]) -> SubmitAnswer:
        """Send an envelope and wait for what becomes of it. `hashes` are the envelope's, outer first."""

    async def transaction(self, tx_hash: bytes) -> LookupAnswer:
        """Look a hash (inner or outer) up."""

    async def account(self, address: str) -> AccountReading | NotFound | NotAsked | Unknown:
        """An account's sequence and the ledger as of which that is so."""

    async def channel_uses(self, address: str, sequence: int) -> ChannelUses | NotAsked | Unknown:
        """Transactions in ledgers that carry this source account and this sequence number."""

    async def memo_required(self, address: str) -> MemoRequired | NotAsked | Unknown:
        """Whether a G… account demands a memo."""
