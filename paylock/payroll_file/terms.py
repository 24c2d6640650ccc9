"""A schedule's terms: when it pays. Everyday words become the rule texts that the database knows.

| words                                        | rule                                             |
|----------------------------------------------|--------------------------------------------------|
| once                                         | ONCE                                             |
| weekly                                       | every week on the first pay date's weekday       |
| every two weeks, biweekly, fortnightly       | every second week on that weekday                |
| every N weeks                                | every Nth week on that weekday                   |
| semi-monthly, twice a month                  | the 15th and the last day of each month          |
| monthly                                      | the first pay date's day, or the last of a shorter month |
| last day, last day of the month, month end   | the last day of each month                       |
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, time
from difflib import get_close_matches
from functools import lru_cache
from typing import TypeVar
from zoneinfo import available_timezones

from paylock.payroll_file.problems import FieldRefused
from paylock.payroll_file.recurrence import WEEKDAYS, known_rule

T = TypeVar("T")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?", re.ASCII)
_EVERY_N_WEEKS = re.compile(r"every ([0-9]{1,2}|two|three|four) weeks", re.ASCII)
_NUMBERS = {"two": 2, "three": 3, "four": 4}
_WORDS = "once, weekly, every two weeks (biweekly), every N weeks, semi-monthly, monthly, last day"


@dataclass(frozen=True, slots=True)
class ScheduleTerms:
    """When a schedule pays.

    rule: as the database knows it. first_pay_date: its anchor. pay_time: local time in time_zone (IANA).
    end_date: the last local date on which it may pay, or None.
    """

    rule: str
    first_pay_date: date
    pay_time: time
    time_zone: str
    end_date: date | None


class TermsRefused(ValueError):
    """Terms can't be used; `problems` holds (column, message) pairs."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{column} {message}" for column, message in problems))
        self.problems = problems


def terms_from_words(
    *, frequency: str, rule: str, first_pay_date: str, pay_time: str, time_zone: str, end_date: str
) -> ScheduleTerms:
    """The terms, empty texts meaning 'not given'; raises TermsRefused with everything that is wrong."""
    problems: list[tuple[str, str]] = []

    def checked(column: str, check: Callable[[str], T], text: str) -> T | None:
        try:
            return check(text)
        except FieldRefused as refused:
            problems.append((column, str(refused)))
            return None

    anchor = checked("first_pay_date", _required_date, first_pay_date)
    local = checked("pay_time", time_of, pay_time)
    zone = checked("time_zone", zone_of, time_zone)
    end = checked("end_date", date_of, end_date) if end_date else None
    rule_text: str | None = None
    if frequency and rule:
        problems.append(("rule", "and frequency are both given; keep one of them"))
    elif rule:
        rule_text = checked("rule", rule_of, rule)
    elif anchor is not None:
        rule_text = checked("frequency", lambda text: rule_from_words(text, anchor), frequency)
    else:
        checked("frequency", lambda text: rule_from_words(text, date(2000, 1, 31)), frequency)
    if anchor is not None and rule_text is not None:
        checked("first_pay_date", lambda _: check_first(rule_text, anchor, frequency or rule), first_pay_date)
    if anchor is not None and end is not None and end < anchor:
        problems.append(
            ("end_date", f"{end} is before the first pay date {anchor}; nobody would ever be paid")
        )
    if problems:
        raise TermsRefused(problems)
    assert rule_text is not None
    assert anchor is not None
    assert local is not None
    assert zone is not None
    return ScheduleTerms(rule_text, anchor, local, zone, end)


