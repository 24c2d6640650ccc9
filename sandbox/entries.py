"""Ledger entries: light objects with integer stroops.

The ledger copies an entry before it changes it, so an entry that was read once never changes under the
reader.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

AUTH_REQUIRED = 1
AUTH_REVOCABLE = 2
AUTH_IMMUTABLE = 4
AUTH_CLAWBACK_ENABLED = 8

LINE_AUTHORIZED = 1
LINE_MAINTAIN_LIABILITIES = 2
LINE_CLAWBACK_ENABLED = 4


class SignerKey(NamedTuple):
    """kind is XDR's SignerKeyType: 0 ed25519, 1 pre-authorized transaction, 2 hash(x), 3 signed payload."""

    kind: int
    key: bytes
    payload: bytes = b""


class Signer(NamedTuple):
    """A signer beside the master key."""

    key: SignerKey
    weight: int
    sponsor: bytes | None = None


@dataclass(slots=True)
class Account:
    """An account. `thresholds` are (master weight, low, medium, high)."""

    key: bytes
    balance: int
    sequence: int
    sequence_ledger: int = 0
    sequence_time: int = 0
    subentries: int = 0
    flags: int = 0
    home_domain: bytes = b""
    inflation_destination: bytes | None = None
    thresholds: tuple[int, int, int, int] = (1, 0, 0, 0)
    signers: tuple[Signer, ...] = ()
    sponsoring: int = 0
    sponsored: int = 0
    sponsor: bytes | None = None
    modified: int = 0
    modified_time: int = 0

    def copy(self) -> "Account":
        """A copy to change."""
        return Account(
            self.key,
            self.balance,
            self.sequence,
            self.sequence_ledger,
            self.sequence_time,
            self.subentries,
            self.flags,
            self.home_domain,
            self.inflation_destination,
            self.thresholds,
            self.signers,
            self.sponsoring,
            self.sponsored,
            self.sponsor,
            self.modified,
            self.modified_time,
        )


@dataclass(slots=True)
class Trustline:
    """What an account holds of an issued asset."""

    balance: int
    limit: int
    flags: int
    sponsor: bytes | None = None
    modified: int = 0
    modified_time: int = 0

    def copy(self) -> "Trustline":
        """A copy to change."""
        return Trustline(
            self.balance, self.limit, self.flags, self.sponsor, self.modified, self.modified_time
        )

    @property
    def authorized(self) -> bool:
        """May hold and move the asset."""
        return bool(self.flags & LINE_AUTHORIZED)


@dataclass(slots=True)
class DataEntry:
    """A named value of an account."""

    value: bytes
    sponsor: bytes | None = None
    modified: int = 0
    modified_time: int = 0

    def copy(self) -> "DataEntry":
        """A copy to change."""
        return DataEntry(self.value, self.sponsor, self.modified, self.modified_time)


@dataclass(frozen=True, slots=True)
class Predicate:
    """When a claimant may claim. kind is XDR's: 0 always, 1 and, 2 or, 3 not, 4 before absolute, 5 before
    relative."""

    kind: int
    parts: tuple["Predicate", ...] = ()
    time: int = 0

    def holds(self, close_time: int) -> bool:
        """Whether it holds in a ledger of that close time. Relative times were made absolute at creation."""
        if self.kind == 0:
            return True
        if self.kind == 1:
            return all(part.holds(close_time) for part in self.parts)
        if self.kind == 2:
            return any(part.holds(close_time) for part in self.parts)
        if self.kind == 3:
            return not self.parts[0].holds(close_time)
        return close_time < self.time

    def is_valid(self, depth: int = 1) -> bool:
        """stellar-core's shape: two parts for and/or, one for not, four levels, no negative time."""
        if depth > 4:
            return False
        wanted = {1: 2, 2: 2, 3: 1}.get(self.kind, 0)
        return (
            len(self.parts) == wanted
            and self.time >= 0
            and all(part.is_valid(depth + 1) for part in self.parts)
        )

    def absolute(self, close_time: int) -> "Predicate":
        """The predicate with relative times counted from a close time."""
        if self.kind == 5:
            return Predicate(4, (), min(close_time + self.time, (1 << 63) - 1))
        return Predicate(self.kind, tuple(part.absolute(close_time) for part in self.parts), self.time)


class Claimant(NamedTuple):
    """Who may claim, and when."""

    account: bytes
    predicate: Predicate


@dataclass(slots=True)
class ClaimableBalance:
    """An amount that waits for one of its claimants."""

    claimants: tuple[Claimant, ...]
    asset: tuple[bytes, bytes] | None
    amount: int
    flags: int = 0
    sponsor: bytes | None = None
    modified: int = 0
    modified_time: int = 0
    created_by: bytes = field(default=b"")

    def copy(self) -> "ClaimableBalance":
        """A copy to change."""
        return ClaimableBalance(
            self.claimants,
            self.asset,
            self.amount,
            self.flags,
            self.sponsor,
            self.modified,
            self.modified_time,
            self.created_by,
        )
