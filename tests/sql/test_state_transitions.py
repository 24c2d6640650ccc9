"""Every pair of states of every entity: what payroll.state_transition allows happens, all else is refused."""

from dataclasses import dataclass

import psycopg
import pytest
from psycopg.rows import TupleRow

from tests.sql.payroll_rows import (
    Connection,
    Organization,
    claim,
    new_organization,
    one,
    open_run,
    refused,
    rows,
)


@dataclass(frozen=True, slots=True)
class Entity:
    """Where an entity's states live. `copied` are the columns that an insert takes from an existing row."""

    name: str
    table: str
    key: str
    type_name: str
    prepare: str  # makes the one row pass every other check in any state
    insert: str  # {state}: a new row in that state


ENTITIES = [
    Entity(
        "schedule", "pay_schedule", "schedule_id", "schedule_state",
        "UPDATE payroll.pay_schedule SET next_nominal_date = anchor, next_pay_at = now(),"
        " next_open_at = now()",
        "INSERT INTO payroll.pay_schedule (organization_id, name, funding_account_id, state, rule,"
        " recurrence_frequency, recurrence_every, recurrence_skip, anchor, pay_time, time_zone,"
        " next_nominal_date, next_pay_at, next_open_at, created_at, changed_at)"
        " SELECT organization_id, name || '-2', funding_account_id, {state}, rule, recurrence_frequency,"
        " recurrence_every, recurrence_skip, anchor, pay_time, time_zone, next_nominal_date, next_pay_at,"
        " next_open_at, created_at, changed_at FROM payroll.pay_schedule",
    ),
    Entity(
        "run", "pay_run", "run_id", "run_state", "",
        "INSERT INTO payroll.pay_run (organization_id, schedule_id, nominal_date, pay_at, funding_account_id,"
        " memo_type, memo_value, state, next_serve_at, opened_at, opened_by)"
        " SELECT organization_id, schedule_id, nominal_date + 1, pay_at, funding_account_id,"
        " memo_type, memo_value,"
        " {state}, next_serve_at, opened_at, opened_by FROM payroll.pay_run",
    ),
    Entity(
        "payment", "payment", "payment_id", "payment_state", "",
        "INSERT INTO payroll.payment (organization_id, run_id, payee_id, line, destination,"
        " memo_type, memo_value,"
        " asset_code, asset_issuer, amount, state)"
        " SELECT organization_id, run_id, payee_id, 2, destination, memo_type, memo_value, asset_code,"
        " asset_issuer, amount, {state} FROM payroll.payment",
    ),
    Entity(
        "batch", "payment_batch", "batch_id", "batch_state",
        "UPDATE payroll.payment_batch SET settled_hash = sha256('x'), settled_ledger = 1,"
        " settled_code = 'tx_success',"
        " settled_at = now(), settled_closed_at = now()",
        "INSERT INTO payroll.payment_batch (organization_id, run_id, channel_id, slot, memo_type,"
        " memo_value, state,"
        " claim_token, claimed_by, claimed_at, settled_hash, settled_ledger, settled_code, settled_at)"
        " SELECT organization_id, run_id, (SELECT max(channel_id) FROM payroll.channel_account),"
        " slot + 1, memo_type,"
        " memo_value, {state}, claim_token, claimed_by, claimed_at, settled_hash, settled_ledger,"
        " settled_code,"
        " settled_at FROM payroll.payment_batch",
    ),
    Entity(
        "channel", "channel_account", "channel_id", "channel_state",
        "UPDATE payroll.channel_account SET live_batch_id = NULL",
        "INSERT INTO payroll.channel_account (organization_id, address, key_index, sequence, state,"
        " created_at)"
        " SELECT organization_id, (SELECT address FROM payroll.funding_account), 9, 9, {state}, now()"
        " FROM payroll.channel_account LIMIT 1",
    ),
]  # fmt: skip


