"""payroll.pay_instant against zoneinfo: at every clock change of every zone, 2000 to 2037, and at random."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import psycopg
import pytest
from psycopg.rows import TupleRow

from tests.database_server import Database
from tests.sql.clock_oracle import SECOND, clock_changes, pay_moment

Connection = psycopg.Connection[TupleRow]

START, END = datetime(2000, 1, 1, tzinfo=UTC), datetime(2038, 1, 1, tzinfo=UTC)


@cache
def changes_of(zone: str) -> tuple[datetime, ...]:
    return tuple(clock_changes(ZoneInfo(zone), START, END))


def regions() -> list[str]:
    """The regions' names; other names of one clock stay in: the database must know them too."""
    return sorted(zone for zone in available_timezones() if "/" in zone and zone != "Etc/GMT0")


@pytest.fixture(scope="module")
def shared_zones(postgres_server_connection: Connection) -> list[str]:
    """The regions for which the database's zone data and Python's are of one mind about every clock change.

    The two come from different releases of the zone data. What is compared here is only instant → local time.
    """
    zones = regions()
    moments = [
        (zone, moment)
        for zone in zones
        for change in (START, *changes_of(zone), END)
        for moment in (change - SECOND, change)
    ]
    known = {row[0] for row in postgres_server_connection.execute("SELECT name FROM pg_timezone_names")}
    moments = [pair for pair in moments if pair[0] in known]
    rows = postgres_server_connection.execute(
        "SELECT sent.zone, sent.moment, sent.moment AT TIME ZONE sent.zone"
        " FROM unnest(%s::text[], %s::timestamptz[]) AS sent (zone, moment)",
        ([zone for zone, _ in moments], [moment for _, moment in moments]),
    ).fetchall()
    other = {
        zone
        for zone, moment, local in rows
        if moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != local
    }
    shared = [zone for zone in zones if zone in known and zone not in other]
    assert len(shared) >= 0.9 * len(zones), f"zone data too far apart: {sorted(set(zones) - set(shared))}"
    return shared


@pytest.fixture(scope="module")
def postgres_server_connection(sql_database: Database) -> Iterator[Connection]:
    with sql_database.connect() as opened:
        yield opened


def wrong_answers(
    connection: Connection, asked: list[tuple[str, datetime]]
) -> list[tuple[str, datetime, datetime]]:
    """What the database answers differently from zoneinfo, of (zone, local time); one round trip."""
    rows = connection.execute(
        "SELECT payroll.pay_instant(sent.local::date, sent.local::time, sent.zone)"
        " FROM unnest(%s::text[], %s::timestamp[]) WITH ORDINALITY AS sent (zone, local, position)"
        " ORDER BY sent.position",
        ([zone for zone, _ in asked], [local for _, local in asked]),
    ).fetchall()
    assert len(rows) == len(asked)
    return [
        (zone, local, answer)
        for (zone, local), (answer,) in zip(asked, rows, strict=True)
        if answer != pay_moment(ZoneInfo(zone), local)
    ]


def test_around_every_clock_change_of_every_zone_the_instant_is_the_oracles(
    connection: Connection, shared_zones: list[str]
) -> None:
    chance = random.Random(20260101)
    asked = []
    for name in shared_zones:
        zone = ZoneInfo(name)
        for change in changes_of(name):
            one = (change - SECOND).astimezone(zone).replace(tzinfo=None) + SECOND
            two = change.astimezone(zone).replace(tzinfo=None)
            low, high = min(one, two), max(one, two)
            within = low + (high - low) * chance.random()
            near = [low - SECOND, low, within, high - timedelta(microseconds=1), high]
            far = [
                low - timedelta(hours=chance.uniform(0, 40)),
                high + timedelta(hours=chance.uniform(0, 40)),
            ]
            asked += [(name, local) for local in (*near, *far)]
    assert len(asked) > 50_000
    assert wrong_answers(connection, asked) == []


def test_at_any_time_in_any_zone_the_instant_is_the_oracles(
    connection: Connection, shared_zones: list[str]
) -> None:
    chance = random.Random(20260102)
    span = int((END - START).total_seconds())
    asked = [
        (
            chance.choice(shared_zones),
            START.replace(tzinfo=None)
            + timedelta(seconds=chance.randrange(span), microseconds=chance.randrange(10**6)),
        )
        for _ in range(20_000)
    ]
    assert wrong_answers(connection, asked) == []


