"""Judges what happened by the ledger: what left the funding accounts, held against what was to be paid.

The database is asked only which payments there are and what it believes about each; the ledger says what is
true. A payment may be in one of three conditions at the end: over (paid, failed, cancelled), or in a batch
that waits for a person because a stranger used its slot.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.database_server import Database

Credit = tuple[str, str, str, Decimal]
"""From, to (as it was addressed), asset, amount."""


@dataclass(frozen=True, slots=True)
class Believed:
    """What the database says about one payment."""

    reference: str
    credit: Credit
    state: str
    quarantined: bool


@dataclass(slots=True)
class Faults:
    """Everything that contradicts the guarantee; empty when it held."""

    found: list[str] = field(default_factory=list)

    def add(self, what: str, which: Collection[object]) -> None:
        """Note a fault, with the first few that it is about."""
        if which:
            self.found.append(f"{what} ({len(which)}): {[str(one) for one in which][:5]}")


def believed(database: Database) -> list[Believed]:
    """Every payment of every run."""
    with database.connect() as connection:
        rows = connection.execute(
            "SELECT y.reference::text, f.address::text, p.destination::text,"
            " CASE WHEN p.asset_code IS NULL THEN 'native' ELSE p.asset_code || ':' || p.asset_issuer END,"
            " p.amount::numeric, p.state::text, EXISTS (SELECT FROM payroll.batch_payment AS bp"
            "   JOIN payroll.payment_batch AS b USING (batch_id)"
            "   WHERE bp.payment_id = p.payment_id AND bp.result = 'open' AND b.state = 'quarantined')"
            " FROM payroll.payment AS p JOIN payroll.payee AS y USING (payee_id)"
            " JOIN payroll.pay_run AS r USING (run_id)"
            " JOIN payroll.funding_account AS f USING (funding_account_id)"
        ).fetchall()
    return [
        Believed(reference, (funding, to, asset, Decimal(amount)), state, quarantined)
        for reference, funding, to, asset, amount, state, quarantined in rows
    ]


def credits_of(operations: Collection[dict[str, Any]], fundings: Collection[str]) -> Counter[Credit]:
    """What left the funding accounts."""
    return Counter(
        (str(op["from"]), str(op["to_muxed"] or op["to"]), str(op["asset"]), Decimal(op["amount"]))
        for op in operations
        if op["type"] == "payment" and op["from"] in fundings
    )


_ENDS = {
    "paid": {"paid"},
    "failed": {"failed"},
    "unpaid": {"failed", "cancelled"},
    "either": {"paid", "failed", "cancelled"},
}


def judge_everything(
    database: Database,
    operations: Collection[dict[str, Any]],
    fundings: Collection[str],
    foreign: Counter[Credit],
    expected: dict[str, str],
) -> list[str]:
    """What is wrong; nothing is when the list is empty.

    `foreign`: payments from the funding accounts that the test itself made. `expected`: for each payee's
    reference a key of _ENDS; a payee that is missing in the database was left out.
    """
    faults = Faults()
    payments = believed(database)
    got = credits_of(operations, fundings) - foreign
    paid = Counter(one.credit for one in payments if one.state == "paid")
    waiting = Counter(one.credit for one in payments if one.quarantined)
    faults.add("money that no payment explains, or paid twice", list((got - paid - waiting).elements()))
    faults.add("said to be paid, but not on the ledger", list((paid - got).elements()))
    per_payee = Counter(one.reference for one in payments)
    faults.add("left out", [who for who in expected if who not in per_payee])
    faults.add("more than one payment in one run", [who for who, count in per_payee.items() if count > 1])
    over = ("paid", "failed", "cancelled")
    faults.add("stuck", [one for one in payments if one.state not in over and not one.quarantined])
    faults.add(
        "neither paid nor failed as it should be",
        [one for one in payments if one.state in over and one.state not in _ENDS[expected[one.reference]]],
    )
    faults.add("the database contradicts itself", _inconsistent(database))
    return faults.found


def _inconsistent(database: Database) -> list[object]:
    """Runs whose counters differ from their payments; slots whose evidence is missing."""
    with database.connect() as connection:
        return [
            *connection.execute(
                "SELECT r.run_id, r.state::text FROM payroll.pay_run AS r LEFT JOIN LATERAL ("
                "  SELECT count(*) FILTER (WHERE state = 'pending') AS pending,"
                "    count(*) FILTER (WHERE state = 'in_flight') AS in_flight,"
                "    count(*) FILTER (WHERE state = 'paid') AS paid,"
                "    count(*) FILTER (WHERE state = 'failed') AS failed,"
                "    count(*) FILTER (WHERE state = 'held') AS held,"
                "    count(*) FILTER (WHERE state = 'cancelled') AS cancelled"
                "  FROM payroll.payment AS p WHERE p.run_id = r.run_id) AS c ON true"
                " WHERE (r.pending_count, r.in_flight_count, r.paid_count, r.failed_count, r.held_count,"
                "   r.cancelled_count)"
                "  IS DISTINCT FROM (c.pending, c.in_flight, c.paid, c.failed, c.held, c.cancelled)"
            ).fetchall(),
            *connection.execute(
                "SELECT b.batch_id, b.state::text FROM payroll.payment_batch AS b"
                " JOIN payroll.channel_account AS c USING (channel_id)"
                " WHERE b.state IN ('succeeded', 'failed') AND c.sequence < b.slot"
                " OR b.state = 'succeeded' AND NOT EXISTS (SELECT FROM payroll.envelope AS e"
                "   WHERE e.batch_id = b.batch_id AND b.settled_hash IN (e.inner_hash, e.outer_hash))"
            ).fetchall(),
        ]
