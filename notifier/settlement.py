"""What an answer means: (question, answer, what we know) → decision. Pure; every row of stellar.md sections 2
and 3.

The rules behind all rows: only the ledger settles; "no answer" is never "no"; a batch keeps its slot whatever
happens, so sending again and signing again for the same slot are always safe, and nothing here ever gives a
slot up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from notifier.network.protocol import (
    AccountReading,
    ChannelUse,
    ChannelUses,
    InLedger,
    LedgerClose,
    LookupAnswer,
    NotAsked,
    NotFound,
    Queued,
    Rejected,
    SubmitAnswer,
    TryAgainLater,
    Unknown,
)
from notifier.result_codes import CodeClass, class_of

BUMPED_LEDGERS = 5
"""Ledgers to keep asking after a channel's sequence passed a slot that no transaction in its history
explains."""

CONSUMING_FAILURES = frozenset({"tx_failed", "tx_bad_sponsorship"})
"""Codes of failed transactions in a ledger that have used their sequence number up for certain."""


@dataclass(frozen=True, slots=True)
class Settle:
    """A transaction with one of our hashes is in a ledger. `read_channel`: the settlement must say what
    the channel's sequence is at or after that ledger, because the code alone doesn't tell whether the slot
    is used."""

    found: InLedger
    read_channel: bool


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask for the envelope's hashes, then judge the rejection."""

    rejection: Rejected


@dataclass(frozen=True, slots=True)
class Later:
    """Keep the slot and look again. `alert` names what a person should mend, if anything; `slowly`: wait
    exponentially longer each time; `retry_after`: seconds that the server asked for."""

    reason: str
    alert: str | None = None
    slowly: bool = False
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class SendAgain:
    """Send the newest envelope again, unchanged."""


@dataclass(frozen=True, slots=True)
class SignAgain:
    """Sign a new envelope for the same slot and payments, with new time bounds. `raise_bid`: and a higher
    fee."""

    reason: str
    raise_bid: bool


@dataclass(frozen=True, slots=True)
class RaiseBid:
    """Wrap the same inner transaction in a fee bump with a higher bid."""


@dataclass(frozen=True, slots=True)
class SearchChannel:
    """The slot is used and none of our hashes was found: read the channel's history."""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The slot was used, and not by us."""

    reason: str
    evidence: dict[str, object] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Hold:
    """A defect: never sent again until a person resumes it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Known:
    """What the pod knows about an open batch when it judges.

    `hashes`: of every envelope. `spent`: hashes already found in a ledger as failed with the slot unused.
    `ledger`: the latest ledger, read *before* the channel. `passed_at`: the ledger as of which the channel's
    sequence was first seen at or past the slot. `can_raise`: the newest bid is below the cap. `starved`: the
    newest envelope was never rejected, so that too low a bid may be why no ledger took it.
    """

    slot: int
    hashes: frozenset[bytes]
    spent: frozenset[bytes]
    newest_spent: bool
    valid_until: datetime
    ledger: LedgerClose
    can_raise: bool
    starved: bool = True
    held: bool = False
    passed_at: int | None = None


def _settle(found: InLedger) -> Settle:
    return Settle(found, read_channel=not found.successful and found.result_code != "tx_failed")


def _used_its_number(found: InLedger) -> bool:
    return found.successful or found.result_code in CONSUMING_FAILURES


def _found(lookups: Sequence[LookupAnswer], spent: frozenset[bytes]) -> InLedger | None:
    """The first hash that settles, a success before a failure. A spent one may have been applied since."""
    found = [
        answer
        for answer in lookups
        if isinstance(answer, InLedger) and (answer.tx_hash not in spent or _used_its_number(answer))
    ]
    return next((answer for answer in found if answer.successful), found[0] if found else None)


def _unanswered(answers: Sequence[object]) -> Later | None:
    for answer in answers:
        if isinstance(answer, Unknown | NotAsked):
            return Later(answer.reason, retry_after=answer.retry_after)
    return None


def judge_submission(answer: SubmitAnswer) -> Settle | LookUp | Later:
    """What to do after an envelope was sent."""
    match answer:
        case InLedger():
            return _settle(answer)
        case Rejected():
            return LookUp(answer)
        case Queued():
            return Later("queued")
        case TryAgainLater():
            return Later("try again later")
        case NotAsked(reason, retry_after) | Unknown(reason, retry_after):
            return Later(reason, retry_after=retry_after)


