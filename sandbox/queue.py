"""The transaction queue, with stellar-core's rules.

One transaction per source account. A queued one is replaced only by a fee bump at the same sequence with ten
times its rate. What waits for four ledgers ages out and its hash is banned for ten; so is a hash that was
applied, became invalid or was outbid. The queue holds two ledgers' worth of operations; a full one takes only
higher bids.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from random import Random

from sandbox import results
from sandbox.results import TransactionResult
from sandbox.transaction import Submission

AGES_OUT_AFTER = 4
BANNED_FOR = 10
REPLACE_FACTOR = 10
LEDGERS_HELD = 2


class Status(Enum):
    """Core's word on what was sent."""

    PENDING = "PENDING"
    DUPLICATE = "DUPLICATE"
    TRY_AGAIN_LATER = "TRY_AGAIN_LATER"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, with the result of a transaction that was refused as invalid."""

    status: Status
    result: TransactionResult | None = None


@dataclass(slots=True)
class Waiting:
    """A queued transaction and for how many ledgers it has waited."""

    submission: Submission
    age: int = 0


class TransactionQueue:
    """What waits for the next ledger. `capacity` is in operations per ledger."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._waiting: dict[bytes, Waiting] = {}
        self._fees: dict[bytes, int] = {}
        self._operations = 0
        self._banned: deque[set[bytes]] = deque([set() for _ in range(BANNED_FOR)], maxlen=BANNED_FOR)
        self._outbid_rate = 0

    # asking

    def waiting(self) -> list[Submission]:
        """Everything that waits, in the order of arrival."""
        return [each.submission for each in self._waiting.values()]

    def of_account(self, source: bytes) -> Submission | None:
        """What waits for an account's sequence."""
        waiting = self._waiting.get(source)
        return None if waiting is None else waiting.submission

    def is_banned(self, digest: bytes) -> bool:
        """Whether a hash is banned."""
        return any(digest in banned for banned in self._banned)

    @property
    def banned_count(self) -> int:
        """How many hashes are banned."""
        return sum(len(banned) for banned in self._banned)

    # adding

    def try_add(
        self,
        submission: Submission,
        check: Callable[[Submission], TransactionResult],
        spendable: Callable[[bytes], int],
        minimum_rate: int,
    ) -> Answer:
        """Core's tryAdd. `check` is the validity of a transaction, `spendable` an account's balance above its
        reserve, `minimum_rate` the least bid per operation that is taken now (stroops)."""
        if self.is_banned(submission.hash):
            return Answer(Status.TRY_AGAIN_LATER)
        present = self.of_account(submission.source)
        if present is not None:
            refused = self._against(present, submission)
            if refused is not None:
                return refused
        needed = self._needed_fee(submission, present, minimum_rate)
        if submission.fee < needed:
            self.ban([submission.hash])
            return Answer(Status.ERROR, TransactionResult(needed, results.INSUFFICIENT_FEE))
        result = check(submission)
        if not result.succeeded:
            return Answer(Status.ERROR, result)
        payer = submission.fee_source.account
        owed = self._fees.get(payer, 0)
        if present is not None and present.fee_source.account == payer:
            owed -= present.fee
        if spendable(payer) - submission.fee < owed:
            return Answer(Status.ERROR, TransactionResult(result.fee_charged, results.INSUFFICIENT_BALANCE))
        if present is not None:
            self._drop(submission.source)
        self._make_room(submission)
        self._waiting[submission.source] = Waiting(submission)
        self._fees[payer] = self._fees.get(payer, 0) + submission.fee
        self._operations += submission.operation_count
        return Answer(Status.PENDING)

    def _against(self, present: Submission, submission: Submission) -> Answer | None:
        inner_of_present = (
            present.is_fee_bump and not submission.is_fee_bump and present.inner.hash == submission.hash
        )
        if present.hash == submission.hash or inner_of_present:
            return Answer(Status.DUPLICATE)
        if not submission.is_fee_bump or submission.sequence != present.sequence:
            return Answer(Status.TRY_AGAIN_LATER)
        old_count, new_count = max(1, present.operation_count), max(1, submission.operation_count)
        if submission.fee * old_count < REPLACE_FACTOR * present.fee * new_count:
            needed = -(-REPLACE_FACTOR * present.fee * new_count // old_count)
            return Answer(Status.ERROR, TransactionResult(needed, results.INSUFFICIENT_FEE))
        return None

    def _needed_fee(self, submission: Submission, present: Submission | None, minimum_rate: int) -> int:
        """The least fee, in stroops, that gets a place."""
        count = max(1, submission.operation_count)
        needed = minimum_rate * count if minimum_rate > 0 else 0
        if self._outbid_rate:
            needed = max(needed, (self._outbid_rate + 1) * count)
        free = self.capacity * LEDGERS_HELD - self._operations
        if present is not None:
            free += present.operation_count
        lacking = submission.operation_count - free
        for victim in sorted(self.waiting(), key=lambda each: each.fee_rate):
            if lacking <= 0:
                break
            if victim is not present:
                lacking -= victim.operation_count
                needed = max(needed, victim.fee * count // max(1, victim.operation_count) + 1)
        return needed

    def _make_room(self, submission: Submission) -> None:
        lacking = self._operations + submission.operation_count - self.capacity * LEDGERS_HELD
        for victim in sorted(self.waiting(), key=lambda each: each.fee_rate):
            if lacking <= 0:
                break
            lacking -= victim.operation_count
            self._outbid_rate = max(self._outbid_rate, victim.fee // max(1, victim.operation_count))
            self.ban([victim.hash])
            self._drop(victim.source)

    def _drop(self, source: bytes) -> None:
        submission = self._waiting.pop(source).submission
        self._operations -= submission.operation_count
        payer = submission.fee_source.account
        self._fees[payer] -= submission.fee
        if not self._fees[payer]:
            del self._fees[payer]

    # closing a ledger

    def ban(self, hashes: Iterable[bytes]) -> None:
        """Bans hashes for ten ledgers."""
        self._banned[0].update(hashes)

    def remove(self, digest: bytes) -> bool:
        """Forgets a queued transaction without a word; whether it was there."""
        for source, waiting in self._waiting.items():
            if digest in (waiting.submission.hash, waiting.submission.inner.hash):
                self._drop(source)
                return True
        return False

    def drop_invalid(self, is_valid: Callable[[Submission], bool]) -> None:
        """Drops and bans what would not be valid any more."""
        for submission in self.waiting():
            if not is_valid(submission):
                self._drop(submission.source)
                self.ban([submission.hash])

    def select(self, base_fee: int, capacity: int, random: Random) -> tuple[list[Submission], int]:
        """The next ledger's transactions, highest bids first, and the fee per operation that they are
        charged.

        Who bids less than `base_fee` per operation waits. The fee rises above it only if something has to
        wait for lack of room.
        """
        waiting = self.waiting()
        candidates = [each for each in waiting if each.fee >= base_fee * max(1, each.operation_count)]
        random.shuffle(candidates)
        candidates.sort(key=lambda each: -each.fee_rate)
        chosen: list[Submission] = []
        room, crowded = capacity, False
        for submission in candidates:
            if submission.operation_count > room:
                crowded = True
                continue
            room -= submission.operation_count
            chosen.append(submission)
        if crowded and chosen:
            base_fee = max(base_fee, min(each.fee // max(1, each.operation_count) for each in chosen))
        return chosen, base_fee

    def shift(self, applied: Iterable[Submission]) -> None:
        """Ends a ledger: what was applied leaves, what waits ages, bans run out."""
        self._banned.appendleft(set())
        self._outbid_rate = 0
        for submission in applied:
            self.ban([submission.hash])
            present = self._waiting.get(submission.source)
            if present is not None and present.submission.sequence <= submission.sequence:
                self._drop(submission.source)
        for source, waiting in list(self._waiting.items()):
            waiting.age += 1
            if waiting.age >= AGES_OUT_AFTER:
                self._drop(source)
                self.ban([waiting.submission.hash])
