"""The middleware that makes faults happen to requests, and turns problems into answers."""

import asyncio
import base64
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from sandbox import results
from sandbox.faults import Faults, Rule
from sandbox.horizon import errors
from sandbox.horizon.submission import failed, read_submission
from sandbox.network import Network, behind
from sandbox.results import OperationResult, TransactionResult
from sandbox.strkeys import account_address
from sandbox.transaction import Submission
from sandbox.validity import operation_kind

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_SUBMISSION_KINDS = {
    "lost_after_submit",
    "timeout_applied",
    "timeout_dropped",
    "swallowed",
    "try_again_later",
    "banned",
    "reject",
}
_CODES = {name: code for code, name in results.TRANSACTION_CODES.items()}


def cut(request: web.Request) -> web.Response:
    """Resets the client's connection. The response that it returns is never seen."""
    transport = request.transport
    if transport is not None:
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()


def rejection(submission: Submission, code: str, operations: list[str] | None) -> TransactionResult:
    """The result that a rejection by code pretends. ValueError for a code that does not exist."""
    if code not in _CODES:
        raise ValueError(f"unknown transaction code {code!r}")
    outcomes: list[OperationResult] = []
    if code == "tx_failed":
        kinds = [operation_kind(operation) for operation in submission.inner.operations]
        names = operations or ["op_malformed"] * len(kinds)
        outcomes = [_operation_result(kind, name) for kind, name in zip(kinds, names, strict=False)]
    result = TransactionResult(submission.fee, _CODES[code], tuple(outcomes))
    if submission.is_fee_bump and code not in (
        "tx_insufficient_fee",
        "tx_insufficient_balance",
        "tx_internal_error",
    ):
        return TransactionResult(
            submission.fee,
            results.FEE_BUMP_INNER_FAILED,
            (),
            submission.inner.hash,
            TransactionResult(0, result.code, result.operations),
        )
    return result


def _operation_result(kind: int, name: str) -> OperationResult:
    if name == "op_success":
        return results.untried(kind)
    candidates = [OperationResult(kind, outer) for outer in range(-1, -7, -1)]
    candidates += [
        OperationResult(kind, 0, -number) for number in range(1, results.inner_code_count(kind) + 1)
    ]
    for candidate in candidates:
        if candidate.code == name:
            return candidate
    raise ValueError(f"operation type {kind} has no code {name!r}")


class Interference:
    """Applies the rules of `faults` to requests. `submit_timeout` in seconds, as Horizon's."""

    def __init__(self, network: Network, faults: Faults, submit_timeout: float) -> None:
        self._network = network
        self._faults = faults
        self._submit_timeout = submit_timeout

    def middleware(self) -> Any:
        """For aiohttp's application."""

        @web.middleware
        async def interfere(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                if request.path.startswith(("/sandbox", "/rpc")):
                    return await handler(request)
                rule = self._faults.strike(request.method, request.path, await self._source(request))
                return await (handler(request) if rule is None else self._strike(rule, request, handler))
            except errors.Problem as problem:
                return problem.response()
            except web.HTTPNotFound:
                return errors.not_found().response()

        return interfere

    async def _source(self, request: web.Request) -> str | None:
        if request.method != "POST" or not self._faults.needs_source():
            return None
        try:
            return account_address((await read_submission(request, self._network)).source)
        except errors.Problem:
            return None

    async def _strike(self, rule: Rule, request: web.Request, handler: Handler) -> web.StreamResponse:
        params = rule.params
        if rule.kind == "lost_before":
            return cut(request)
        if rule.kind == "lost_after":
            await _served(request, handler)
            return cut(request)
        if rule.kind == "rate_limited":
            raise errors.rate_limit_exceeded(int(params.get("retry_after", 1)))
        if rule.kind == "stale_history":
            raise errors.stale_history()
        if rule.kind == "not_found":
            raise errors.not_found()
        if rule.kind == "server_error":
            return _server_error(int(params.get("status", 500)), str(params.get("body", "problem")))
        if rule.kind == "slow":
            await asyncio.sleep(float(params.get("delay", 1)))
            return await handler(request)
        if rule.kind == "slow_answer":
            response = await _served(request, handler)
            await asyncio.sleep(float(params.get("delay", 1)))
            return response
        if rule.kind == "lagging_node":
            with behind(int(params.get("ledgers", 2))):
                return await handler(request)
        if rule.kind == "truncated":
            return await _truncated(request, await _served(request, handler))
        if rule.kind in _SUBMISSION_KINDS and request.method == "POST":
            return await self._interfere_with_submission(rule, request, handler)
        return await handler(request)

    async def _interfere_with_submission(
        self, rule: Rule, request: web.Request, handler: Handler
    ) -> web.StreamResponse:
        submission = await read_submission(request, self._network)
        digest, params = submission.hash, rule.params
        timeout = errors.submission_timeout(digest.hex(), submission.envelope)
        if rule.kind == "lost_after_submit":
            self._network.submit(submission)
            return cut(request)
        if rule.kind == "timeout_applied":
            self._network.submit(submission)
            await asyncio.sleep(float(params.get("delay", 0)))
            raise timeout
        if rule.kind == "timeout_dropped":
            await asyncio.sleep(float(params.get("delay", 0)))
            raise timeout
        if rule.kind == "banned":
            self._network.queue.ban([digest])
            return await handler(request)
        if rule.kind == "reject":
            result = rejection(
                submission, str(params.get("code", "tx_internal_error")), params.get("operations")
            )
            if request.path == "/transactions_async":
                encoded = base64.b64encode(result.to_xdr()).decode()
                body = {"tx_status": "ERROR", "hash": digest.hex(), "error_result_xdr": encoded}
                return web.json_response(body, status=400)
            raise failed(submission, result)
        if rule.kind == "swallowed":
            if request.path == "/transactions_async":
                return web.json_response({"tx_status": "PENDING", "hash": digest.hex()}, status=201)
        elif request.path == "/transactions_async":
            return web.json_response({"tx_status": "TRY_AGAIN_LATER", "hash": digest.hex()}, status=503)
        await asyncio.sleep(float(params.get("delay", self._submit_timeout)))
        raise timeout


async def _served(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except errors.Problem as problem:
        return problem.response()


def _server_error(status: int, body: str) -> web.Response:
    if body == "html":
        page = f"<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>"
        return web.Response(text=page, status=status, content_type="text/html")
    if body == "empty":
        return web.Response(status=status)
    problem = errors.server_error(status)
    if body == "null_extras":
        return web.json_response({**problem.body(), "extras": None}, status=status)
    return problem.response()


async def _truncated(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    body = response.body if isinstance(response, web.Response) else b""
    raw = bytes(body) if isinstance(body, bytes | bytearray) else b""
    broken = web.StreamResponse(status=response.status, headers={"Content-Length": str(max(1, len(raw)))})
    broken.content_type = response.content_type
    await broken.prepare(request)
    await broken.write(raw[: len(raw) // 2])
    cut(request)
    return broken
