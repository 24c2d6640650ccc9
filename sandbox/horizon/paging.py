"""Pages: cursor, order and limit, and the links around them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from sandbox.history import Track
from sandbox.horizon.errors import bad_request

_MAX_LIMIT = 200
_LAST_PLACE = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Page:
    """What part of a list is asked for. `cursor` None is the beginning in that order."""

    cursor: int | None
    descending: bool
    limit: int

    def choose(self, track: Track) -> Iterator[object]:
        """The track's records beyond the cursor, not yet limited."""
        if self.descending:
            return track.before(_LAST_PLACE if self.cursor is None else self.cursor)
        return track.after(0 if self.cursor is None else self.cursor)


def read_page(request: web.Request, latest_place: int) -> Page:
    """The page that a request asks for; `latest_place` is what cursor=now means. Problem 400 if it is
    wrong."""
    query = request.query
    order = query.get("order", "") or "asc"
    if order not in ("asc", "desc"):
        raise bad_request("order", "order: invalid value")
    text = query.get("limit", "") or "10"
    if not text.isdecimal() or not 1 <= int(text) <= _MAX_LIMIT:
        raise bad_request("limit", f"limit: must be between 1 and {_MAX_LIMIT}")
    cursor = query.get("cursor", "")
    if cursor == "now":
        return Page(latest_place, order == "desc", int(text))
    head = cursor.split("-")[0]
    if cursor and not head.isdecimal():
        raise bad_request("cursor", f"cursor: {cursor} is invalid")
    return Page(int(head) if cursor else None, order == "desc", int(text))


def _link(request: web.Request, **changes: str) -> dict[str, str]:
    query = {**request.query, **changes}
    return {"href": f"{request.url.origin()}{request.path}?{urlencode(query)}"}


def page_body(request: web.Request, page: Page, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Horizon's page: the links self, next and prev, and the records."""
    order, reverse = ("desc", "asc") if page.descending else ("asc", "desc")
    limit = str(page.limit)
    given = "" if page.cursor is None else request.query.get("cursor", "")
    last = records[-1]["paging_token"] if records else given
    first = records[0]["paging_token"] if records else given
    return {
        "_links": {
            "self": _link(request, cursor=given, limit=limit, order=order),
            "next": _link(request, cursor=last, limit=limit, order=order),
            "prev": _link(request, cursor=first, limit=limit, order=reverse),
        },
        "_embedded": {"records": records},
    }


def take(
    records: Iterable[Any], limit: int, keep: Callable[[Any], bool], show: Callable[[Any], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The first `limit` records to keep, as JSON."""
    return [show(record) for record in islice(filter(keep, records), limit)]
