"""Which dates a schedule's rule gives, for checking a first pay date before the database does.

Only the rules of a payroll's everyday words are known here (once, every n weeks on weekdays, days of the
month with SKIP=BACKWARD). Any other rule is left to the database, which is the judge in every case.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FARTHEST_DAYS = 800


@dataclass(frozen=True, slots=True)
class KnownRule:
    """weekdays (0 is Monday) if weekly, month_days (negative: from the end) if monthly, neither if once."""

    weekdays: frozenset[int] = frozenset()
    month_days: frozenset[int] = frozenset()
    backward: bool = False

    def gives(self, day: date) -> bool:
        """Whether the rule, anchored on this day, gives this day."""
        if self.weekdays:
            return day.weekday() in self.weekdays
        if not self.month_days:
            return True
        last = monthrange(day.year, day.month)[1]
        for month_day in self.month_days:
            wanted = month_day if month_day > 0 else last + 1 + month_day
            if self.backward and month_day > last:
                wanted = last
            if wanted == day.day:
                return True
        return False

    def nearest(self, day: date) -> tuple[date | None, date | None]:
        """The last date before and the first date after `day` that the rule gives."""
        return self._search(day, -1), self._search(day, 1)

    def _search(self, day: date, step: int) -> date | None:
        for distance in range(1, _FARTHEST_DAYS):
            try:
                candidate = day + timedelta(days=step * distance)
            except OverflowError:
                return None
            if self.gives(candidate):
                return candidate
        return None


def known_rule(rule: str) -> KnownRule | None:
    """The rule, or None when only the database can tell."""
    if rule == "ONCE":
        return KnownRule()
    weekly = re.fullmatch(r"FREQ=WEEKLY(?:;INTERVAL=[0-9]+)?;BYDAY=([A-Z,]+)", rule, re.ASCII)
    if weekly:
        names = weekly[1].split(",")
        if all(name in WEEKDAYS for name in names):
            return KnownRule(weekdays=frozenset(WEEKDAYS.index(name) for name in names))
        return None
    monthly = re.fullmatch(r"FREQ=MONTHLY;BYMONTHDAY=([0-9,-]+)(;SKIP=BACKWARD)?", rule, re.ASCII)
    if monthly:
        try:
            days = frozenset(int(text) for text in monthly[1].split(","))
        except ValueError:
            return None
        if all(1 <= abs(month_day) <= 31 for month_day in days):
            return KnownRule(month_days=days, backward=monthly[2] is not None)
    return None
