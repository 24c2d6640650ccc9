"""The network: takes transactions, closes ledgers, and shows what a lookup node has read so far. No input or
output."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random

from nacl.signing import SigningKey

from sandbox.apply import apply_submission, charge_fee
from sandbox.clock import Clock
from sandbox.entries import Account
from sandbox.history import History, LedgerRecord, TransactionRecord
from sandbox.ledger import Header, LedgerState, LedgerView
from sandbox.ledger_xdr import fee_changes, seal_header
from sandbox.queue import Answer, TransactionQueue
from sandbox.reserves import available_balance
from sandbox.results import TransactionResult
from sandbox.transaction import Submission, read_envelope
from sandbox.validity import Moment, check_submission

TOTAL_COINS = 10**18
_BEHIND: ContextVar[int] = ContextVar("ledgers by which the node lags that answers now", default=0)


@contextmanager
def behind(ledgers: int) -> Iterator[None]:
    """Within it (and its task), lookups are answered by a node that lags by so many ledgers."""
    token = _BEHIND.set(ledgers)
    try:
        yield
    finally:
        _BEHIND.reset(token)


@dataclass(slots=True)
class Conditions:
    """What may go wrong with the network itself, changed while it runs.

    `surge_rate`: least bid per operation that is taken (0: the base fee). `lag`: ledgers by which lookups
    trail. `retention`: ledgers that lookups keep (0: all). `close_factor`: closes take so many times longer;
    infinite: stalled.
    `close_jitter`: each close takes up to so many intervals longer, by the seed.
    """

    surge_rate: int = 0
    lag: int = 0
    retention: int = 0
    close_factor: float = 1.0
    close_jitter: float = 0.0


@dataclass(frozen=True, slots=True)
class Parameters:
    """The network's constants. Fees and reserves in stroops; `close_seconds` is what core expects a close to
    take."""

    passphrase: str
    base_fee: int = 100
    base_reserve: int = 5_000_000
    max_operations: int = 1000
    close_seconds: float = 5.0
    protocol: int = 23
    seed: int = 0


class Network:
    """One ledger, one queue, one lookup node."""

    def __init__(self, parameters: Parameters, clock: Clock | None = None) -> None:
        self.parameters = parameters
        self.clock = clock or Clock()
        self.conditions = Conditions()
        self.network_id = hashlib.sha256(parameters.passphrase.encode()).digest()
        self.root_key = SigningKey(self.network_id)
        self.root = bytes(self.root_key.verify_key)
        self.random = Random(parameters.seed)  # noqa: S311 - orders are to be repeatable
        self.queue = TransactionQueue(parameters.max_operations)
        self.state = LedgerState(parameters.base_reserve)
        self.history = History()
        self._ingested = 1
        self._injected: list[tuple[Submission, bool]] = []
        self._open_genesis()

    def _open_genesis(self) -> None:
        start = self.clock.now()
        header = Header(1, start, b"", bytes(32), TOTAL_COINS, 0, *self._constants())
        self.state.sequence, self.state.close_time = 1, start
        self.state.put_account(Account(self.root, TOTAL_COINS, 0))
        self.state.seal()
        self.history.add(seal_header(header, self.network_id), [])
        self.ingest()

    def _constants(self) -> tuple[int, int, int, int]:
        given = self.parameters
        return given.base_fee, given.base_reserve, given.max_operations, given.protocol

    # core

    @property
    def latest(self) -> Header:
        """The header of the ledger that closed last."""
        return self.history.latest

    def read(self, envelope: str) -> Submission:
        """Decodes an envelope for this network; MalformedEnvelope if it is none."""
        return read_envelope(envelope, self.network_id)

    def _queue_moment(self) -> Moment:
        """As core does: too late counts twice the expected close time and the clock's drift on top."""
        latest = self.latest.close_time
        offset = math.ceil(2 * self.parameters.close_seconds) + max(0, self.clock.now() - latest)
        return Moment(self.latest.sequence + 1, latest, latest + offset, self.parameters.base_fee)

    def check(self, submission: Submission) -> TransactionResult:
        """The validity of a transaction now, as for the queue."""
        return check_submission(self.state, submission, self._queue_moment())

    def spendable(self, key: bytes) -> int:
        """What an account may spend, in stroops."""
        account = self.state.account(key)
        return 0 if account is None else available_balance(account, self.state.base_reserve)

    def submit(self, submission: Submission) -> Answer:
        """Core's answer to a transaction that was sent."""
        return self.queue.try_add(submission, self.check, self.spendable, self.conditions.surge_rate)

    def inject(self, submission: Submission, first: bool = True) -> None:
        """Puts a transaction into the next ledger past the queue's rules, before (or after) all others."""
        self._injected.append((submission, first))

    def injected_of(self, source: bytes) -> int:
        """How many injected transactions of an account wait for the next ledger."""
        return sum(submission.source == source for submission, _ in self._injected)

    def _next_close_time(self) -> int:
        step = 1 if self.parameters.close_seconds >= 1 else 0
        return max(self.latest.close_time + step, self.clock.now())

    def close(self) -> LedgerRecord:
        """Closes a ledger: takes all fees, then applies in a shuffled order."""
        previous, state = self.latest, self.state
        state.sequence = previous.sequence + 1
        state.close_time = self._next_close_time()
        moment = Moment(state.sequence, state.close_time, state.close_time, self.parameters.base_fee)
        self.queue.drop_invalid(lambda each: check_submission(state, each, moment).succeeded)
        room = self.parameters.max_operations
        least = max(self.parameters.base_fee, self.conditions.surge_rate)
        chosen, fee_rate = self.queue.select(least, room, self.random)
        chosen.sort(key=lambda each: each.hash)
        self.random.shuffle(chosen)
        chosen = [each for each, first in self._injected if first] + chosen
        chosen += [each for each, first in self._injected if not first]
        self._injected.clear()
        charged = []
        for submission in chosen:
            payer = submission.fee_source.account
            account = state.account(payer)
            if account is None:
                continue
            state.mark()
            fee = charge_fee(state, submission, fee_rate)
            now = state.account(payer)
            assert now is not None
            charged.append((submission, fee, fee_changes(account, now)))
        state.mark()
        applied = [(apply_submission(state, each, moment, fee), meta) for each, fee, meta in charged]
        header = Header(
            state.sequence,
            state.close_time,
            b"",
            previous.hash,
            TOTAL_COINS,
            state.fee_pool,
            *self._constants(),
        )
        contents = hashlib.sha256(
            previous.hash + b"".join(each.submission.hash for each, _ in applied)
        ).digest()
        record = self.history.add(seal_header(header, contents), applied)
        state.seal()
        self.queue.shift(each.submission for each, _ in applied)
        return record

    # lookups

    def ingest(self) -> int:
        """Lets the lookup node read on, as far as its lag allows; the ledger it has reached."""
        self._ingested = max(self._ingested, self.latest.sequence - self.conditions.lag)
        return self._ingested

    @property
    def ingested(self) -> int:
        """The ledger that the lookup node has reached; a lagging one's while `behind` is in force."""
        return max(1, min(self._ingested, self.latest.sequence - _BEHIND.get()))

    @property
    def elder(self) -> int:
        """The oldest ledger that lookups still know."""
        kept = self.conditions.retention
        return max(1, self.ingested - kept + 1) if kept else 1

    def view(self) -> LedgerView:
        """The state as the lookup node knows it."""
        return self.state.seen_at(self.ingested)

    def find(self, digest: bytes) -> TransactionRecord | None:
        """A transaction by hash, if its ledger is ingested and kept."""
        record = self.history.find(digest)
        if record is None or not self.elder <= record.header.sequence <= self.ingested:
            return None
        return record

    def fee_statistics(self, ledgers: int = 5) -> tuple[list[int], list[int], float]:
        """Fees charged and bid per operation in the last ledgers, and how full the last one was (0 to 1)."""
        charged: list[int] = []
        bids: list[int] = []
        usage = 0.0
        for record in self.history.ledgers[max(0, self.ingested - ledgers) : self.ingested]:
            for each in record.transactions:
                count = max(1, each.submission.operation_count)
                charged.append(each.result.fee_charged // count)
                bids.append(each.submission.fee // count)
            used = sum(each.submission.operation_count for each in record.transactions)
            usage = used / self.parameters.max_operations
        return charged, bids, usage

    def summary(self) -> dict[str, object]:
        """Counters for tests and people."""
        codes = Counter(
            record.result.name for ledger in self.history.ledgers for record in ledger.transactions
        )
        return {
            "ledger": self.latest.sequence,
            "closed_at": self.latest.close_time,
            "ingested": self.ingested,
            "elder": self.elder,
            "queued": len(self.queue.waiting()),
            "banned": self.queue.banned_count,
            "accounts": len(self.state.tables[0]),
            "fee_pool": self.state.fee_pool,
            "transactions": dict(codes),
        }