@pytest.fixture
def one_of_each(connection: psycopg.Connection[TupleRow]) -> Organization:
    """A schedule, a run, a payment, a batch and two channels."""
    organization = new_organization(connection, channels=2)
    open_run(connection, organization, payees=1)
    claim(connection)
    return organization


def states_of(connection: Connection, entity: Entity) -> list[str]:
    found = rows(connection, f"SELECT unnest(enum_range(NULL::payroll.{entity.type_name}))::text AS state")
    return [row["state"] for row in found]


def allowed_steps(connection: Connection, entity: Entity) -> set[tuple[str, str]]:
    found = rows(
        connection, "SELECT from_state, to_state FROM payroll.state_transition WHERE entity = %s", entity.name
    )
    return {(row["from_state"], row["to_state"]) for row in found}


@pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: entity.name)
def test_each_step_is_taken_or_refused_as_the_table_says(
    connection: Connection, one_of_each: Organization, entity: Entity
) -> None:
    states, allowed = states_of(connection, entity), allowed_steps(connection, entity)
    if entity.prepare:
        connection.execute(entity.prepare)
    key = one(connection, f"SELECT min({entity.key}) FROM payroll.{entity.table}")
    update = f"UPDATE payroll.{entity.table} SET state = %s WHERE {entity.key} = %s"
    for before in states:
        # Only a superuser can put a row into a state behind the triggers' back.
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(update, (before, key))
        connection.execute("SET LOCAL session_replication_role = origin")
        for after in states:
            if before == after or (before, after) in allowed:
                with connection.transaction(force_rollback=True):
                    connection.execute(update, (after, key))
            else:
                with refused(
                    connection, "PL003", words=f'a {entity.name} can\'t go from "{before}" to "{after}"'
                ):
                    connection.execute(update, (after, key))


@pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: entity.name)
def test_a_new_row_starts_only_in_a_state_that_the_table_allows(
    connection: Connection, one_of_each: Organization, entity: Entity
) -> None:
    if entity.prepare:
        connection.execute(entity.prepare)
    for state in states_of(connection, entity):
        insert = entity.insert.format(state=f"'{state}'")
        if ("", state) in allowed_steps(connection, entity):
            with connection.transaction(force_rollback=True):
                assert connection.execute(insert).rowcount == 1
        else:
            with refused(connection, "PL003", words=f'from "" to "{state}"'):
                connection.execute(insert)


@pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: entity.name)
def test_the_table_names_real_states_and_each_state_can_be_reached(
    connection: Connection, entity: Entity
) -> None:
    states, allowed = set(states_of(connection, entity)), allowed_steps(connection, entity)
    assert {state for step in allowed for state in step} - {""} == states
    reached = {""}
    while more := {after for before, after in allowed if before in reached} - reached:
        reached |= more
    assert reached - {""} == states


@pytest.mark.parametrize(
    ("entity", "final"),
    [
        (ENTITIES[0], {"cancelled"}),
        (ENTITIES[1], {"paid", "cancelled"}),
        (ENTITIES[2], {"paid", "cancelled"}),
        (ENTITIES[3], {"succeeded", "failed", "released"}),
        (ENTITIES[4], {"retired"}),
    ],
    ids=lambda value: value.name if isinstance(value, Entity) else "final",
)
def test_what_is_paid_or_cancelled_stays_so(connection: Connection, entity: Entity, final: set[str]) -> None:
    leaving = {before for before, _ in allowed_steps(connection, entity)}
    assert set(states_of(connection, entity)) - leaving == final


def test_nobody_but_the_owner_can_allow_another_step(connection: Connection) -> None:
    for role in ("payroll_pod", "payroll_operator", "payroll_approver", "payroll_auditor"):
        with refused(connection, "42501"):
            connection.execute(f"SET LOCAL ROLE {role}")
            connection.execute(
                "INSERT INTO payroll.state_transition VALUES ('payment', 'paid', 'pending', 'because')"
            )
