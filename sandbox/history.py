"""What is in closed ledgers: transactions, operations and money moved, found by hash, account or place."""

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sandbox.apply import Applied
from sandbox.ledger import Header
from sandbox.operations import Movement, Operation
from sandbox.results import TransactionResult
from sandbox.strkeys import Party
from sandbox.transaction import Submission


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """A transaction in a ledger. `order` counts from 1 in the order of application."""

    submission: Submission
    result: TransactionResult
    movements: tuple[Movement, ...]
    header: Header
    order: int
    fee_meta: bytes

    @property
    def place(self) -> int:
        """Horizon's id and paging token: ledger, order, operation 0."""
        return self.header.sequence << 32 | self.order << 12

    @property
    def successful(self) -> bool:
        """Whether its operations were applied."""
        return self.result.succeeded


@dataclass(frozen=True, slots=True)
class OperationRecord:
    """An operation in a ledger."""

    transaction: TransactionRecord
    index: int

    @property
    def place(self) -> int:
        """Horizon's id and paging token: operations count from 1."""
        return self.transaction.place | self.index + 1

    @property
    def operation(self) -> Operation:
        """The operation itself."""
        return self.transaction.submission.inner.operations[self.index]

    @property
    def source(self) -> Party:
        """Its source, the transaction's if it names none."""
        return self.operation.source or self.transaction.submission.inner.source


@dataclass(slots=True)
class LedgerRecord:
    """A closed ledger."""

    header: Header
    transactions: list[TransactionRecord] = field(default_factory=list)
    operation_count: int = 0
    failed_operation_count: int = 0

    @property
    def place(self) -> int:
        """Horizon's paging token."""
        return self.header.sequence << 32


class Placed(Protocol):
    """A record that knows its place."""

    @property
    def place(self) -> int:
        """Horizon's paging token."""


@dataclass(slots=True)
class Track:
    """Records of one kind in the order of their places."""

    places: list[int] = field(default_factory=list)
    records: list[object] = field(default_factory=list)

    def add(self, place: int, record: object) -> None:
        """Appends one; once only if it is the last already."""
        if not self.places or self.places[-1] != place:
            self.places.append(place)
            self.records.append(record)

    def after(self, place: int) -> Iterator[object]:
        """Those beyond a place, ascending."""
        for position in range(bisect.bisect_right(self.places, place), len(self.places)):
            yield self.records[position]

    def before(self, place: int) -> Iterator[object]:
        """Those below a place, descending."""
        for position in range(bisect.bisect_left(self.places, place) - 1, -1, -1):
            yield self.records[position]


def track_of(records: Iterable[Placed]) -> Track:
    """A track of some records in the order of their places."""
    track = Track()
    for record in records:
        track.add(record.place, record)
    return track


_EMPTY = Track()


class History:
    """All closed ledgers, with indexes."""

    def __init__(self) -> None:
        self.ledgers: list[LedgerRecord] = []
        self._by_hash: dict[bytes, TransactionRecord] = {}
        self._transactions = Track()
        self._operations = Track()
        self._payments = Track()
        self._of_account: tuple[dict[bytes, Track], ...] = ({}, {}, {})
        self._moved: list[tuple[TransactionRecord, Movement]] = []

    @property
    def latest(self) -> Header:
        """The header of the ledger that closed last."""
        return self.ledgers[-1].header

    def ledger(self, sequence: int) -> LedgerRecord | None:
        """A ledger by its number."""
        return self.ledgers[sequence - 1] if 1 <= sequence <= len(self.ledgers) else None

    def find(self, digest: bytes) -> TransactionRecord | None:
        """A transaction by its hash, a fee bump also by its inner one."""
        return self._by_hash.get(digest)

    def moved(self, start: int) -> Sequence[tuple[TransactionRecord, Movement]]:
        """All money moved, in the order of the ledger, from a position on."""
        return self._moved[start:]

    def transactions(self, account: bytes | None = None) -> Track:
        """All transactions, or an account's."""
        return self._transactions if account is None else self._of_account[0].get(account, _EMPTY)

    def operations(self, account: bytes | None = None) -> Track:
        """All operations, or an account's."""
        return self._operations if account is None else self._of_account[1].get(account, _EMPTY)

    def payments(self, account: bytes | None = None) -> Track:
        """All payments (accounts opened and merged among them), or an account's."""
        return self._payments if account is None else self._of_account[2].get(account, _EMPTY)

    def add(self, header: Header, applied: Sequence[tuple[Applied, bytes]]) -> LedgerRecord:
        """Appends a closed ledger: what was applied, each with its fee's XDR changes."""
        ledger = LedgerRecord(header)
        self.ledgers.append(ledger)
        for order, (each, fee_meta) in enumerate(applied, 1):
            record = TransactionRecord(each.submission, each.result, each.movements, header, order, fee_meta)
            ledger.transactions.append(record)
            self._index(record)
            count = len(record.submission.inner.operations)
            if record.successful:
                ledger.operation_count += count
            else:
                ledger.failed_operation_count += count
        return ledger

    def _index(self, record: TransactionRecord) -> None:
        submission = record.submission
        self._by_hash[submission.hash] = record
        self._by_hash.setdefault(submission.inner.hash, record)
        self._transactions.add(record.place, record)
        everyone = {submission.source, submission.fee_source.account}
        for index, operation in enumerate(submission.inner.operations):
            entry = OperationRecord(record, index)
            place = entry.place
            is_payment = operation.is_payment()
            self._operations.add(place, entry)
            if is_payment:
                self._payments.add(place, entry)
            for account in {entry.source.account, *operation.parties()}:
                everyone.add(account)
                self._of_account[1].setdefault(account, Track()).add(place, entry)
                if is_payment:
                    self._of_account[2].setdefault(account, Track()).add(place, entry)
        for account in everyone:
            self._of_account[0].setdefault(account, Track()).add(record.place, record)
        self._moved.extend((record, movement) for movement in record.movements)
