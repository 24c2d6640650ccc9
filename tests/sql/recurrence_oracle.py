"""What a recurrence rule means, without our SQL: by dateutil, and for SKIP=BACKWARD by plain counting.

Imports nothing of the project. An occurrence list ends at a horizon, plus the first date after it, so
that every question up to the horizon has its answer in the list.
"""

import calendar
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, time

from dateutil import rrule

WEEK_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule in the columns of pay_schedule; lists ascending. `frequency` is once, weekly or monthly."""

    frequency: str
    every: int = 1
    week_days: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    skip: str = "omit"

    def parts(self) -> list[str]:
        """The RRULE parts; the caller joins them in any order."""
        if self.frequency == "once":
            return ["ONCE"]
        parts = [f"FREQ={self.frequency.upper()}"]
        if self.every > 1:
            parts.append(f"INTERVAL={self.every}")
        if self.frequency == "weekly":
            parts.append("BYDAY=" + ",".join(WEEK_DAYS[day - 1] for day in self.week_days))
        else:
            parts.append("BYMONTHDAY=" + ",".join(str(day) for day in self.month_days))
            if self.skip != "omit":
                parts.append(f"SKIP={self.skip.upper()}")
        return parts


def occurrences(rule: Rule, anchor: date, horizon: date) -> list[date]:
    """Every date of the rule from the anchor to the horizon, and the first one after it if there is one."""
    dates = []
    for day in _every_occurrence(rule, anchor):
        dates.append(day)
        if day > horizon:
            break
    return dates


def next_occurrence(dates: list[date], after: date | None) -> date | None:
    """The first of `dates` (from `occurrences`) that is later than `after`."""
    index = 0 if after is None else bisect_right(dates, after)
    return dates[index] if index < len(dates) else None


def _every_occurrence(rule: Rule, anchor: date) -> Iterator[date]:
    if rule.frequency == "once":
        return iter([anchor])
    if rule.skip == "backward":
        return _clamped(rule, anchor)
    start = datetime.combine(anchor, time())
    if rule.frequency == "weekly":
        by_day = rrule.rrule(
            rrule.WEEKLY,
            dtstart=start,
            interval=rule.every,
            byweekday=[day - 1 for day in rule.week_days],
            wkst=rrule.MO,
        )
        return (moment.date() for moment in by_day)
    by_month_day = rrule.rrule(rrule.MONTHLY, dtstart=start, interval=rule.every, bymonthday=rule.month_days)
    return (moment.date() for moment in by_month_day)


def _clamped(rule: Rule, anchor: date) -> Iterator[date]:
    """Monthly dates where a day that the month lacks becomes its last day."""
    year, month = anchor.year, anchor.month
    while year <= MAXYEAR:
        length = calendar.monthrange(year, month)[1]
        days = {min(day, length) if day > 0 else length + 1 + day for day in rule.month_days}
        for day in sorted(days):
            if date(year, month, day) >= anchor:
                yield date(year, month, day)
        years, month0 = divmod(month - 1 + rule.every, 12)
        year, month = year + years, month0 + 1
