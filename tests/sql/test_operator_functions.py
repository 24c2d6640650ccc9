"""What operators and approvers call: accounts, schedules, runs and batches; each normal, refused, twice."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.sql.payroll_rows import (
    OTHER_POD,
    PASSPHRASE,
    POD,
    Connection,
    Line,
    Organization,
    account,
    batch_row,
    call,
    channel_row,
    claim,
    failure,
    muxed,
    new_organization,
    new_payees,
    new_schedule,
    one,
    open_run,
    payment_states,
    record,
    refused,
    report,
    rows,
    run_row,
    set_clock,
    settle,
    start_pods,
    token_of,
)

NOON = datetime(2026, 6, 15, 12, tzinfo=UTC)  # a Monday


def operate(
    connection: Connection, function: str, /, role: str = "payroll_operator", **arguments: Any
) -> Any:
    """The only value of the only row; or the row, if it has several columns."""
    (row,) = call(connection, function, role=role, **arguments)
    return row if len(row) > 1 else next(iter(row.values()))


def audited(connection: Connection) -> list[str]:
    found = rows(connection, "SELECT action FROM payroll.audit_event ORDER BY audit_event_id")
    return [row["action"] for row in found]


# Registration


def test_a_database_is_bound_to_its_network_once(connection: Connection) -> None:
    operate(connection, "set_network", network_passphrase=PASSPHRASE)
    operate(connection, "set_network", network_passphrase=PASSPHRASE)
    assert audited(connection) == ["set_network"]
    with refused(connection, "PL012"):
        operate(connection, "set_network", network_passphrase="Another network")
    for missing in (None, "", "  "):
        with refused(connection, "PL001"):
            operate(connection, "set_network", network_passphrase=missing)


def test_an_organization_is_created_once(connection: Connection) -> None:
    first = operate(connection, "create_organization", organization="Acme", display_name="Acme Ltd")
    assert operate(connection, "create_organization", organization=" acme ", display_name="Acme Ltd") == first
    assert audited(connection) == ["create_organization"]
    with refused(connection, "PL006"):
        operate(connection, "create_organization", organization="acme", display_name="Another")
    for name, shown in ((None, "x"), ("x" * 101, "x"), ("x", " ")):
        with refused(connection, "PL001"):
            operate(connection, "create_organization", organization=name, display_name=shown)


def test_accounts_are_registered_once_and_never_move_a_sequence(connection: Connection) -> None:
    new_organization(connection, "acme", channels=0)
    new_organization(connection, "other", channels=0)
    terms: dict[str, Any] = {"organization": "acme", "address": account("c"), "key_index": 3, "sequence": 70}
    channel = operate(connection, "add_channel", **terms)
    assert operate(connection, "add_channel", **{**terms, "sequence": 99}) == channel
    assert channel_row(connection, channel)["sequence"] == 70
    fund = operate(connection, "add_funding_account", organization="acme", address=account("f"))
    assert operate(connection, "add_funding_account", organization="acme", address=account("f")) == fund
    assert audited(connection) == ["add_channel", "add_funding_account"]

    changes: dict[str, list[dict[str, Any]]] = {
        "PL006": [{"key_index": 4}, {"organization": "other"}, {"address": account("f")}],
        "PL001": [{"address": muxed("c")}, {"address": None}, {"key_index": -1}, {"sequence": None}],
    }
    for sqlstate, changed in ((code, change) for code, listed in changes.items() for change in listed):
        with refused(connection, sqlstate):
            operate(connection, "add_channel", **{**terms, **changed})
    with refused(connection, "PL002"):
        operate(connection, "add_channel", **{**terms, "organization": "nobody"})
    for organization, address, sqlstate in (
        ("other", account("f"), "PL006"),
        ("acme", account("c"), "PL006"),
        ("acme", muxed("f"), "PL001"),
        ("nobody", account("g"), "PL002"),
    ):
        with refused(connection, sqlstate):
            operate(connection, "add_funding_account", organization=organization, address=address)


# Schedules


@pytest.fixture
def weekly(connection: Connection) -> dict[str, str]:
    """A weekly schedule that began on Monday 25 May 2026 at 9; the clock stands at noon of 15 June."""
    acme = new_organization(connection, "acme", channels=2)
    start_pods(connection, POD)
    lines = [Line(payee) for payee in new_payees(connection, acme, 2)]
    set_clock(connection, NOON)
    schedule_id = new_schedule(connection, acme, lines, rule="FREQ=WEEKLY;BYDAY=MO", anchor=date(2026, 5, 25))
    name = one(connection, "SELECT name::text FROM payroll.pay_schedule WHERE schedule_id = %s", schedule_id)
    return {"organization": "acme", "schedule": name}


def schedule(connection: Connection) -> dict[str, Any]:
    (found,) = rows(connection, "SELECT *, state::text AS state FROM payroll.pay_schedule")
    return found


def open_due(connection: Connection) -> list[date]:
    return [row["nominal_date"] for row in call(connection, "claim_due_schedules", pod=POD)]


@pytest.mark.parametrize("role", ["payroll_operator", "payroll_approver"])
def test_a_paused_schedule_opens_nothing(connection: Connection, weekly: dict[str, str], role: str) -> None:
    operate(connection, "pause_schedule", role, **weekly, reason="audit")
    operate(connection, "pause_schedule", role, **weekly, reason="again")
    assert (schedule(connection)["state"], schedule(connection)["state_reason"]) == ("paused", "audit")
    assert audited(connection) == ["pause_schedule"]
    assert open_due(connection) == []


def test_resuming_passes_over_the_missed_dates_or_opens_them_as_the_person_says(
    connection: Connection, weekly: dict[str, str]
) -> None:
    operate(connection, "pause_schedule", **weekly, reason="audit")
    with connection.transaction(force_rollback=True):
        told = operate(connection, "resume_schedule", **weekly, missed="skip", reason="done")
        assert (told["state"], told["skipped"], told["next_nominal_date"]) == ("active", 4, date(2026, 6, 22))
        assert open_due(connection) == []
    told = operate(connection, "resume_schedule", **weekly, missed="open", reason="done")
    assert (told["state"], told["skipped"], told["next_nominal_date"]) == ("active", 0, date(2026, 5, 25))
    assert operate(connection, "resume_schedule", **weekly, missed="skip", reason="twice")["skipped"] == 0
    assert [open_due(connection) for _ in range(5)] == [
        [date(2026, 5, 25)], [date(2026, 6, 1)], [date(2026, 6, 8)], [date(2026, 6, 15)], [],
    ]  # fmt: skip


def test_resuming_when_no_date_is_left_ends_the_schedule(
    connection: Connection, weekly: dict[str, str]
) -> None:
    operate(connection, "pause_schedule", **weekly, reason="audit")
    connection.execute("UPDATE payroll.pay_schedule SET end_date = '2026-06-10'")
    told = operate(connection, "resume_schedule", **weekly, missed="skip", reason="done")
    assert (told["state"], told["skipped"], told["next_nominal_date"]) == ("ended", 3, None)
    for function, more in (("pause_schedule", {}), ("resume_schedule", {"missed": "skip"})):
        with refused(connection, "PL003"):
            operate(connection, function, **weekly, reason="r", **more)


def test_a_schedule_is_not_changed_without_names_reason_and_choice(
    connection: Connection, weekly: dict[str, str]
) -> None:
    new_organization(connection, "other")
    for function, more in (
        ("pause_schedule", {}),
        ("resume_schedule", {"missed": "skip"}),
        ("cancel_schedule", {}),
    ):
        for changed, sqlstate in (
            ({"reason": " "}, "PL001"),
            ({"organization": None}, "PL001"),
            ({"schedule": ""}, "PL001"),
            ({"schedule": "nothing"}, "PL002"),
            ({"organization": "other"}, "PL002"),
        ):
            with refused(connection, sqlstate):
                arguments: dict[str, Any] = {**weekly, "reason": "r", **more, **changed}
                operate(connection, function, **arguments)
    for missed in (None, "guess"):
        with refused(connection, "PL001"):
            operate(connection, "resume_schedule", **weekly, missed=missed, reason="r")


def test_a_cancelled_schedule_never_comes_back(connection: Connection, weekly: dict[str, str]) -> None:
    open_due(connection)
    batch = claim(connection)
    open_due(connection)
    outcome = operate(connection, "cancel_schedule", **weekly, reason="closed")
    assert outcome == {"runs": 2, "cancelled": 4, "in_flight": 0}
    assert operate(connection, "cancel_schedule", **weekly, reason="again")["runs"] == 0
    assert audited(connection) == ["cancel_schedule"]
    assert batch_row(connection, batch["batch_id"])["state"] == "released"
    assert {row["state"] for row in rows(connection, "SELECT state::text FROM payroll.pay_run")} == {
        "cancelled"
    }
    assert schedule(connection)["state"] == "cancelled"
    assert open_due(connection) == []
    assert call(connection, "claim_payments", pod=POD) == []
    for function, more in (("pause_schedule", {}), ("resume_schedule", {"missed": "open"})):
        with refused(connection, "PL003"):
            operate(connection, function, **weekly, reason="r", **more)
    with refused(connection, "PL003"):
        operate(connection, "change_schedule", **weekly, **new_terms(schedule(connection)["version"]))


def new_terms(version: int | None, /, **changed: Any) -> dict[str, Any]:
    terms = {
        "version": version, "rule": "FREQ=MONTHLY;BYMONTHDAY=-1", "first_pay_date": date(2026, 6, 30),
        "pay_time": "17:00", "time_zone": "Europe/Berlin", "end_date": None,
    }  # fmt: skip
    return {**terms, **changed}


def test_new_terms_count_from_the_next_date_and_the_same_ones_change_nothing(
    connection: Connection, weekly: dict[str, str]
) -> None:
    while open_due(connection):
        pass
    version = operate(connection, "change_schedule", **weekly, **new_terms(1))
    assert version == 2
    assert schedule(connection)["next_pay_at"] == datetime(2026, 6, 30, 15, tzinfo=UTC)
    assert operate(connection, "change_schedule", **weekly, **new_terms(2)) == 2
    assert audited(connection) == ["change_schedule"]
    with refused(connection, "PL006"):
        operate(connection, "change_schedule", **weekly, **new_terms(1, pay_time="18:00"))


def test_new_terms_never_open_a_date_twice(connection: Connection, weekly: dict[str, str]) -> None:
    while open_due(connection):
        pass
    daily = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU"
    operate(
        connection, "change_schedule", **weekly, **new_terms(1, rule=daily, first_pay_date=date(2026, 5, 25))
    )
    assert schedule(connection)["next_nominal_date"] == date(2026, 6, 16)


def test_an_edit_loses_no_date_that_is_due_and_not_opened_yet(
    connection: Connection, weekly: dict[str, str]
) -> None:
    """Whether a pod opened it just before the edit or just after makes no difference."""
    for _ in range(3):
        open_due(connection)
    same: dict[str, Any] = {"rule": "FREQ=WEEKLY;BYDAY=MO", "first_pay_date": date(2026, 5, 25)}
    for changed in (
        {**same, "pay_time": "08:00", "time_zone": "UTC"},  # earlier than it was due
        {**same, "time_zone": "Pacific/Kiritimati"},
        {},  # another rule
        {**same, "rule": "FREQ=WEEKLY;BYDAY=SU", "first_pay_date": date(2026, 5, 24)},
    ):
        with connection.transaction(force_rollback=True):
            operate(connection, "change_schedule", **weekly, **new_terms(1, **changed))
            assert open_due(connection) == [date(2026, 6, 15)], changed
            assert open_due(connection) == []
    with connection.transaction(force_rollback=True):  # a person who ends it earlier means it
        with refused(connection, "PL001"):
            operate(
                connection, "change_schedule", **weekly, **new_terms(1, **same, end_date=date(2026, 6, 14))
            )


def test_a_pay_time_that_is_moved_into_the_past_of_the_pay_day_skips_nobody(
    connection: Connection, weekly: dict[str, str]
) -> None:
    set_clock(connection, datetime(2026, 6, 15, 6, tzinfo=UTC))
    while open_due(connection):
        pass
    assert schedule(connection)["next_pay_at"] == datetime(2026, 6, 15, 9, tzinfo=UTC)
    terms = new_terms(
        1, rule="FREQ=WEEKLY;BYDAY=MO", first_pay_date=date(2026, 5, 25), pay_time="05:00", time_zone="UTC"
    )
    operate(connection, "change_schedule", **weekly, **terms)
    assert [open_due(connection), open_due(connection)] == [[date(2026, 6, 15)], []]


@pytest.mark.parametrize(
    ("changed", "sqlstate"),
    [
        ({"rule": "FREQ=DAILY"}, "PL007"),
        ({"rule": None}, "PL001"),
        ({"first_pay_date": date(2026, 6, 29)}, "PL001"),  # not a date of the rule
        ({"first_pay_date": None}, "PL001"),
        ({"pay_time": None}, "PL001"),
        ({"time_zone": "CET"}, "PL001"),
        ({"end_date": date(2026, 6, 29)}, "PL001"),
        ({"end_date": date(2026, 5, 31), "first_pay_date": date(2026, 5, 31)}, "PL001"),  # no date is left
        ({"version": None}, "PL006"),
    ],
)
def test_wrong_terms_are_refused_and_change_nothing(
    connection: Connection, weekly: dict[str, str], changed: dict[str, Any], sqlstate: str
) -> None:
    while open_due(connection):
        pass
    before = schedule(connection)
    with refused(connection, sqlstate):
        operate(connection, "change_schedule", **weekly, **new_terms(1, **changed))
    assert schedule(connection) == before


def test_the_memo_policy_is_changed_by_version(connection: Connection, weekly: dict[str, str]) -> None:
    terms = {**weekly, "memo_policy": "text", "memo_text": "é" * 14}
    assert operate(connection, "set_memo_policy", **terms, version=1) == 2
    assert operate(connection, "set_memo_policy", **terms, version=2) == 2
    with refused(connection, "PL006"):
        operate(connection, "set_memo_policy", **{**terms, "memo_text": "x"}, version=1)
    for policy, text in (("text", None), ("text", "é" * 15), ("none", "x"), ("id", "7"), (None, None)):
        with refused(connection, "PL001"):
            operate(connection, "set_memo_policy", **weekly, version=2, memo_policy=policy, memo_text=text)
    (run,) = call(connection, "claim_due_schedules", pod=POD)
    assert run_row(connection, run["run_id"])["memo_value"] == "é" * 14


def test_the_preview_of_a_schedule_shows_what_will_open(
    connection: Connection, weekly: dict[str, str]
) -> None:
    open_due(connection)
    shown = call(connection, "preview_schedule", role="payroll_auditor", **weekly, count=3)
    assert [row["nominal_date"] for row in shown] == [date(2026, 6, 1), date(2026, 6, 8), date(2026, 6, 15)]
    assert [open_due(connection) for _ in shown] == [[row["nominal_date"]] for row in shown]
    for count in (None, 0, 1001):
        with refused(connection, "PL001"):
            call(connection, "preview_schedule", role="payroll_auditor", **weekly, count=count)
    with refused(connection, "PL002"):
        call(connection, "preview_schedule", role="payroll_auditor", **{**weekly, "schedule": "x"}, count=1)
    operate(connection, "cancel_schedule", **weekly, reason="r")
    assert call(connection, "preview_schedule", role="payroll_auditor", **weekly, count=3) == []


# Runs and batches


@pytest.fixture
def acme(connection: Connection) -> Organization:
    return new_organization(connection, "acme", channels=3)


def cancel(
    connection: Connection, run_id: int, role: str = "payroll_approver", **changed: Any
) -> dict[str, int]:
    terms = {"organization": "acme", "run_id": run_id, "reason": "a mistake", **changed}
    return dict(operate(connection, "cancel_run", role, **terms))


def test_cancelling_a_run_stops_what_is_in_no_envelope_and_lets_the_rest_settle(
    connection: Connection, acme: Organization
) -> None:
    run_id, _ = open_run(connection, acme, payees=250)
    sent, unsent = claim(connection), claim(connection)
    record(connection, sent)
    size = len(sent["lines"])
    assert cancel(connection, run_id) == {"runs": 1, "cancelled": 250 - size, "in_flight": size}
    assert cancel(connection, run_id)["runs"] == 0
    assert batch_row(connection, unsent["batch_id"])["state"] == "released"
    with refused(connection, "PL004", "PL008"):
        record(connection, unsent)
    assert call(connection, "claim_payments", pod=POD) == []
    assert run_row(connection, run_id)["state"] == "paying"
    settle(connection, report(sent))
    assert run_row(connection, run_id)["state"] == "partly_paid"
    assert payment_states(connection, run_id).count("paid") == size
    assert audited(connection) == ["cancel_run"]


def test_cancelling_a_run_that_nobody_was_paid_from_ends_it_cancelled(
    connection: Connection, acme: Organization
) -> None:
    run_id, _ = open_run(connection, acme)
    batch = claim(connection)
    record(connection, batch)
    cancel(connection, run_id)
    settle(connection, failure(batch, *["op_underfunded"] * 3))
    assert run_row(connection, run_id)["state"] == "cancelled"
    assert set(payment_states(connection, run_id)) == {"cancelled"}


@pytest.mark.parametrize("state", ["held", "awaiting_approval", "awaiting_funds"])
def test_a_run_that_waits_is_cancelled_at_once(
    connection: Connection, acme: Organization, state: str
) -> None:
    run_id, _ = open_run(connection, acme)
    connection.execute("SET LOCAL session_replication_role = replica")
    connection.execute("UPDATE payroll.pay_run SET state = %s", (state,))
    connection.execute("SET LOCAL session_replication_role = origin")
    assert cancel(connection, run_id) == {"runs": 1, "cancelled": 3, "in_flight": 0}
    assert run_row(connection, run_id)["state"] == "cancelled"


def test_a_paid_a_strangers_or_no_run_can_not_be_cancelled(
    connection: Connection, acme: Organization
) -> None:
    run_id, _ = open_run(connection, acme)
    new_organization(connection, "other")
    for changed, sqlstate in (
        ({"reason": None}, "PL001"),
        ({"organization": "other"}, "PL002"),
        ({"organization": "nobody"}, "PL002"),
        ({"run_id": None}, "PL002"),
        ({"run_id": -1}, "PL002"),
    ):
        with refused(connection, sqlstate):
            cancel(connection, **{"run_id": run_id, **changed})  # type: ignore[arg-type]
    batch = claim(connection)
    record(connection, batch)
    settle(connection, report(batch))
    with refused(connection, "PL003"):
        cancel(connection, run_id)


def test_a_resumed_batch_changes_hands_and_keeps_its_slot(connection: Connection, acme: Organization) -> None:
    open_run(connection, acme)
    start_pods(connection, OTHER_POD)
    batch = claim(connection)
    record(connection, batch)
    terms = {"organization": "acme", "batch_id": batch["batch_id"], "reason": "looked at it"}
    assert operate(connection, "resume_batch", **terms) is False
    call(connection, "hold_batch", **token_of(batch), reason="odd code")
    assert operate(connection, "resume_batch", **terms) is True
    assert operate(connection, "resume_batch", **terms) is False
    assert audited(connection) == ["hold_batch", "resume_batch"]
    with refused(connection, "PL004"):
        record(connection, batch, 2)
    (taken,) = call(connection, "claim_abandoned_batches", pod=OTHER_POD, tracked=[])
    assert (taken["batch_id"], taken["slot"], taken["held_reason"]) == (
        batch["batch_id"],
        batch["slot"],
        None,
    )
    record(connection, taken, 2)
    for changed, sqlstate in (
        ({"reason": ""}, "PL001"),
        ({"batch_id": -1}, "PL002"),
        ({"organization": "x"}, "PL002"),
    ):
        with refused(connection, sqlstate):
            operate(connection, "resume_batch", **{**terms, **changed})
    settle(connection, report(batch))
    with refused(connection, "PL008"):
        operate(connection, "resume_batch", **terms)


def test_an_organization_can_not_stop_anothers_schedule_of_the_same_name(
    connection: Connection, weekly: dict[str, str]
) -> None:
    other = new_organization(connection, "other")
    new_schedule(connection, other, [], anchor=date(2026, 6, 15) + timedelta(days=9))
    connection.execute(
        "UPDATE payroll.pay_schedule SET name = %s WHERE organization_id = %s",
        (weekly["schedule"], other.organization_id),
    )
    operate(connection, "pause_schedule", **{**weekly, "organization": "other"}, reason="r")
    states = rows(connection, "SELECT organization_id, state::text AS state FROM payroll.pay_schedule")
    assert {row["state"] for row in states if row["organization_id"] == other.organization_id} == {"paused"}
    assert {row["state"] for row in states if row["organization_id"] != other.organization_id} == {"active"}


def test_two_channels_of_an_organization_do_not_share_a_key_index(connection: Connection) -> None:
    acme = new_organization(connection, channels=0)

    def add(address: str) -> None:
        call(
            connection,
            "add_channel",
            role="payroll_operator",
            organization=acme.name,
            address=address,
            key_index=7,
            sequence=1,
        )

    add(account("seven"))
    with refused(connection, "PL006", words="key index 7"):
        add(account("another seven"))


def test_the_overviews_show_a_schedule_whose_zone_the_server_forgot(connection: Connection) -> None:
    acme = new_organization(connection)
    schedule = new_schedule(connection, acme, [Line(new_payees(connection, acme, 1)[0])])
    connection.execute("UPDATE payroll.pay_schedule SET time_zone = 'Atlantis/Capital'")
    connection.execute("SET LOCAL ROLE payroll_auditor")
    (row,) = rows(connection, "SELECT * FROM payroll.schedule_overview WHERE schedule_id = %s", schedule)
    connection.execute("RESET ROLE")
    assert row["next_pay_at"] is not None
    assert row["next_local_time"] is None
