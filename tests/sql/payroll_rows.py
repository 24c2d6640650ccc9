"""Rows that the SQL tests stand on, and calls as a pod makes them.

Everything runs in the test's own transaction. Rows are written as superuser; functions are called as role
payroll_pod unless the caller says otherwise, so each test also shows that this role is enough.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import count
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import TupleRow, dict_row
from stellar_sdk import StrKey

Connection = psycopg.Connection[TupleRow]
Row = dict[str, Any]

PASSPHRASE = "Paylock SQL tests ; 2026"
POD = "pod-1:00000000"
OTHER_POD = "pod-2:00000000"

_numbers = count(1)


def some_bytes(*words: object) -> bytes:
    """32 bytes that are the same for the same words."""
    return hashlib.sha256("/".join(map(str, words)).encode()).digest()


def account(*words: object) -> str:
    """A valid G… address that is the same for the same words."""
    return StrKey.encode_ed25519_public_key(some_bytes("account", *words))


def muxed(*words: object, number: int = 7) -> str:
    """A valid M… address."""
    return StrKey.encode_med25519_public_key(some_bytes("account", *words) + number.to_bytes(8, "big"))


def call(
    connection: Connection, function: str, /, *, role: str = "payroll_pod", **arguments: object
) -> list[Row]:
    """The rows of payroll.<function>(name => value, …), called as `role`."""
    named = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in arguments
    )
    query = sql.SQL("SELECT * FROM payroll.{}({})").format(sql.Identifier(function), named)
    connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(query, arguments).fetchall()
    connection.execute("RESET ROLE")
    return rows


@contextmanager
def refused(connection: Connection, *sqlstates: str, words: str = "") -> Iterator[None]:
    """The block must fail with one of `sqlstates` and `words` in the message; its changes are undone."""
    with pytest.raises(psycopg.Error) as refusal, connection.transaction():
        yield
    assert refusal.value.sqlstate in sqlstates, refusal.value
    assert words in str(refusal.value)


def rows(connection: Connection, query: str, *arguments: object) -> list[Row]:
    """Rows by column name, as superuser."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, arguments).fetchall()


def one(connection: Connection, query: str, *arguments: object) -> Any:
    """The only row's only value."""
    ((value,),) = connection.execute(query, arguments).fetchall()
    return value


def set_clock(connection: Connection, moment: datetime) -> None:
    """From here on, to the end of the transaction, the database's clock stands at `moment`."""
    connection.execute(
        sql.SQL(
            "CREATE OR REPLACE FUNCTION payroll.read_clock() RETURNS timestamptz"
            " LANGUAGE sql VOLATILE PARALLEL SAFE AS {}"
        ).format(sql.Literal(f"SELECT '{moment.isoformat()}'::timestamptz"))
    )


@dataclass(frozen=True, slots=True)
class Organization:
    """One organization with a funding account and channels."""

    organization_id: int
    name: str
    funding_account_id: int
    funding_address: str
    channel_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """What one payee of a schedule gets. `asset` is (code, issuer) or None for XLM."""

    payee_id: int
    amount: str = "12.5"
    asset: tuple[str, str] | None = None
    line: int = 1


def new_organization(connection: Connection, name: str | None = None, *, channels: int = 1) -> Organization:
    """The organization; its channels' sequences are 1000, 2000, …, key indexes 0, 1, …"""
    name = name or f"organization-{next(_numbers)}"
    organization_id = one(
        connection,
        "INSERT INTO payroll.organization (name, display_name, created_at) VALUES (%s, %s, now())"
        " RETURNING organization_id",
        name,
        name.title(),
    )
    address = account(name, "funding")
    funding_account_id = one(
        connection,
        "INSERT INTO payroll.funding_account (organization_id, address, created_at) VALUES (%s, %s, now())"
        " RETURNING funding_account_id",
        organization_id,
        address,
    )
    channel_ids = tuple(
        one(
            connection,
            "INSERT INTO payroll.channel_account (organization_id, address, key_index, sequence, created_at)"
            " VALUES (%s, %s, %s, %s, now()) RETURNING channel_id",
            organization_id,
            account(name, "channel", index),
            index,
            1000 * (index + 1),
        )
        for index in range(channels)
    )
    return Organization(organization_id, name, funding_account_id, address, channel_ids)


