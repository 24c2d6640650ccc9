"""Server-sent events: a list that goes on as ledgers are ingested."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from aiohttp import web

from sandbox.horizon.paging import Page
from sandbox.horizon.submission import Arrivals

Fetch = Callable[[Page], list[dict[str, Any]]]
_LIMIT = 200


def is_wanted(request: web.Request) -> bool:
    """Whether the client asks for events instead of a page."""
    return "text/event-stream" in request.headers.get("Accept", "")


async def stream(request: web.Request, page: Page, fetch: Fetch, arrivals: Arrivals) -> web.StreamResponse:
    """Sends the records after the cursor, and then each new one, until the client goes."""
    seen = request.headers.get("Last-Event-ID", "")
    position = replace(
        page, descending=False, limit=_LIMIT, cursor=int(seen) if seen.isdecimal() else page.cursor
    )
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    await response.write(b'retry: 1000\nevent: open\ndata: "hello"\n\n')
    try:
        while True:
            more = arrivals.next_ledger()
            records = fetch(position)
            for record in records:
                text = f"id: {record['paging_token']}\ndata: {json.dumps(record)}\n\n"
                await response.write(text.encode())
            if records:
                position = replace(position, cursor=int(records[-1]["paging_token"]))
            if len(records) < _LIMIT:
                await asyncio.shield(more)
    except ConnectionError:
        return response