def judge_rejection(
    rejection: Rejected, lookups: Sequence[LookupAnswer], known: Known
) -> Settle | Later | RaiseBid | SignAgain | Hold:
    """What to do after a submission was answered "failed" and the envelope's hashes were looked up."""
    if (found := _found(lookups, known.spent)) is not None:
        return _settle(found)
    if (later := _unanswered(lookups)) is not None:
        return later
    code = rejection.code
    if code == "tx_failed":
        return _judge_failed_operations(rejection.operation_codes or ())
    match class_of(code):
        case CodeClass.RAISE_BID if known.can_raise and known.ledger.closed_at < known.valid_until:
            return RaiseBid()
        case CodeClass.RAISE_BID if known.can_raise:
            return SignAgain(code, raise_bid=True)
        case CodeClass.RAISE_BID:
            return Later(code, alert="fee_cap_reached", slowly=True)
        case CodeClass.NEW_BOUNDS:
            return SignAgain(code, raise_bid=False)
        case CodeClass.SOURCE:
            return Later(code, alert="source_account", slowly=True)
        case CodeClass.SEND_AGAIN:
            return Later(code, slowly=True)
        case CodeClass.LOOK_FIRST | CodeClass.SUCCESS:
            return Later(code)
        case CodeClass.DEFECT | CodeClass.PAYEE:
            return Hold(f"submission was rejected with {code}")


def _judge_failed_operations(codes: Sequence[str]) -> Later | Hold:
    """tx_failed whose hash isn't found: rejected by an operation's own check, or in a ledger that the node
    hasn't read."""
    for code in codes:
        if class_of(code) is CodeClass.DEFECT:
            return Hold(f"submission was rejected with tx_failed and {code}")
    for code in codes:
        if class_of(code) is CodeClass.SOURCE:
            return Later(code, alert="source_account", slowly=True)
    return Later("tx_failed, not yet found in a ledger")


def judge_open_batch(
    channel: AccountReading | NotFound | NotAsked | Unknown,
    lookups: Sequence[LookupAnswer],
    uses: ChannelUses | NotAsked | Unknown | None,
    known: Known,
) -> Settle | Later | SendAgain | SignAgain | SearchChannel | Quarantine:
    """What to do about a batch whose fate is unknown.

    `channel` was read before `lookups` (one per hash). `uses` is None until SearchChannel was answered.
    """
    if (found := _found(lookups, known.spent)) is not None:
        return _settle(found)
    if (later := _unanswered((channel, *lookups))) is not None:
        return later
    if not isinstance(channel, AccountReading):
        return Later("the channel account does not exist", alert="channel_missing", slowly=True)
    if channel.sequence >= known.slot:
        return _judge_used_slot(channel, uses, known)
    if known.held:
        return Later("held", slowly=True)
    if channel.sequence < known.slot - 1:
        reason = f"channel is at {channel.sequence}, which is before the slot's predecessor {known.slot - 1}"
        return Later(reason, alert="sequence_gap", slowly=True)
    if known.newest_spent:
        return SignAgain("in a ledger as invalid, slot unused", raise_bid=False)
    if known.ledger.closed_at > known.valid_until:
        if channel.as_of_ledger < known.ledger.sequence:
            return Later("the node that read the channel is behind")
        return SignAgain("expired, slot unused", raise_bid=known.starved)
    return SendAgain()


def _judge_used_slot(
    channel: AccountReading, uses: ChannelUses | NotAsked | Unknown | None, known: Known
) -> Settle | Later | SearchChannel | Quarantine:
    if uses is None:
        return SearchChannel()
    if isinstance(uses, NotAsked | Unknown):
        return Later(uses.reason, retry_after=uses.retry_after)
    if (paid := consumer_of(uses, known.hashes)) is not None:
        return _settle(paid)
    consumers = [use for use in uses.uses if _used_its_number(use.found)]
    for use in uses.uses:
        ours = known.hashes & {use.tx_hash, use.inner_hash}
        if ours and not ours <= known.spent:
            return _settle(use.found)
    evidence: dict[str, object] = {
        "channel_sequence": str(channel.sequence),
        "as_of_ledger": channel.as_of_ledger,
        "transactions": [_describe(use) for use in uses.uses],
    }
    if consumers:
        return Quarantine("a transaction that is not ours used the slot", evidence)
    waited = channel.as_of_ledger - known.passed_at if known.passed_at is not None else 0
    if uses.complete and waited >= BUMPED_LEDGERS:
        return Quarantine("the channel's sequence was moved past the slot by something else", evidence)
    return Later("slot used, by a transaction not yet found", alert="slot_unexplained" if waited else None)


def consumer_of(uses: ChannelUses, hashes: frozenset[bytes]) -> InLedger | None:
    """The transaction that used the slot and has one of our hashes, in whatever fee bump; None if there is
    none."""
    for use in uses.uses:
        if _used_its_number(use.found) and hashes & {use.tx_hash, use.inner_hash}:
            return use.found
    return None


def _describe(use: ChannelUse) -> dict[str, object]:
    return {
        "hash": use.tx_hash.hex(),
        "inner_hash": use.inner_hash.hex() if use.inner_hash else None,
        "sequence": str(use.sequence),
        "ledger": use.found.ledger,
        "successful": use.found.successful,
        "result_code": use.found.result_code,
    }