def new_payee(
    connection: Connection,
    organization: Organization,
    reference: str | None = None,
    *,
    destination: str | None = None,
    memo: tuple[str, str | None] = ("none", None),
) -> int:
    """The payee's id."""
    reference = reference or f"payee-{next(_numbers)}"
    payee_id: int = one(
        connection,
        "INSERT INTO payroll.payee (organization_id, reference, name, destination, memo_type, memo_value,"
        " created_at, changed_at) VALUES (%s, %s, %s, %s, %s, %s, now(), now()) RETURNING payee_id",
        organization.organization_id,
        reference,
        reference.title(),
        destination or account(organization.name, reference),
        *memo,
    )
    return payee_id


def new_payees(connection: Connection, organization: Organization, number: int) -> list[int]:
    """The ids of as many payees, made in one statement."""
    references = [f"payee-{next(_numbers)}" for _ in range(number)]
    found = connection.execute(
        "INSERT INTO payroll.payee (organization_id, reference, name, destination, created_at, changed_at)"
        " SELECT %s, sent.reference, sent.reference, sent.destination, now(), now()"
        " FROM unnest(%s::text[], %s::text[]) AS sent (reference, destination) RETURNING payee_id",
        (
            organization.organization_id,
            references,
            [account(organization.name, reference) for reference in references],
        ),
    ).fetchall()
    return [row[0] for row in found]


def new_schedule(
    connection: Connection,
    organization: Organization,
    lines: Sequence[Line],
    *,
    rule: str = "ONCE",
    anchor: date | None = None,
    end_date: date | None = None,
    pay_time: time = time(9),
    zone: str = "Etc/UTC",
    memo_policy: str = "reference_hash",
    memo_text: str | None = None,
    lead_time: timedelta = timedelta(),
) -> int:
    """The schedule's id. Without an anchor its first date was yesterday: it is due."""
    anchor = anchor or datetime.now(UTC).date() - timedelta(days=1)
    schedule_id: int = one(
        connection,
        """
        INSERT INTO payroll.pay_schedule (
            organization_id, name, funding_account_id, rule, recurrence_frequency, recurrence_every,
            recurrence_week_days, recurrence_month_days, recurrence_skip, anchor, end_date, pay_time,
                time_zone,
            lead_time, memo_policy, memo_text, next_nominal_date, next_pay_at, next_open_at, created_at,
                changed_at)
        SELECT given.organization_id, given.name, given.funding_account_id, given.rule, r.frequency, r.every,
               r.week_days, r.month_days, r.skip, given.anchor, given.end_date, given.pay_time,
                   given.time_zone,
               given.lead_time, given.memo_policy, given.memo_text, n.nominal_date, n.pay_at,
               n.pay_at - given.lead_time, now(), now()
        FROM (VALUES (%s::bigint, %s, %s::bigint, %s, %s::date, %s::date, %s::time, %s, %s::interval,
                      %s::payroll.memo_policy, %s))
            AS given (organization_id, name, funding_account_id, rule, anchor, end_date, pay_time, time_zone,
                      lead_time, memo_policy, memo_text)
        CROSS JOIN LATERAL payroll.parse_recurrence(given.rule) AS r
        CROSS JOIN LATERAL payroll.next_occurrence(
            r.frequency, r.every, r.week_days, r.month_days, r.skip, given.anchor, NULL, given.end_date,
            given.pay_time, given.time_zone) AS n
        RETURNING schedule_id
        """,
        organization.organization_id,
        f"schedule-{next(_numbers)}",
        organization.funding_account_id,
        rule,
        anchor,
        end_date,
        pay_time,
        zone,
        lead_time,
        memo_policy,
        memo_text,
    )
    connection.execute(
        "INSERT INTO payroll.schedule_line"
        " (organization_id, schedule_id, payee_id, line, asset_code, asset_issuer, amount)"
        " SELECT %s, %s, sent.* FROM unnest(%s::bigint[], %s::integer[], %s::text[], %s::text[],"
        " %s::numeric[])"
        " AS sent",
        (
            organization.organization_id,
            schedule_id,
            [line.payee_id for line in lines],
            [line.line for line in lines],
            [line.asset and line.asset[0] for line in lines],
            [line.asset and line.asset[1] for line in lines],
            [line.amount for line in lines],
        ),
    )
    return schedule_id


def start_pods(connection: Connection, *pods: str) -> None:
    """Registers the pods on this database's network."""
    connection.execute(
        "INSERT INTO payroll.installation (network_passphrase, set_at) VALUES (%s, now()) ON"
        " CONFLICT DO NOTHING",
        (PASSPHRASE,),
    )
    for pod in pods:
        call(connection, "start_pod", pod=pod, network_passphrase=PASSPHRASE, lease_seconds=30)


