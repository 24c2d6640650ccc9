"""The sandbox's own endpoints under /sandbox: for tests, judges and demos, not part of Horizon."""

import asyncio
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from aiohttp import web

from sandbox.amounts import to_text
from sandbox.assets import canonical
from sandbox.clock import rfc3339
from sandbox.faults import UnknownFault
from sandbox.foreign import Disturbance
from sandbox.history import TransactionRecord
from sandbox.ledger import Header
from sandbox.operations import Movement
from sandbox.operations.claimable import balance_id_text
from sandbox.strkeys import Party
from sandbox.transaction import Memo

if TYPE_CHECKING:
    from sandbox.server import Sandbox

_CHUNK = 500


def header_json(header: Header) -> dict[str, Any]:
    """A ledger's header: sequence, closed_at, close_time (Unix seconds), hash, fee_pool (stroops)."""
    return {
        "sequence": header.sequence,
        "closed_at": rfc3339(header.close_time),
        "close_time": header.close_time,
        "hash": header.hash.hex(),
        "fee_pool": header.fee_pool,
    }


def _memo_value(memo: Memo) -> str | None:
    if isinstance(memo.value, int):
        return str(memo.value)
    if memo.value is None:
        return None
    return memo.value.decode("utf-8", "replace") if memo.kind == "text" else memo.value.hex()


def _text(value: str | None) -> str:
    """JSON of a text that needs no escapes."""
    return "null" if value is None else f'"{value}"'


def _party(name: str, party: Party | None) -> str:
    if party is None or party.muxed_id is None:
        address = "null" if party is None else f'"{party.address}"'
        return f'"{name}": {address}, "{name}_muxed": null, "{name}_muxed_id": null'
    muxed, muxed_id = party.muxed, party.muxed_id
    return f'"{name}": "{party.address}", "{name}_muxed": "{muxed}", "{name}_muxed_id": "{muxed_id}"'


def _transaction_part(record: TransactionRecord) -> dict[str, Any]:
    submission, inner = record.submission, record.submission.inner
    return {
        "ledger": record.header.sequence,
        "closed_at": rfc3339(record.header.close_time),
        "transaction_hash": submission.hash.hex(),
        "inner_hash": inner.hash.hex() if submission.is_fee_bump else None,
        "source_account": inner.source.address,
        "source_account_sequence": str(inner.sequence),
        "memo_type": inner.memo.kind,
        "memo_value": _memo_value(inner.memo),
    }


def _movement_part(position: int, movement: Movement) -> str:
    """Written by hand: a judge reads hundreds of thousands of them."""
    balance_id = None if movement.balance_id is None else balance_id_text(movement.balance_id)
    return (
        f'{{"position": {position}, "operation_index": {movement.index}, "type": "{movement.kind}", '
        f"{_party('from', movement.origin)}, {_party('to', movement.target)}, "
        f'"asset": "{canonical(movement.asset)}", "amount": "{to_text(movement.amount)}", '
        f'"balance_id": {_text(balance_id)}'
    )


def movements_json(position: int, moved: Sequence[tuple[TransactionRecord, Movement]]) -> Iterator[str]:
    """Movements of money as JSON objects, as a judge reads them. Positions count from 0 in the ledger's
    order."""
    last, common = None, ""
    for at, (record, movement) in enumerate(moved, position):
        if record is not last:
            last, common = record, json.dumps(_transaction_part(record))[1:]
        yield f"{_movement_part(at, movement)}, {common}"


def transaction_json(record: TransactionRecord) -> dict[str, Any]:
    """A transaction in a ledger: hashes, source, sequence, codes, fee (stroops)."""
    submission, inner, result = record.submission, record.submission.inner, record.result
    return {
        "ledger": record.header.sequence,
        "order": record.order,
        "hash": submission.hash.hex(),
        "inner_hash": inner.hash.hex() if submission.is_fee_bump else None,
        "source_account": inner.source.address,
        "source_account_sequence": str(inner.sequence),
        "fee_account": submission.fee_source.address,
        "fee_charged": result.fee_charged,
        "successful": record.successful,
        "operation_count": len(inner.operations),
        "result_codes": result.result_codes(),
    }


