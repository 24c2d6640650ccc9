"""What a wall clock's reading means, by zoneinfo: the first moment that shows it, or the end of the gap.

Imports nothing of the project.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

SECOND = timedelta(seconds=1)


def clock_changes(zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[datetime]:
    """The moments (UTC) at which the zone's offset changes, found by halving; at most one in six days."""
    before = start
    while before < end:
        after = before + timedelta(days=6)
        if _offset(zone, before) != _offset(zone, after):
            yield _change_between(zone, before, after)
        before = after


def pay_moment(zone: ZoneInfo, local: datetime) -> datetime:
    """The first moment (UTC) at which the clock shows `local`; in a gap, the first moment after it."""
    moment = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == local:
        return moment
    span = timedelta(hours=26)
    return _change_between(
        zone, (moment - span).replace(microsecond=0), (moment + span).replace(microsecond=0)
    )


def _offset(zone: ZoneInfo, moment: datetime) -> timedelta:
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None
    return offset


def _change_between(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    offset = _offset(zone, before)
    while after - before > SECOND:
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if _offset(zone, middle) == offset:
            before = middle
        else:
            after = middle
    return after
