"""payroll.preview_dates and payroll.is_time_zone: what a person sees before a schedule is written."""

from datetime import UTC, date, datetime

import psycopg
import pytest
from psycopg.rows import TupleRow

Connection = psycopg.Connection[TupleRow]

PREVIEW = "SELECT * FROM payroll.preview_dates(%s, %s, %s, %s, %s, %s)"


def preview(connection: Connection, *arguments: object) -> list[TupleRow]:
    return connection.execute(PREVIEW, arguments).fetchall()


def test_it_shows_the_next_dates_in_order_with_both_times(connection: Connection) -> None:
    rows = preview(
        connection, "FREQ=MONTHLY;BYMONTHDAY=15", "2024-05-15", "09:00", "America/New_York", None, 2
    )
    assert rows == [
        (
            date(2024, 5, 15), date(2024, 5, 15), datetime(2024, 5, 15, 13, tzinfo=UTC),
            datetime(2024, 5, 15, 9), None,  # noqa: DTZ001 - a wall clock's reading has no zone
        ),
        (
            date(2024, 6, 15), date(2024, 6, 15), datetime(2024, 6, 15, 13, tzinfo=UTC),
            datetime(2024, 6, 15, 9), None,  # noqa: DTZ001
        ),
    ]  # fmt: skip


def test_it_says_what_is_unusual_about_a_date(connection: Connection) -> None:
    rows = preview(
        connection,
        "FREQ=MONTHLY;BYMONTHDAY=31;SKIP=BACKWARD",
        "2024-02-01",
        "02:30",
        "Europe/Berlin",
        None,
        3,
    )
    assert [(row[0], row[4]) for row in rows] == [
        (date(2024, 2, 29), "the month is short: moved to its last day"),
        (date(2024, 3, 31), "the clock skips 02:30: pays at the first moment after it, 2024-03-31 03:00"),
        (date(2024, 4, 30), "the month is short: moved to its last day"),
    ]
    rows = preview(connection, "FREQ=WEEKLY;BYDAY=SU", "2024-10-27", "02:30", "Europe/Berlin", None, 2)
    assert [row[4] for row in rows] == ["the clock shows 02:30 twice: pays at the first", None]
    rows = preview(connection, "ONCE", "2011-12-30", "09:00", "Pacific/Apia", None, 2)
    assert [row[4] for row in rows] == [
        "the clock skips 09:00: pays at the first moment after it, 2011-12-31 00:00"
    ]


def test_a_last_day_that_the_rule_names_is_not_called_moved(connection: Connection) -> None:
    rows = preview(
        connection, "FREQ=MONTHLY;BYMONTHDAY=29,-1;SKIP=BACKWARD", "2024-02-01", "09:00", "Etc/UTC", None, 3
    )
    assert [(row[0], row[4]) for row in rows] == [
        (date(2024, 2, 29), None), (date(2024, 3, 29), None), (date(2024, 3, 31), None),
    ]  # fmt: skip


def test_the_end_date_is_inclusive(connection: Connection) -> None:
    rows = preview(connection, "FREQ=WEEKLY;BYDAY=FR", "2024-05-03", "09:00", "Etc/UTC", "2024-05-17", 100)
    assert [row[0] for row in rows] == [date(2024, 5, 3), date(2024, 5, 10), date(2024, 5, 17)]
    assert (
        preview(connection, "FREQ=WEEKLY;BYDAY=FR", "2024-05-03", "09:00", "Etc/UTC", "2024-05-02", 9) == []
    )


@pytest.mark.parametrize(
    ("arguments", "sqlstate", "words"),
    [
        (("FREQ=DAILY", "2024-05-03", "09:00", "Etc/UTC", None, 3), "PL007", "FREQ=DAILY"),
        ((None, "2024-05-03", "09:00", "Etc/UTC", None, 3), "PL001", "rule is empty"),
        (("ONCE", None, "09:00", "Etc/UTC", None, 3), "PL001", "first date"),
        (("ONCE", "infinity", "09:00", "Etc/UTC", None, 3), "PL001", "first date"),
        (("ONCE", "2024-05-03", None, "Etc/UTC", None, 3), "PL001", "pay time"),
        (("ONCE", "2024-05-03", "09:00", None, None, 3), "PL001", "NULL is not the name of an IANA region"),
        (("ONCE", "2024-05-03", "09:00", "CET", None, 3), "PL001", "'CET' is not the name of an IANA region"),
        (("ONCE", "2024-05-03", "09:00", "Etc/UTC", None, 0), "PL001", "1 to 1000"),
        (("ONCE", "2024-05-03", "09:00", "Etc/UTC", None, 1001), "PL001", "1 to 1000"),
        (("ONCE", "2024-05-03", "09:00", "Etc/UTC", None, None), "PL001", "1 to 1000"),
    ],
)
def test_a_bad_question_is_refused_with_what_to_do(
    connection: Connection, arguments: tuple[object, ...], sqlstate: str, words: str
) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        preview(connection, *arguments)
    assert refusal.value.sqlstate == sqlstate
    assert words in str(refusal.value.diag.message_primary)


def test_every_region_of_the_database_is_a_time_zone(connection: Connection) -> None:
    rows = connection.execute(
        "SELECT name FROM pg_timezone_names WHERE name ~ '^[A-Z].*/' AND NOT payroll.is_time_zone(name)"
    ).fetchall()
    assert rows == [("Etc/GMT0",)]


@pytest.mark.parametrize(
    "zone",
    [
        None, "", " ", "Mars/Olympus", "Europe", "EST5EDT", "CET", "EST", "Z", "+02", "-05:00", "UTC+2",
        "GMT0", "Foo/Bar3", "<Foo/Bar>3", "europe/berlin", "EUROPE/BERLIN", "Europe/Berlin ",
        "posix/Europe/Berlin",
        "right/UTC", "posixrules", "localtime", "default", "DEFAULT", "local", "Etc/GMT+99",
        "Europe/../Europe/Berlin", "../zoneinfo/Europe/Berlin",
        "Europe/Berlin\n", "Europe//Berlin", "x" * 99,
    ],
)  # fmt: skip
def test_anything_but_a_regions_exact_name_is_no_time_zone(connection: Connection, zone: str | None) -> None:
    assert connection.execute("SELECT payroll.is_time_zone(%s)", (zone,)).fetchone() == (False,)


@pytest.mark.parametrize("zone", ["Pacific/Apia", "Mars/Olympus"])
def test_asking_about_a_zone_leaves_the_sessions_zone_alone(connection: Connection, zone: str) -> None:
    connection.execute("SET LOCAL timezone = 'Asia/Kathmandu'")
    connection.execute("SELECT payroll.is_time_zone(%s)", (zone,))
    assert connection.execute("SHOW timezone").fetchone() == ("Asia/Kathmandu",)