@pytest.mark.parametrize(
    ("zone", "local", "expected", "kind"),
    [
        ("Europe/Berlin", "2025-03-30 02:30", "2025-03-30 01:00+00", "gap"),
        ("Europe/Berlin", "2025-03-30 02:00", "2025-03-30 01:00+00", "gap"),
        ("Europe/Berlin", "2025-03-30 03:00", "2025-03-30 01:00+00", "plain"),
        ("Europe/Berlin", "2025-10-26 02:30", "2025-10-26 00:30+00", "overlap"),
        ("Europe/Berlin", "2025-10-26 02:59:59.999999", "2025-10-26 00:59:59.999999+00", "overlap"),
        ("Europe/Berlin", "2025-10-26 03:00", "2025-10-26 02:00+00", "plain"),
        ("America/New_York", "2025-11-02 01:30", "2025-11-02 05:30+00", "overlap"),
        # The clock skips midnight, or shows it twice.
        ("America/Santiago", "2025-09-07 00:00", "2025-09-07 04:00+00", "gap"),
        ("America/Havana", "2025-11-02 00:30", "2025-11-02 04:30+00", "overlap"),
        ("Africa/Cairo", "2025-04-25 00:00", "2025-04-24 22:00+00", "gap"),
        # Half an hour.
        ("Australia/Lord_Howe", "2025-10-05 02:15", "2025-10-04 15:30+00", "gap"),
        ("Australia/Lord_Howe", "2025-04-06 01:45", "2025-04-05 14:45+00", "overlap"),
        # A whole day is skipped: it pays at the first moment of the next.
        ("Pacific/Apia", "2011-12-30 09:00", "2011-12-30 10:00+00", "gap"),
        ("Pacific/Apia", "2011-12-29 09:00", "2011-12-29 19:00+00", "plain"),
        ("Pacific/Apia", "2011-12-31 00:00", "2011-12-30 10:00+00", "plain"),
        ("Pacific/Kwajalein", "1993-08-21 12:00", "1993-08-21 12:00+00", "gap"),
        # The hours move and the clock stays: nothing is skipped or shown twice.
        ("Europe/Lisbon", "1992-09-27 01:30", "1992-09-27 00:30+00", "plain"),
        # Changes of the offset with seconds, before 1900.
        ("Asia/Manila", "1844-12-31 12:00", None, "gap"),
        ("Etc/UTC", "2025-03-30 02:30", "2025-03-30 02:30+00", "plain"),
        ("Etc/GMT+12", "2025-03-30 02:30", "2025-03-30 14:30+00", "plain"),
        ("Pacific/Kiritimati", "2025-03-30 02:30", "2025-03-29 12:30+00", "plain"),
    ],
)
def test_gaps_overlaps_and_skipped_days(
    connection: Connection, zone: str, local: str, expected: str | None, kind: str
) -> None:
    row = connection.execute(
        "SELECT payroll.pay_instant(sent.local::date, sent.local::time, sent.zone), resolved.instant,"
        " resolved.kind"
        " FROM (VALUES (%s::timestamp, %s)) AS sent (local, zone)"
        " CROSS JOIN LATERAL payroll.resolve_local_time(sent.local, sent.zone) AS resolved",
        (local, zone),
    ).fetchone()
    assert row is not None
    assert row[0] == row[1]
    assert row[2] == kind
    if expected is not None:
        assert row[0] == datetime.fromisoformat(expected)


def test_midnight_at_the_end_of_the_day_is_the_next_days_first_moment(connection: Connection) -> None:
    row = connection.execute("SELECT payroll.pay_instant('2025-06-30', '24:00', 'Europe/Berlin')").fetchone()
    assert row == (datetime(2025, 6, 30, 22, tzinfo=UTC),)


@pytest.mark.parametrize("session_zone", ["UTC", "Pacific/Apia", "America/New_York", "Asia/Kathmandu"])
def test_the_sessions_own_time_zone_changes_nothing(connection: Connection, session_zone: str) -> None:
    connection.execute("SELECT set_config('timezone', %s, true)", (session_zone,))
    rows = connection.execute(
        "SELECT payroll.pay_instant('2025-03-30', '02:30', 'Europe/Berlin'),"
        " payroll.pay_instant('2025-10-26', '02:30', 'Europe/Berlin'),"
        " payroll.pay_instant('2025-07-01', '02:30', 'Europe/Berlin')"
    ).fetchone()
    assert rows == (
        datetime(2025, 3, 30, 1, tzinfo=UTC),
        datetime(2025, 10, 26, 0, 30, tzinfo=UTC),
        datetime(2025, 7, 1, 0, 30, tzinfo=UTC),
    )


def test_a_missing_part_gives_no_instant(connection: Connection) -> None:
    row = connection.execute(
        "SELECT payroll.pay_instant(NULL, '09:00', 'UTC'), payroll.pay_instant('2025-01-01', NULL, 'UTC'),"
        " payroll.pay_instant('2025-01-01', '09:00', NULL)"
    ).fetchone()
    assert row == (None, None, None)


def test_an_unknown_zone_is_an_error(connection: Connection) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        connection.execute("SELECT payroll.pay_instant('2025-01-01', %s, 'Mars/Olympus')", (time(9),))


def test_the_instant_is_inlined_by_the_planner(connection: Connection) -> None:
    plan = connection.execute(
        "EXPLAIN (VERBOSE, COSTS OFF) SELECT payroll.pay_instant(sent.day, sent.at, sent.zone)"
        " FROM (VALUES (DATE '2024-01-01', TIME '09:00', 'UTC')) AS sent (day, at, zone) OFFSET 0"
    ).fetchall()
    assert "pay_instant" not in "\n".join(row[0] for row in plan)
