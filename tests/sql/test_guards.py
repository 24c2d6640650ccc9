"""The guards that hold even against the owner: uniqueness, rows that stay, rows that can't be rewritten."""

import psycopg
import pytest
from psycopg.rows import TupleRow

from tests.sql.payroll_rows import (
    Connection,
    claim,
    new_organization,
    one,
    open_run,
    record,
    refused,
    release,
    report,
    rows,
    settle,
    some_bytes,
)

KEPT_TABLES = [
    "pay_run", "payment", "payment_batch", "batch_payment", "envelope", "audit_event", "channel_account",
    "funding_account",
]  # fmt: skip


@pytest.fixture
def owner(connection: psycopg.Connection[TupleRow]) -> Connection:
    """The connection acting as payroll_owner, who owns the tables; one run, its batch signed."""
    organization = new_organization(connection, channels=2)
    open_run(connection, organization, payees=2)
    record(connection, claim(connection))
    connection.execute("SET LOCAL ROLE payroll_owner")
    return connection


def test_a_second_run_for_an_occurrence_is_impossible(owner: Connection) -> None:
    with refused(owner, "23505", words="pay_run_once"):
        owner.execute(
            "INSERT INTO payroll.pay_run (organization_id, schedule_id, nominal_date, pay_at,"
            " funding_account_id,"
            " memo_type, memo_value, state, next_serve_at, opened_at, opened_by) SELECT"
            " organization_id, schedule_id,"
            " nominal_date, pay_at, funding_account_id, memo_type, memo_value, 'approved',"
            " next_serve_at, opened_at,"
            " opened_by FROM payroll.pay_run"
        )


def test_a_run_can_not_be_renamed_to_another_occurrence(owner: Connection) -> None:
    with refused(owner, "PL003"):
        owner.execute("UPDATE payroll.pay_run SET nominal_date = nominal_date + 1")


def test_a_second_payment_for_a_line_of_a_run_is_impossible(owner: Connection) -> None:
    with refused(owner, "23505", words="payment_once"):
        owner.execute(
            "INSERT INTO payroll.payment (organization_id, run_id, payee_id, line, destination,"
            " memo_type, amount)"
            " SELECT organization_id, run_id, payee_id, line, destination, 'none', amount FROM"
            " payroll.payment"
        )


NEW_BATCH = """
    INSERT INTO payroll.payment_batch (
        organization_id, run_id, channel_id, slot, memo_type, memo_value, state, claim_token,
            claimed_by, claimed_at)
    SELECT organization_id, run_id, {channel}, slot + {step}, memo_type, memo_value, 'claimed',
        gen_random_uuid(),
           claimed_by, claimed_at
    FROM payroll.payment_batch LIMIT 1
    RETURNING batch_id
"""
OTHER_CHANNEL = "(SELECT max(channel_id) FROM payroll.channel_account)"


@pytest.mark.parametrize("result", ["open", "paid"])
def test_a_second_live_batch_for_a_payment_is_impossible(owner: Connection, result: str) -> None:
    owner.execute("UPDATE payroll.batch_payment SET result = %s", (result,))
    other = one(owner, NEW_BATCH.format(channel=OTHER_CHANNEL, step=1))
    with refused(owner, "23505", words="batch_payment_one_live"):
        owner.execute(
            "INSERT INTO payroll.batch_payment (batch_id, payment_id, position)"
            " SELECT %s, payment_id, position FROM payroll.batch_payment",
            (other,),
        )


@pytest.mark.parametrize("result", ["failed", "released"])
def test_a_payment_whose_last_batch_paid_nobody_may_have_another(owner: Connection, result: str) -> None:
    owner.execute("UPDATE payroll.batch_payment SET result = %s", (result,))
    other = one(owner, NEW_BATCH.format(channel=OTHER_CHANNEL, step=1))
    owner.execute(
        "INSERT INTO payroll.batch_payment (batch_id, payment_id, position)"
        " SELECT %s, payment_id, position FROM payroll.batch_payment",
        (other,),
    )


@pytest.mark.parametrize("state", ["claimed", "signed", "quarantined"])
def test_two_live_batches_on_one_channel_are_impossible(owner: Connection, state: str) -> None:
    if state == "quarantined":
        owner.execute("UPDATE payroll.payment_batch SET state = 'quarantined'")
    with refused(owner, "23505", words="payment_batch_one_live_per_channel"):
        owner.execute(NEW_BATCH.format(channel="channel_id", step=1))


def test_a_slot_that_had_a_batch_is_never_given_to_another(connection: Connection) -> None:
    """Though its batch is closed and the channel is idle. Only a released one, never sent, frees its slot."""
    open_run(connection, new_organization(connection), payees=2)
    first = claim(connection)
    release(connection, first)
    second = claim(connection)
    assert second["slot"] == first["slot"]
    record(connection, second)
    settle(connection, report(second))
    with refused(connection, "23505", words="payment_batch_one_per_slot"):
        connection.execute(NEW_BATCH.format(channel="channel_id", step=0))


