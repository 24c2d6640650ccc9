"""Fills a database with organizations, payees, schedules and old payments, by set-based SQL."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import psycopg
from stellar_sdk import StrKey

from bench.server import bulk_connection
from tests.database_server import Database

PASSPHRASE = "Paylock benchmark network"
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC")


@dataclass(frozen=True, slots=True)
class Population:
    """How much there is. Schedules belong to the organizations in turn; each pays `lines` payees of its own
    from a pool of `payees` people."""

    schedules: int
    lines: int
    payees: int
    organizations: int = 10
    channels: int = 10  # per organization
    due: bool = True  # False: the next occurrence of every schedule is far away


def address(number: int) -> str:
    """A valid account address; nobody has its key."""
    return StrKey.encode_ed25519_public_key(Random(number).randbytes(32))


def fill(database: Database, population: Population) -> None:
    """Loads the population. Triggers and foreign keys are off meanwhile: the rows fit by construction."""
    with bulk_connection(database) as connection:
        connection.execute(
            "INSERT INTO payroll.installation (network_passphrase, set_at) VALUES (%s, now())", (PASSPHRASE,)
        )
        _accounts(connection, population)
        _payees(connection, population)
        _schedules(connection, population)


def _accounts(connection: psycopg.Connection, population: Population) -> None:
    numbers = range(1, population.organizations + 1)
    connection.execute(
        """
        WITH made AS (
            INSERT INTO payroll.organization (name, display_name, created_at)
            SELECT 'organization-' || n, 'Organization ' || n, now() FROM generate_series(1, %s) AS n
            ORDER BY n RETURNING organization_id
        )
        INSERT INTO payroll.funding_account (organization_id, address, created_at)
        SELECT organization_id, (%s::text[])[organization_id], now() FROM made
        """,
        (population.organizations, [address(n) for n in numbers]),
    )
    total = population.organizations * population.channels
    connection.execute(
        """
        INSERT INTO payroll.channel_account (organization_id, address, key_index, sequence, created_at)
        SELECT 1 + (n - 1) %% %s, a, n, 1000, now() FROM unnest(%s::text[]) WITH ORDINALITY AS u (a, n)
        """,
        (population.organizations, [address(1_000_000 + n) for n in range(total)]),
    )


def _payees(connection: psycopg.Connection, population: Population) -> None:
    # Few addresses: the check of a strkey is what loading would wait for.
    connection.execute(
        """
        INSERT INTO payroll.payee (organization_id, reference, name, destination, created_at, changed_at)
        SELECT 1 + (n - 1) %% %s, 'P' || n, 'Payee ' || n,
               (%s::payroll.destination_address[])[1 + n %% 100], now(), now()
        FROM generate_series(1, %s) AS n
        """,
        (population.organizations, [address(2_000_000 + n) for n in range(100)], population.payees),
    )


def _schedules(connection: psycopg.Connection, population: Population) -> None:
    """Rules in turn: every week, every other week, monthly, quarterly. Every second line pays USDC."""
    first = datetime.now(UTC).date() + timedelta(days=-2 if population.due else 3000)
    weekday = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")[first.weekday()]
    rules = (
        f"FREQ=WEEKLY;BYDAY={weekday}",
        f"FREQ=WEEKLY;INTERVAL=2;BYDAY={weekday}",
        f"FREQ=MONTHLY;BYMONTHDAY={first.day};SKIP=BACKWARD;RSCALE=GREGORIAN",
        f"FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY={first.day};SKIP=BACKWARD;RSCALE=GREGORIAN",
    )
    values = {
        "organizations": population.organizations,
        "schedules": population.schedules,
        "lines": population.lines,
        "payees": population.payees,
        "rules": list(rules),
        "first": first,
        "zones": list(ZONES),
        "issuer": address(3_000_000),
    }
    connection.execute(
        """
        INSERT INTO payroll.pay_schedule (
            organization_id, name, funding_account_id, rule, recurrence_frequency, recurrence_every,
            recurrence_week_days, recurrence_month_days, recurrence_skip, anchor, pay_time, time_zone,
            next_nominal_date, next_pay_at, next_open_at, created_at, changed_at
        )
        SELECT 1 + (n - 1) %% %(organizations)s, 'schedule-' || n, 1 + (n - 1) %% %(organizations)s,
               part.rule, part.frequency, part.every, part.week_days, part.month_days, part.skip, %(first)s,
               '09:00', zone.name, %(first)s, zone.first_pay_at, zone.first_pay_at, now(), now()
        FROM generate_series(1, %(schedules)s) AS n
        JOIN (
            SELECT r.kind, r.rule, p.*
            FROM unnest(%(rules)s::text[]) WITH ORDINALITY AS r (rule, kind)
            CROSS JOIN LATERAL payroll.parse_recurrence(r.rule) AS p
        ) AS part ON part.kind = 1 + n %% 4
        JOIN (
            SELECT z.*, payroll.pay_instant(%(first)s, '09:00', z.name) AS first_pay_at
            FROM unnest(%(zones)s::text[]) WITH ORDINALITY AS z (name, kind)
        ) AS zone ON zone.kind = 1 + (n / 4) %% 4
        ORDER BY n
        """,
        values,
    )
    connection.execute(
        """
        INSERT INTO payroll.schedule_line (
            organization_id, schedule_id, payee_id, line, asset_code, asset_issuer, amount
        )
        SELECT 1 + (n - 1) %% o, n,
               1 + (n - 1) %% o + o * (((n - 1) / o * %(lines)s + l - 1) %% (%(payees)s / o)), l,
               CASE WHEN l %% 2 = 0 THEN 'USDC' END,
               CASE WHEN l %% 2 = 0 THEN %(issuer)s::payroll.account_address END,
               100 + l + 0.5
        FROM (SELECT %(organizations)s) AS c (o)
        CROSS JOIN generate_series(1, %(schedules)s) AS n
        CROSS JOIN generate_series(1, %(lines)s) AS l
        """,
        values,
    )


def add_history(database: Database, payments: int, *, lines: int = 5) -> None:
    """Adds paid runs of the existing schedules, going back date by date, with `lines` payments each."""
    _add_runs(database, payments // lines, lines, state="paid", days_back=10)


def add_backlog(database: Database, runs: int, *, lines: int, days_back: int = 500) -> None:
    """Adds runs that are due and wait to be paid. Give each call its own `days_back`: a date has one run."""
    _add_runs(database, runs, lines, state="approved", days_back=days_back)


def _add_runs(database: Database, runs: int, lines: int, *, state: str, days_back: int) -> None:
    with bulk_connection(database) as connection:
        connection.execute(
            """
            WITH counted AS (SELECT count(*) AS schedules FROM payroll.pay_schedule),
            made AS (
                INSERT INTO payroll.pay_run (
                    organization_id, schedule_id, nominal_date, pay_at, funding_account_id, memo_type, state,
                    pending_count, paid_count, next_serve_at, opened_at, opened_by
                )
                SELECT s.organization_id, s.schedule_id, d.day, d.day, s.funding_account_id,
                       'none', %(state)s::payroll.run_state, %(pending)s, %(paid)s,
                       d.day, d.day, 'bench'
                FROM counted AS c CROSS JOIN generate_series(0, %(runs)s - 1) AS n
                CROSS JOIN LATERAL (
                    SELECT current_date - %(days_back)s - (n / c.schedules)::integer AS day
                ) AS d
                JOIN payroll.pay_schedule AS s ON s.schedule_id = 1 + n %% c.schedules
                RETURNING run_id, organization_id
            )
            INSERT INTO payroll.payment (
                organization_id, run_id, payee_id, line, destination, memo_type, amount, state
            )
            SELECT m.organization_id, m.run_id, m.organization_id, l, %(destination)s, 'none', 12.5,
                   %(payment_state)s::payroll.payment_state
            FROM made AS m, generate_series(1, %(lines)s) AS l
            """,
            {
                "runs": runs,
                "lines": lines,
                "state": state,
                "pending": 0 if state == "paid" else lines,
                "paid": lines if state == "paid" else 0,
                "payment_state": "paid" if state == "paid" else "pending",
                "days_back": days_back,
                "destination": address(2_000_000),
            },
        )