def rule_from_words(text: str, anchor: date) -> str:
    """The rule for an everyday word; raises FieldRefused."""
    words = " ".join(text.casefold().replace("-", " ").replace("_", " ").split())
    weekday = WEEKDAYS[anchor.weekday()]
    if words == "once":
        return "ONCE"
    if words in ("weekly", "every week"):
        return f"FREQ=WEEKLY;INTERVAL=1;BYDAY={weekday}"
    if words in ("biweekly", "bi weekly", "fortnightly", "every other week", "every second week"):
        return f"FREQ=WEEKLY;INTERVAL=2;BYDAY={weekday}"
    every = _EVERY_N_WEEKS.fullmatch(words)
    if every:
        weeks = _NUMBERS.get(every[1]) or int(every[1])
        if 1 <= weeks <= 52:
            return f"FREQ=WEEKLY;INTERVAL={weeks};BYDAY={weekday}"
    if words in ("semi monthly", "semimonthly", "twice a month"):
        return "FREQ=MONTHLY;BYMONTHDAY=15,-1"
    if words in ("monthly", "every month"):
        # Days that every month has need no SKIP; the others move back to the month's last day.
        return f"FREQ=MONTHLY;BYMONTHDAY={anchor.day}" + (";SKIP=BACKWARD" if anchor.day > 28 else "")
    if words in ("last day", "last day of the month", "last day of month", "month end", "end of month"):
        return "FREQ=MONTHLY;BYMONTHDAY=-1"
    if not words:
        raise FieldRefused(f"is empty; write one of: {_WORDS}")
    if words in ("bimonthly", "bi monthly"):
        raise FieldRefused(
            f"{text!r} may mean twice a month or every two months; write semi-monthly, or give a rule"
        )
    raise FieldRefused(f"{text!r} is not known; write one of: {_WORDS}; or give a rule")


def rule_of(text: str) -> str:
    """An RRULE text in capitals, without spaces or 'RRULE:' in front; the database judges its parts."""
    rule = "".join(text.split()).upper().removeprefix("RRULE:")
    if rule != "ONCE" and not re.fullmatch(r"[A-Z]+=[A-Z0-9,+-]+(;[A-Z]+=[A-Z0-9,+-]+)*", rule, re.ASCII):
        raise FieldRefused(
            f"{text[:60]!r} is not a rule; write it as FREQ=MONTHLY;BYMONTHDAY=15, or use frequency"
        )
    return rule


def check_first(rule: str, anchor: date, shown: str) -> None:
    """Raises FieldRefused, naming the nearest dates, if a rule known here does not give its first date."""
    known = known_rule(rule)
    if known is None or known.gives(anchor):
        return
    nearest = " or ".join(str(day) for day in known.nearest(anchor) if day is not None)
    raise FieldRefused(f"{anchor} is not a date that {shown!r} gives; the nearest is {nearest}")


def _required_date(text: str) -> date:
    if not text:
        raise FieldRefused("is empty; write the date as YYYY-MM-DD")
    return date_of(text)


def date_of(text: str) -> date:
    """An ISO date; raises FieldRefused."""
    if not _DATE.fullmatch(text):
        raise FieldRefused(
            f"{text[:20]!r} is not a date as YYYY-MM-DD, which is the only one that is read everywhere alike"
        )
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise FieldRefused(f"{text!r} is not a day of the calendar") from None


def time_of(text: str) -> time:
    """A local time of day; raises FieldRefused."""
    if not text:
        raise FieldRefused("is empty; write the local time as HH:MM, as 09:00")
    match = _TIME.fullmatch(text)
    if not match:
        raise FieldRefused(
            f"{text[:20]!r} is not a time of day; write HH:MM or HH:MM:SS from 00:00 to 23:59:59"
        )
    return time(int(match[1]), int(match[2]), int(match[3] or 0))


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


@lru_cache(maxsize=1024)
def zone_of(text: str) -> str:
    """An IANA time zone's name; raises FieldRefused."""
    if not text:
        raise FieldRefused("is empty; write the IANA zone, as Europe/Berlin")
    zones = _zones()
    if not zones or text in zones:
        return text
    by_folded = {zone.casefold(): zone for zone in zones}
    meant = by_folded.get(text.casefold().replace(" ", "_"))
    if meant is None:
        close = get_close_matches(text, [zone for zone in zones if "/" in zone], n=1)
        meant = close[0] if close else None
    hint = f"did you mean {meant}?" if meant else "write a name as Europe/Berlin or America/New_York"
    raise FieldRefused(f"{text[:40]!r} is not an IANA time zone; {hint}")
