"""payroll.next_nominal_date against dateutil.rrule, and against plain counting for SKIP=BACKWARD.

Many rules go to the database in one query, each with many questions, so that a round trip answers thousands.
"""

import random
from datetime import date, timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import TupleRow

from tests.sql.recurrence_oracle import Rule, next_occurrence, occurrences

Connection = psycopg.Connection[TupleRow]
Question = tuple[Rule, date, date | None]

YEARS = 30

ASK = """
    WITH rules AS MATERIALIZED (
        SELECT sent.number, sent.anchor, parsed.*
        FROM unnest(%(rules)s::text[], %(anchors)s::date[]) WITH ORDINALITY AS sent (rule, anchor, number)
        CROSS JOIN LATERAL payroll.parse_recurrence(sent.rule) AS parsed
    )
    SELECT payroll.next_nominal_date(
        rules.frequency, rules.every, rules.week_days, rules.month_days, rules.skip, rules.anchor,
        asked.after)
    FROM unnest(%(numbers)s::integer[], %(afters)s::date[]) WITH ORDINALITY AS asked (number, after, position)
    JOIN rules ON rules.number = asked.number
    ORDER BY asked.position
"""


def ask(connection: Connection, questions: list[Question]) -> list[date | None]:
    """The database's answer to each (rule, anchor, after), in one round trip."""
    numbers = {pair: number for number, pair in enumerate(dict.fromkeys(q[:2] for q in questions), start=1)}
    rows = connection.execute(
        ASK,
        {
            "rules": [";".join(rule.parts()) for rule, _ in numbers],
            "anchors": [anchor for _, anchor in numbers],
            "numbers": [numbers[rule, anchor] for rule, anchor, _ in questions],
            "afters": [after for _, _, after in questions],
        },
    ).fetchall()
    return [row[0] for row in rows]


def questions_about(rule: Rule, anchor: date, seed: int) -> list[tuple[Question, date | None]]:
    """Questions around the rule's dates over thirty years, and days at random, with the oracle's answers."""
    chance = random.Random(seed)
    horizon = anchor + timedelta(days=366 * YEARS)
    dates = occurrences(rule, anchor, horizon)
    inside = [day for day in dates if day <= horizon]
    afters: list[date | None] = [None, anchor - timedelta(days=400), anchor - timedelta(days=1), anchor]
    for day in inside[:4] + chance.sample(inside, min(20, len(inside))):
        afters += [day - timedelta(days=1), day]
    afters += [anchor + timedelta(days=chance.randrange(366 * YEARS)) for _ in range(10)]
    return [((rule, anchor, after), next_occurrence(dates, after)) for after in afters]


