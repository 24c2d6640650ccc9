"""payroll.parse_recurrence: what it accepts, and what it refuses by name."""

import random

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import TupleRow

from tests.sql.recurrence_oracle import WEEK_DAYS, Rule
from tests.sql.test_next_nominal_date import rules

Connection = psycopg.Connection[TupleRow]

PARSE = "SELECT frequency, every, week_days, month_days, skip FROM payroll.parse_recurrence(%s)"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("ONCE", ("once", 1, None, None, "omit")),
        (" once ", ("once", 1, None, None, "omit")),
        ("FREQ=WEEKLY;BYDAY=FR", ("weekly", 1, [5], None, "omit")),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR,MO;WKST=MO", ("weekly", 2, [1, 5], None, "omit")),
        ("RRULE:FREQ=WEEKLY;BYDAY=SU", ("weekly", 1, [7], None, "omit")),
        ("rrule:byday=su,mo;freq=weekly", ("weekly", 1, [1, 7], None, "omit")),
        ("FREQ=MONTHLY;BYMONTHDAY=15,-1", ("monthly", 1, None, [-1, 15], "omit")),
        ("FREQ=MONTHLY;BYMONTHDAY=+15", ("monthly", 1, None, [15], "omit")),
        ("FREQ=MONTHLY;BYMONTHDAY=31;SKIP=BACKWARD", ("monthly", 1, None, [31], "backward")),
        ("SKIP=OMIT;BYMONTHDAY=31;INTERVAL=012;FREQ=MONTHLY", ("monthly", 12, None, [31], "omit")),
        ("RSCALE=GREGORIAN;FREQ=MONTHLY;BYMONTHDAY=31;SKIP=BACKWARD", ("monthly", 1, None, [31], "backward")),
        ("FREQ=MONTHLY;INTERVAL=999;BYMONTHDAY=-28,31", ("monthly", 999, None, [-28, 31], "omit")),
    ],
)
def test_a_supported_rule_becomes_columns(
    connection: Connection, rule: str, expected: tuple[object, ...]
) -> None:
    assert connection.execute(PARSE, (rule,)).fetchone() == expected


MALFORMED = [
    (None, "empty"),
    ("", "empty"),
    ("   ", "empty"),
    ("FREQ=WEEKLY;BYDAY=FR" + ";" * 500, "500"),
    ("MONTHLY", '"MONTHLY"'),
    ("RRULE:", "FREQ is missing"),
    ("RRULE:ONCE", '"ONCE"'),
    ("ONCE;FREQ=WEEKLY", '"ONCE"'),
    ("FREQ=WEEKLY;BYDAY=FR;", '""'),
    ("FREQ=WEEKLY;;BYDAY=FR", '""'),
    ("FREQ=WEEKLY; BYDAY=FR", '" BYDAY=FR"'),
    ("FREQ=WEEKLY;BYDAY=MO, FR", '"BYDAY=MO, FR"'),
    ("FREQ=WEEKLY;BYDAY=", '"BYDAY="'),
    ("FREQ=WEEKLY;BYDAY=FR\nFREQ=WEEKLY", "NAME=VALUE"),
    ("FREQ=WEEKLY=2;BYDAY=FR", '"FREQ=WEEKLY=2"'),
    ("INTERVAL=2;BYDAY=FR", "FREQ is missing"),
    ("FREQ=BIWEEKLY;BYDAY=FR", "FREQ=BIWEEKLY"),
    ("FREQ=WEEKLY;BYDAYS=FR", "BYDAYS"),
    ("FREQ=WEEKLY;BYDAY=FR;X-PAY=1", '"X-PAY=1"'),
    ("FREQ=WEEKLY;FREQ=WEEKLY;BYDAY=FR", "FREQ is given twice"),
    ("FREQ=WEEKLY;BYDAY=FR;BYDAY=MO", "BYDAY is given twice"),
    ("FREQ=WEEKLY;BYDAY=FR;INTERVAL=1;interval=2", "INTERVAL is given twice"),
    ("FREQ=WEEKLY;BYDAY=FR;INTERVAL=0", "INTERVAL=0"),
    ("FREQ=WEEKLY;BYDAY=FR;INTERVAL=-1", "INTERVAL=-1"),
    ("FREQ=WEEKLY;BYDAY=FR;INTERVAL=1.5", "INTERVAL=1.5"),
    ("FREQ=WEEKLY;BYDAY=FR;INTERVAL=two", "INTERVAL=TWO"),
    ("FREQ=WEEKLY;BYDAY=FR;WKST=XX", "WKST=XX"),
    ("FREQ=WEEKLY;BYDAY=XX", '"XX"'),
    ("FREQ=WEEKLY;BYDAY=FRI", '"FRI"'),
    ("FREQ=WEEKLY;BYDAY=MO,,FR", '""'),
    ("FREQ=WEEKLY;BYDAY=MO,FR,MO", "MO twice"),
    ("FREQ=WEEKLY;BYMONTHDAY=15", "BYMONTHDAY"),
    ("FREQ=MONTHLY;BYMONTHDAY=0", '"0"'),
    ("FREQ=MONTHLY;BYMONTHDAY=32", '"32"'),
    ("FREQ=MONTHLY;BYMONTHDAY=-32", '"-32"'),
    ("FREQ=MONTHLY;BYMONTHDAY=99999999999", '"99999999999"'),
    ("FREQ=MONTHLY;BYMONTHDAY=15th", '"15TH"'),
    ("FREQ=MONTHLY;BYMONTHDAY=15,", '""'),
    ("FREQ=MONTHLY;BYMONTHDAY=15,-1,15", "15 twice"),
    ("FREQ=MONTHLY;BYMONTHDAY=15,+15", "15 twice"),
    ("FREQ=MONTHLY;BYMONTHDAY=31;SKIP=LATER", "SKIP=LATER"),
    ("DTSTART:20240101", "NAME=VALUE"),
]

