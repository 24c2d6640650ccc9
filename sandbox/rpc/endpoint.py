"""POST /rpc: JSON-RPC 2.0 around the methods, and the faults that can strike them.

A fault rule meets a call under the path /rpc/<method>, so that sending and looking up can fail apart.
"""

import asyncio
import json
from typing import Any

from aiohttp import web

from sandbox.faults import Faults, Rule
from sandbox.horizon.interference import cut, rejection
from sandbox.network import Network, behind
from sandbox.rpc.methods import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, METHODS, RpcError
from sandbox.strkeys import account_address
from sandbox.transaction import MalformedEnvelope, Submission


class Rpc:
    """The endpoint over one network."""

    def __init__(self, network: Network, faults: Faults) -> None:
        self._network = network
        self._faults = faults

    def routes(self) -> list[web.RouteDef]:
        """POST /rpc."""
        return [web.post("/rpc", self.call)]

    async def call(self, request: web.Request) -> web.StreamResponse:
        """One JSON-RPC call."""
        identity: Any = None
        try:
            given = json.loads(await request.text())
            identity, method, params = given.get("id"), str(given.get("method")), given.get("params") or {}
        except (ValueError, AttributeError):
            return _error(identity, RpcError(INVALID_REQUEST, "invalid request"))
        rule = self._faults.strike("POST", f"/rpc/{method}", self._source(method, params))
        if rule is not None:
            return await self._strike(rule, request, identity, method, params)
        return self._answer(identity, method, params)

    def _answer(self, identity: Any, method: str, params: dict[str, Any]) -> web.Response:
        if method not in METHODS:
            return _error(identity, RpcError(METHOD_NOT_FOUND, "method not found"))
        try:
            result = METHODS[method](self._network, params)
        except RpcError as error:
            return _error(identity, error)
        return web.json_response({"jsonrpc": "2.0", "id": identity, "result": result})

    def _read(self, method: str, params: dict[str, Any]) -> Submission | None:
        if method != "sendTransaction":
            return None
        try:
            return self._network.read(str(params.get("transaction", "")))
        except MalformedEnvelope:
            return None

    def _source(self, method: str, params: dict[str, Any]) -> str | None:
        submission = self._read(method, params) if self._faults.needs_source() else None
        return None if submission is None else account_address(submission.source)

    async def _strike(
        self, rule: Rule, request: web.Request, identity: Any, method: str, params: dict[str, Any]
    ) -> web.StreamResponse:
        kind, given = rule.kind, rule.params
        await asyncio.sleep(float(given.get("delay", 1 if kind.startswith("slow") else 0)))
        if kind in ("lost_before", "timeout_dropped"):
            return cut(request) if kind == "lost_before" else web.Response(status=504)
        if kind in ("lost_after", "lost_after_submit", "truncated"):
            self._answer(identity, method, params)
            return cut(request)
        if kind == "timeout_applied":
            self._answer(identity, method, params)
            return web.Response(status=504)
        if kind == "rate_limited":
            return web.Response(status=429, headers={"Retry-After": str(given.get("retry_after", 1))})
        if kind in ("server_error", "stale_history"):
            if given.get("body") in ("html", "empty"):
                return web.Response(status=int(given.get("status", 502)))
            return _error(identity, RpcError(INTERNAL_ERROR, "internal error"))
        if kind == "not_found" and method == "getTransaction":
            unknown = {**params, "hash": "0" * 64}
            return self._answer(identity, method, unknown)
        if kind == "lagging_node":
            with behind(int(given.get("ledgers", 2))):
                return self._answer(identity, method, params)
        submission = self._read(method, params)
        if submission is not None:
            return self._strike_submission(rule, identity, params, submission)
        return self._answer(identity, method, params)

    def _strike_submission(
        self, rule: Rule, identity: Any, params: dict[str, Any], submission: Submission
    ) -> web.Response:
        words = {"swallowed": "PENDING", "try_again_later": "TRY_AGAIN_LATER", "reject": "ERROR"}
        if rule.kind == "banned":
            self._network.queue.ban([submission.hash])
        if rule.kind not in words:
            return self._answer(identity, "sendTransaction", params)
        latest = self._network.history.ledgers[self._network.ingested - 1].header
        result = {
            "status": words[rule.kind],
            "hash": submission.hash.hex(),
            "latestLedger": latest.sequence,
            "latestLedgerCloseTime": str(latest.close_time),
        }
        if rule.kind == "reject":
            code = str(rule.params.get("code", "tx_internal_error"))
            result["errorResultXdr"] = rejection(submission, code, rule.params.get("operations")).to_base64()
        return web.json_response({"jsonrpc": "2.0", "id": identity, "result": result})


def _error(identity: Any, error: RpcError) -> web.Response:
    body = {"jsonrpc": "2.0", "id": identity, "error": {"code": error.code, "message": error.message}}
    return web.json_response(body)