def ascending(days: st.SearchStrategy[int], most: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.sets(days, min_size=1, max_size=most).map(lambda chosen: tuple(sorted(chosen)))


steps = st.one_of(st.integers(1, 6), st.sampled_from([12, 24, 36, 48, 600, 900]), st.integers(1, 999))
any_month_day = st.one_of(st.integers(1, 31), st.integers(-28, -1), st.sampled_from([28, 29, 30, 31, -1]))
month_days = ascending(any_month_day, 5)
weekly_rules = st.builds(
    Rule, frequency=st.just("weekly"), every=steps, week_days=ascending(st.integers(1, 7), 7)
)
monthly_rules = st.builds(
    Rule,
    frequency=st.just("monthly"),
    every=steps,
    month_days=month_days,
    skip=st.sampled_from(["omit", "backward"]),
)
rules = st.one_of(monthly_rules, monthly_rules, weekly_rules, st.just(Rule("once")))
anchors = st.one_of(
    st.dates(date(1990, 1, 1), date(2060, 12, 31)),
    st.sampled_from([date(2023, 1, 31), date(2024, 2, 29), date(2024, 2, 1), date(2095, 1, 1)]),
    st.just(date(1899, 12, 31)),
)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(sent=st.lists(st.tuples(rules, anchors, st.integers(0, 2**32)), min_size=60, max_size=60))
def test_the_next_date_is_the_oracles_for_any_rule_anchor_and_day(
    connection: Connection, sent: list[tuple[Rule, date, int]]
) -> None:
    asked = [pair for rule, anchor, seed in sent for pair in questions_about(rule, anchor, seed)]
    answers = ask(connection, [question for question, _ in asked])
    wrong = [
        (question, answer, expected)
        for (question, expected), answer in zip(asked, answers, strict=True)
        if answer != expected
    ]
    assert not wrong, f"{len(wrong)} of {len(asked)}, the first: {wrong[0]}"


COMMON_RULES = [
    *(
        Rule("weekly", every, days)
        for every in (1, 2, 4)
        for days in ((5,), (1, 4), (6, 7), tuple(range(1, 8)))
    ),
    *(
        Rule("monthly", every, month_days=days, skip=skip)
        for every in (1, 2, 3, 6, 12)
        for days in ((31,), (30,), (29,), (-1,), (15, 31), (-1, 15), (-28, 1))
        for skip in ("omit", "backward")
    ),
    Rule("once"),
]


def test_following_the_dates_one_by_one_gives_thirty_years_without_a_gap_or_a_repeat(
    connection: Connection,
) -> None:
    """Each common rule from anchors in every month, walked from date to date as claim_due_schedules does."""
    chosen = [
        (rule, anchor)
        for n, rule in enumerate(COMMON_RULES)
        for anchor in (date(2023, 1, 31), date(2024, 2, 29), date(2020 + n % 5, n % 12 + 1, n % 28 + 1))
    ]
    rows = connection.execute(
        """
        WITH RECURSIVE rules AS MATERIALIZED (
            SELECT sent.number, sent.anchor, parsed.*
            FROM unnest(%s::text[], %s::date[]) WITH ORDINALITY AS sent (rule, anchor, number)
            CROSS JOIN LATERAL payroll.parse_recurrence(sent.rule) AS parsed
        ), walk AS (
            SELECT rules.number, NULL::date AS day, 0 AS step FROM rules
            UNION ALL
            SELECT following.number, following.day, walk.step + 1
            FROM walk
            JOIN rules ON rules.number = walk.number
            CROSS JOIN LATERAL (SELECT rules.number, payroll.next_nominal_date(
                rules.frequency, rules.every, rules.week_days, rules.month_days, rules.skip, rules.anchor,
                walk.day)
            ) AS following (number, day)
            WHERE following.day <= rules.anchor + 366 * 30
        )
        SELECT walk.number, array_agg(walk.day ORDER BY walk.step)
        FROM walk WHERE walk.step > 0 GROUP BY walk.number
        """,
        ([";".join(rule.parts()) for rule, _ in chosen], [anchor for _, anchor in chosen]),
    ).fetchall()
    walked: dict[int, list[date]] = dict(rows)
    for number, (rule, anchor) in enumerate(chosen, start=1):
        horizon = anchor + timedelta(days=366 * YEARS)
        expected = [day for day in occurrences(rule, anchor, horizon) if day <= horizon]
        assert walked.get(number, []) == expected, (rule, anchor)


def clamped(*days: int) -> Rule:
    return Rule("monthly", month_days=days, skip="backward")


@pytest.mark.parametrize(
    ("rule", "anchor", "after", "expected"),
    [
        # The 31st is not the 28th for good.
        (clamped(31), date(2023, 1, 31), date(2023, 2, 28), date(2023, 3, 31)),
        (Rule("monthly", month_days=(31,)), date(2023, 1, 31), date(2023, 1, 31), date(2023, 3, 31)),
        # Last day and day 30 are not the same.
        (Rule("monthly", month_days=(-1,)), date(2023, 1, 1), date(2023, 1, 30), date(2023, 1, 31)),
        (clamped(30), date(2024, 1, 1), date(2024, 1, 30), date(2024, 2, 29)),
        # Two days that fall on one date are one date.
        (clamped(-1, 30, 31), date(2023, 2, 1), None, date(2023, 2, 28)),
        (clamped(-1, 30, 31), date(2023, 2, 1), date(2023, 2, 28), date(2023, 3, 30)),
        # The first date is the anchor itself, and no date is before it.
        (Rule("weekly", 2, (1, 5)), date(2024, 5, 31), None, date(2024, 5, 31)),
        (Rule("weekly", 2, (1, 5)), date(2024, 5, 31), date(1999, 1, 1), date(2024, 5, 31)),
        (Rule("weekly", 2, (1, 5)), date(2024, 5, 31), date(2024, 5, 31), date(2024, 6, 10)),
        (Rule("once"), date(2024, 5, 31), None, date(2024, 5, 31)),
        (Rule("once"), date(2024, 5, 31), date(2024, 5, 30), date(2024, 5, 31)),
        (Rule("once"), date(2024, 5, 31), date(2024, 5, 31), None),
        # Leap days across 2100, and across 16 steps of 75 years.
        (Rule("monthly", 12, month_days=(29,)), date(2024, 2, 1), date(2096, 2, 29), date(2104, 2, 29)),
        (Rule("monthly", 900, month_days=(29,)), date(2000, 2, 1), date(2000, 2, 29), date(3200, 2, 29)),
        # A day that never comes, and the end of the calendar.
        (Rule("monthly", 12, month_days=(30,)), date(2024, 2, 1), None, None),
        (Rule("weekly", 999, (5,)), date(2024, 5, 31), date(9990, 1, 1), None),
        (Rule("monthly", month_days=(31,)), date(2024, 5, 31), date(9999, 12, 31), None),
        (Rule("weekly", 1, (5,)), date(1, 1, 1), None, date(1, 1, 5)),
    ],
)  # fmt: skip
def test_the_next_date_in_cases_that_others_got_wrong(
    connection: Connection, rule: Rule, anchor: date, after: date | None, expected: date | None
) -> None:
    assert ask(connection, [(rule, anchor, after)]) == [expected]


@pytest.mark.parametrize("after", ["'infinity'", "'9999-12-31'", "'5874897-12-31'"])
@pytest.mark.parametrize("rule", ["ONCE", "FREQ=WEEKLY;BYDAY=FR", "FREQ=MONTHLY;BYMONTHDAY=-1"])
def test_days_beyond_the_calendar_have_no_next_date_and_raise_nothing(
    connection: Connection, rule: str, after: str
) -> None:
    row = connection.execute(
        "SELECT payroll.next_nominal_date(frequency, every, week_days, month_days, skip, '2024-01-01',"
        f" {after}::date) FROM payroll.parse_recurrence(%s)",
        (rule,),
    ).fetchone()
    assert row == (None,)


def test_the_choice_within_a_month_is_inlined_by_the_planner(connection: Connection) -> None:
    plan = connection.execute(
        "EXPLAIN (VERBOSE, COSTS OFF) SELECT payroll.nominal_date_in_month("
        "sent.days, 'omit', sent.first, sent.first) FROM (VALUES ('{1}'::smallint[], DATE '2024-01-01'))"
        " AS sent (days, first) OFFSET 0"
    ).fetchall()
    assert "nominal_date_in_month" not in "\n".join(row[0] for row in plan)