def test_an_envelope_hash_stands_once(owner: Connection) -> None:
    columns = (
        "organization_id, batch_id, slot, envelope_xdr, fee_bid, valid_until, as_of_ledger, recorded_by,"
    )
    columns += " recorded_at"
    with refused(owner, "23505"):
        owner.execute(
            f"INSERT INTO payroll.envelope ({columns}, inner_hash, outer_hash)"
            f" SELECT {columns}, inner_hash, outer_hash FROM payroll.envelope"
        )
    with refused(owner, "23505"):
        owner.execute(
            f"INSERT INTO payroll.envelope ({columns}, inner_hash, outer_hash)"
            f" SELECT {columns}, %s, outer_hash FROM payroll.envelope",
            (some_bytes("another"),),
        )


@pytest.mark.parametrize("statement", ["DELETE FROM payroll.{}", "TRUNCATE payroll.{} CASCADE"])
@pytest.mark.parametrize("table", KEPT_TABLES)
def test_rows_about_money_can_not_be_removed(owner: Connection, table: str, statement: str) -> None:
    with refused(owner, "PL003", words="kept for ever"):
        owner.execute(statement.format(table))


@pytest.mark.parametrize("table", ["organization", "payee", "pay_schedule"])
def test_removing_what_money_rows_point_to_is_refused(owner: Connection, table: str) -> None:
    with refused(owner, "23503", "PL003"):
        owner.execute(f"DELETE FROM payroll.{table}")
    with refused(owner, "PL003", words="kept for ever"):
        owner.execute(f"TRUNCATE payroll.{table} CASCADE")


def test_no_foreign_key_deletes_or_rewrites_anything_by_itself(connection: Connection) -> None:
    found = rows(
        connection,
        "SELECT conrelid::regclass::text AS tab, conname FROM pg_constraint JOIN pg_namespace n ON"
        " n.oid = connamespace"
        " WHERE n.nspname = 'payroll' AND contype = 'f' AND (confdeltype NOT IN ('a', 'r') OR"
        " confupdtype NOT IN ('a', 'r'))",
    )
    assert found == []


def test_every_foreign_key_of_the_schema_is_valid(connection: Connection) -> None:
    assert (
        one(
            connection,
            "SELECT count(*) FROM pg_constraint JOIN pg_namespace n ON n.oid = connamespace"
            " WHERE n.nspname = 'payroll' AND NOT convalidated",
        )
        == 0
    )


REWRITES = [
    ("payment", "amount = amount + 1"),
    ("payment", "destination = destination || 'X'"),
    ("payment", "payee_id = payee_id + 1"),
    ("payment", "line = line + 1"),
    ("payment", "memo_type = 'id', memo_value = '7'"),
    ("payment", "asset_code = 'USDC', asset_issuer = destination"),
    ("payment", "run_id = run_id + 1"),
    ("payment_batch", "slot = slot + 1"),
    ("payment_batch", "channel_id = channel_id + 1"),
    ("payment_batch", "run_id = run_id + 1"),
    ("payment_batch", "memo_type = 'none', memo_value = NULL"),
    ("batch_payment", "position = position + 5"),
    ("batch_payment", "payment_id = payment_id + 100"),
    ("envelope", "slot = slot + 1"),
    ("envelope", "inner_hash = sha256('x')"),
    ("envelope", "outer_hash = NULL"),
    ("envelope", "envelope_xdr = 'BBBB'"),
    ("pay_run", "schedule_id = schedule_id + 1"),
    ("pay_run", "organization_id = organization_id + 1"),
    ("channel_account", "sequence = sequence - 1"),
    ("channel_account", "address = (SELECT address FROM payroll.funding_account)"),
]


@pytest.mark.parametrize(("table", "change"), REWRITES)
def test_what_was_fixed_when_the_row_was_made_can_not_be_rewritten(
    owner: Connection, table: str, change: str
) -> None:
    with refused(owner, "PL003", words="can't be rewritten"):
        owner.execute(f"UPDATE payroll.{table} SET {change}")


@pytest.mark.parametrize("before", ["paid", "failed", "released"])
@pytest.mark.parametrize("after", ["open", "paid", "failed", "released"])
def test_a_result_is_given_once(owner: Connection, before: str, after: str) -> None:
    owner.execute("UPDATE payroll.batch_payment SET result = %s", (before,))
    if before == after:
        owner.execute("UPDATE payroll.batch_payment SET result = %s", (after,))
    else:
        with refused(owner, "PL003", words="can't be rewritten"):
            owner.execute("UPDATE payroll.batch_payment SET result = %s", (after,))


def test_a_batch_is_not_closed_without_evidence(owner: Connection) -> None:
    for state in ("succeeded", "failed"):
        with refused(owner, "23514", words="payment_batch_closed_by_evidence"):
            owner.execute("UPDATE payroll.payment_batch SET state = %s", (state,))


def test_the_audit_trail_can_not_be_changed(owner: Connection) -> None:
    owner.execute(
        "INSERT INTO payroll.audit_event (at, actor, action, subject) VALUES (now(), 'a', 'test', 'nothing')"
    )
    with refused(owner, "PL003", words="kept for ever"):
        owner.execute("UPDATE payroll.audit_event SET actor = 'b'")


def test_a_database_belongs_to_one_network(owner: Connection) -> None:
    with refused(owner, "23505"):
        owner.execute("INSERT INTO payroll.installation (network_passphrase, set_at) VALUES ('Other', now())")
    with refused(owner, "23514"):
        owner.execute(
            "INSERT INTO payroll.installation (only_row, network_passphrase, set_at) VALUES (false,"
            " 'Other', now())"
        )