class Control:
    """Handlers over one sandbox."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox

    def routes(self) -> list[web.RouteDef]:
        """All routes under /sandbox."""
        return [
            web.get("/sandbox/state", self.state),
            web.post("/sandbox/close", self.close),
            web.post("/sandbox/clock", self.clock),
            web.get("/sandbox/faults", self.list_faults),
            web.post("/sandbox/faults", self.set_faults),
            web.delete("/sandbox/faults", self.clear_faults),
            web.get("/sandbox/operations", self.operations),
            web.get("/sandbox/transactions", self.transactions),
            web.post("/sandbox/foreign", self.foreign),
            web.post("/sandbox/fund", self.fund),
        ]

    async def state(self, request: web.Request) -> web.Response:
        """GET /sandbox/state: counters, conditions, the clock."""
        sandbox = self._sandbox
        conditions = asdict(sandbox.network.conditions)
        if math.isinf(conditions["close_factor"]):
            conditions["close_factor"] = None
        return web.json_response(
            {
                **sandbox.network.summary(),
                "conditions": conditions,
                "now": sandbox.network.clock.now(),
                "close_seconds": sandbox.close_seconds,
                "operations": len(sandbox.network.history.moved(0)),
            }
        )

    async def close(self, request: web.Request) -> web.Response:
        """POST /sandbox/close {"count": 1, "advance": 0}: closes ledgers now; the last one's header."""
        given = await _json(request)
        self._sandbox.network.clock.advance(float(given.get("advance", 0)))
        for _ in range(int(given.get("count", 1)) - 1):
            self._sandbox.close_ledger()
        return web.json_response(header_json(self._sandbox.close_ledger()))

    async def clock(self, request: web.Request) -> web.Response:
        """POST /sandbox/clock {"advance": seconds} or {"set": Unix seconds or RFC 3339}."""
        given, clock = await _json(request), self._sandbox.network.clock
        if "set" in given:
            moment = given["set"]
            clock.set(
                datetime.fromisoformat(moment).timestamp() if isinstance(moment, str) else float(moment)
            )
        clock.advance(float(given.get("advance", 0)))
        return web.json_response({"now": clock.now()})

    async def list_faults(self, request: web.Request) -> web.Response:
        """GET /sandbox/faults: rules, and what struck so far."""
        faults = self._sandbox.faults
        return web.json_response({"rules": [rule.as_json() for rule in faults.rules()], "log": faults.log})

    async def set_faults(self, request: web.Request) -> web.Response:
        """POST /sandbox/faults: one rule or a list of them; their ids."""
        given = await _json(request)
        rules = given if isinstance(given, list) else [given]
        ids: list[int] = []
        try:
            for rule in rules:
                ids.extend(self._sandbox.set_fault(rule))
        except (UnknownFault, TypeError, KeyError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"ids": ids})

    async def clear_faults(self, request: web.Request) -> web.Response:
        """DELETE /sandbox/faults[?id=1&id=2]: rules, or everything, conditions of the network included."""
        ids = [int(each) for each in request.query.getall("id", [])]
        self._sandbox.clear_faults(ids or None)
        return web.json_response({})

    async def operations(self, request: web.Request) -> web.StreamResponse:
        """GET /sandbox/operations[?after=position]: every movement of money in the order of the ledger."""
        start = int(request.query.get("after", -1)) + 1
        moved = self._sandbox.network.history.moved(start)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b"[")
        for first in range(0, len(moved), _CHUNK):
            shown = movements_json(start + first, moved[first : first + _CHUNK])
            await response.write((",\n" if first else "").encode() + ",\n".join(shown).encode())
            await asyncio.sleep(0)
        await response.write(b"]")
        await response.write_eof()
        return response

    async def transactions(self, request: web.Request) -> web.Response:
        """GET /sandbox/transactions[?after_ledger=n]: every transaction in a ledger, failed ones too."""
        start = int(request.query.get("after_ledger", 0))
        ledgers = self._sandbox.network.history.ledgers[start:]
        return web.json_response(
            [transaction_json(each) for ledger in ledgers for each in ledger.transactions]
        )

    async def foreign(self, request: web.Request) -> web.Response:
        """POST /sandbox/foreign: a foreign transaction (see Disturbance) in the next ledger, or a raw
        envelope."""
        given = await _json(request)
        try:
            if "envelope" in given:
                network = self._sandbox.network
                submission = network.read(str(given["envelope"]))
                network.inject(submission, bool(given.get("first", True)))
            else:
                submission = self._sandbox.disturb(Disturbance(**given))
        except (ValueError, TypeError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response(
            {
                "hash": submission.hash.hex(),
                "inner_hash": submission.inner.hash.hex(),
                "sequence": str(submission.sequence),
            }
        )

    async def fund(self, request: web.Request) -> web.Response:
        """POST /sandbox/fund {"G…": "10000", …}: opens accounts in a ledger of their own; its header."""
        given = await _json(request)
        try:
            header = self._sandbox.fund({str(address): str(amount) for address, amount in given.items()})
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response(header_json(header))


async def _json(request: web.Request) -> Any:
    text = await request.text()
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise web.HTTPBadRequest(text=f"not JSON: {error}") from error