def open_run(
    connection: Connection, organization: Organization, *, payees: int = 3, **terms: Any
) -> tuple[int, list[int]]:
    """A schedule that was due and its run, opened: (run_id, payment ids). Pod POD is registered."""
    start_pods(connection, POD)
    lines = [Line(payee_id) for payee_id in new_payees(connection, organization, payees)]
    schedule_id = new_schedule(connection, organization, lines, **terms)
    opened = {row["schedule_id"]: row["run_id"] for row in call(connection, "claim_due_schedules", pod=POD)}
    run_id: int = opened[schedule_id]
    payments = rows(connection, "SELECT payment_id FROM payroll.payment WHERE run_id = %s ORDER BY 1", run_id)
    return run_id, [payment["payment_id"] for payment in payments]


def claim(connection: Connection, pod: str = POD) -> Row:
    """One claimed batch."""
    (batch,) = call(connection, "claim_payments", pod=pod)
    return batch


def envelope(batch: Row, attempt: int = 1, **changed: object) -> Row:
    """The arguments of record_envelope for the batch's attempt number `attempt`."""
    return {
        "batch_id": batch["batch_id"],
        "claim_token": batch["claim_token"],
        "slot": batch["slot"],
        "inner_hash": some_bytes("inner", batch["batch_id"], attempt),
        "outer_hash": some_bytes("outer", batch["batch_id"], attempt),
        "envelope_xdr": f"AAAA{attempt}",
        "fee_bid": 400,
        "valid_until": datetime(2030, 1, 1, tzinfo=UTC),
        "as_of_ledger": 50,
        **changed,
    }


def record(connection: Connection, batch: Row, attempt: int = 1, **changed: object) -> None:
    """Records an envelope for the batch."""
    call(connection, "record_envelope", **envelope(batch, attempt, **changed))


def release(connection: Connection, batch: Row) -> bool:
    """Gives the batch back."""
    ((released,),) = (row.values() for row in call(connection, "release_batch", **token_of(batch)))
    return bool(released)


def token_of(batch: Row) -> Row:
    """The batch's id and claim token as arguments."""
    return {"batch_id": batch["batch_id"], "claim_token": batch["claim_token"]}


def report(batch: Row, attempt: int = 1, **changed: object) -> Row:
    """The arguments of settle_batch saying that attempt number `attempt` succeeded."""
    return {
        "batch_id": batch["batch_id"],
        "tx_hash": some_bytes("outer", batch["batch_id"], attempt),
        "ledger": 60,
        "closed_at": datetime(2026, 1, 1, tzinfo=UTC),
        "successful": True,
        "result_code": "tx_success",
        "operation_codes": None,
        "fee_charged": 400,
        "channel_sequence": None,
        **changed,
    }


def failure(batch: Row, *codes: str, attempt: int = 1, **changed: object) -> Row:
    """The same saying that it is in a ledger and failed with these operation codes."""
    terms = {"successful": False, "result_code": "tx_failed", "operation_codes": list(codes), **changed}
    return report(batch, attempt, **terms)


def settle(connection: Connection, settlement: Row) -> str:
    """The batch's state after the report."""
    ((state,),) = (row.values() for row in call(connection, "settle_batch", **settlement))
    return str(state)


def payment_states(connection: Connection, run_id: int) -> list[str]:
    """The states of the run's payments in their order."""
    found = rows(
        connection, "SELECT state::text FROM payroll.payment WHERE run_id = %s ORDER BY payment_id", run_id
    )
    return [row["state"] for row in found]


def run_row(connection: Connection, run_id: int) -> Row:
    """The run, after a check that its counters say what its payments say."""
    (run,) = rows(connection, "SELECT *, state::text AS state FROM payroll.pay_run WHERE run_id = %s", run_id)
    states = payment_states(connection, run_id)
    for state in ("pending", "in_flight", "held", "paid", "failed", "cancelled"):
        assert run[f"{state}_count"] == states.count(state), f"{state}_count against {states}"
    return run


def batch_row(connection: Connection, batch_id: int) -> Row:
    """The batch's row."""
    (batch,) = rows(
        connection, "SELECT *, state::text AS state FROM payroll.payment_batch WHERE batch_id = %s", batch_id
    )
    return batch


def channel_row(connection: Connection, channel_id: int) -> Row:
    """The channel's row."""
    (channel,) = rows(
        connection,
        "SELECT state::text, state_reason, sequence, live_batch_id FROM payroll.channel_account"
        " WHERE channel_id = %s",
        channel_id,
    )
    return channel