UNSUPPORTED = [
    ("FREQ=DAILY", "FREQ=DAILY"),
    ("FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1", "FREQ=YEARLY"),
    ("FREQ=HOURLY", "FREQ=HOURLY"),
    ("FREQ=MINUTELY", "FREQ=MINUTELY"),
    ("FREQ=SECONDLY", "FREQ=SECONDLY"),
    ("FREQ=WEEKLY", "without BYDAY"),
    ("FREQ=MONTHLY", "without BYMONTHDAY"),
    ("FREQ=WEEKLY;BYDAY=FR;COUNT=10", "COUNT"),
    ("FREQ=WEEKLY;BYDAY=FR;UNTIL=20241231", "UNTIL"),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "BYSETPOS"),
    ("FREQ=MONTHLY;BYMONTH=1;BYMONTHDAY=15", "BYMONTH is"),
    ("FREQ=WEEKLY;BYDAY=FR;BYWEEKNO=1", "BYWEEKNO"),
    ("FREQ=MONTHLY;BYYEARDAY=1", "BYYEARDAY"),
    ("FREQ=WEEKLY;BYDAY=FR;BYHOUR=9", "BYHOUR"),
    ("FREQ=WEEKLY;BYDAY=FR;BYMINUTE=9", "BYMINUTE"),
    ("FREQ=WEEKLY;BYDAY=FR;BYSECOND=9", "BYSECOND"),
    ("FREQ=WEEKLY;BYDAY=FR;INTERVAL=1000", "INTERVAL=1000"),
    ("FREQ=WEEKLY;BYDAY=FR;INTERVAL=99999999999999999999", "INTERVAL=99999999999999999999"),
    ("FREQ=WEEKLY;BYDAY=FR;WKST=SU", "WKST=SU"),
    ("FREQ=MONTHLY;BYMONTHDAY=1;WKST=MO", "WKST"),
    ("FREQ=WEEKLY;BYDAY=1FR", "BYDAY=1FR"),
    ("FREQ=MONTHLY;BYDAY=-1FR", "BYDAY is"),
    ("FREQ=MONTHLY;BYDAY=FR", "BYDAY is"),
    ("FREQ=MONTHLY;BYMONTHDAY=-29", "BYMONTHDAY=-29"),
    ("FREQ=MONTHLY;BYMONTHDAY=-31", "BYMONTHDAY=-31"),
    ("FREQ=MONTHLY;BYMONTHDAY=31;SKIP=FORWARD", "SKIP=FORWARD"),
    ("FREQ=WEEKLY;BYDAY=FR;SKIP=BACKWARD", "SKIP"),
    ("FREQ=MONTHLY;BYMONTHDAY=31;RSCALE=CHINESE", "RSCALE=CHINESE"),
]


@pytest.mark.parametrize(
    ("rule", "words", "sqlstate"),
    [(*case, "PL001") for case in MALFORMED] + [(*case, "PL007") for case in UNSUPPORTED],
)
def test_anything_else_is_refused_by_name(
    connection: Connection, rule: str | None, words: str, sqlstate: str
) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        connection.execute(PARSE, (rule,))
    assert refusal.value.sqlstate == sqlstate
    assert words in str(refusal.value.diag.message_primary)


def shuffled(rule: Rule, seed: int) -> str:
    """The rule's text with its parts and days in some order and case, with some of the optional parts."""
    chance = random.Random(seed)
    parts = []
    for part in rule.parts():
        name, _, values = part.partition("=")
        listed = values.split(",")
        chance.shuffle(listed)
        parts.append(f"{name}={','.join(listed)}" if values else name)
    if rule.frequency == "weekly" and chance.random() < 0.5:
        parts.append("WKST=MO")
    if rule.frequency == "monthly" and rule.skip == "omit" and chance.random() < 0.5:
        parts.append("SKIP=OMIT")
    chance.shuffle(parts)
    text = chance.choice(["", "RRULE:"] if rule.frequency != "once" else [""]) + ";".join(parts)
    return chance.choice([text, text.lower(), text.title()])


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(sent=st.lists(st.tuples(rules, st.integers(0, 2**32)), min_size=100, max_size=100))
def test_order_and_case_of_the_parts_change_nothing(
    connection: Connection, sent: list[tuple[Rule, int]]
) -> None:
    rows = connection.execute(
        "SELECT parsed.frequency, parsed.every, parsed.week_days, parsed.month_days, parsed.skip"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS sent (rule, number)"
        " CROSS JOIN LATERAL payroll.parse_recurrence(sent.rule) AS parsed ORDER BY sent.number",
        ([shuffled(rule, seed) for rule, seed in sent],),
    ).fetchall()
    assert rows == [
        (rule.frequency, rule.every, list(rule.week_days) or None, list(rule.month_days) or None, rule.skip)
        for rule, _ in sent
    ]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rule=st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
        st.lists(
            st.sampled_from(
                [
                    *WEEK_DAYS,
                    *[
                        "FREQ",
                        "WEEKLY",
                        "MONTHLY",
                        "BYDAY",
                        "BYMONTHDAY",
                        "INTERVAL",
                        "=",
                        "=",
                        ";",
                        ",",
                        "1",
                        "-",
                        "31",
                    ],
                ]
            ),
            max_size=12,
        ).map("".join),
    )
)
def test_no_text_raises_anything_but_our_own_errors(connection: Connection, rule: str) -> None:
    sqlstate = None
    try:
        with connection.transaction():
            connection.execute(PARSE, (rule,))
    except psycopg.Error as refusal:
        sqlstate = refusal.sqlstate
    assert sqlstate in (None, "PL001", "PL007"), rule
