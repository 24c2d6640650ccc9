"""Horizon's routes."""

import base64
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from sandbox.history import OperationRecord, Track, TransactionRecord, track_of
from sandbox.horizon import errors
from sandbox.horizon.paging import Page, page_body, read_page, take
from sandbox.horizon.resources import (
    account_resource,
    balance_resource,
    fee_stats_resource,
    ledger_resource,
    root_resource,
)
from sandbox.horizon.streaming import Fetch, is_wanted, stream
from sandbox.horizon.submission import Arrivals, core_answer, read_submission, submit_and_wait
from sandbox.horizon.transactions import operation_resource, transaction_resource
from sandbox.network import Network
from sandbox.strkeys import InvalidAddress, account_key

Fund = Callable[[str], Awaitable[dict[str, Any]]]


class Horizon:
    """Handlers over one network. `submit_timeout` in seconds; `fund` is friendbot."""

    def __init__(self, network: Network, arrivals: Arrivals, submit_timeout: float, fund: Fund) -> None:
        self._network = network
        self._arrivals = arrivals
        self._submit_timeout = submit_timeout
        self._fund = fund

    def routes(self) -> list[web.RouteDef]:
        """All of Horizon's routes that the sandbox has."""
        get = web.get
        return [
            get("/", self.root),
            get("/fee_stats", self.fee_stats),
            get("/accounts", self.accounts),
            get("/accounts/{account}", self.account),
            get("/accounts/{account}/data/{key}", self.account_data),
            get("/accounts/{account}/transactions", self.transactions),
            get("/accounts/{account}/{kind:operations|payments}", self.operations),
            get("/ledgers", self.ledgers),
            get("/ledgers/{ledger}", self.ledger),
            get("/ledgers/{ledger}/transactions", self.transactions),
            get("/ledgers/{ledger}/{kind:operations|payments}", self.operations),
            get("/transactions", self.transactions),
            get("/transactions/{hash}", self.transaction),
            get("/transactions/{hash}/{kind:operations|payments}", self.operations),
            get("/{kind:operations|payments}", self.operations),
            get("/operations/{id}", self.operation),
            get("/claimable_balances", self.claimable_balances),
            get("/claimable_balances/{id}", self.claimable_balance),
            web.post("/transactions", self.submit),
            web.post("/transactions_async", self.submit_async),
            get("/friendbot", self.friendbot),
            web.post("/friendbot", self.friendbot),
        ]

    # state endpoints: they tell as of which ledger they speak

    def _state(self, body: dict[str, Any]) -> web.Response:
        return web.json_response(body, headers={"Latest-Ledger": str(self._network.ingested)})

    async def root(self, request: web.Request) -> web.Response:
        """GET /."""
        return web.json_response(root_resource(str(request.url.origin()), self._network))

    async def fee_stats(self, request: web.Request) -> web.Response:
        """GET /fee_stats."""
        return web.json_response(fee_stats_resource(self._network))

    async def account(self, request: web.Request) -> web.Response:
        """GET /accounts/{id}."""
        view = self._network.view()
        account = view.account(_account(request))
        if account is None:
            raise errors.not_found()
        return self._state(account_resource(str(request.url.origin()), account, view))

    async def account_data(self, request: web.Request) -> web.Response:
        """GET /accounts/{id}/data/{key}."""
        wanted = request.match_info["key"].encode()
        for name, entry in self._network.view().data(_account(request)):
            if name == wanted:
                body: dict[str, Any] = {"value": base64.b64encode(entry.value).decode()}
                return self._state(body)
        raise errors.not_found()

    async def accounts(self, request: web.Request) -> web.Response:
        """GET /accounts?signer=…, ?asset=… or ?sponsor=…, ordered by address."""
        view, base = self._network.view(), str(request.url.origin())
        query = request.query
        if not any(query.get(name) for name in ("signer", "asset", "sponsor")):
            raise errors.bad_request("signer", "Exactly one filter is required")
        found = [account_resource(base, account, view) for account in view.accounts()]
        kept = [each for each in found if _account_matches(each, query)]
        cursor, descending = query.get("cursor", ""), query.get("order") == "desc"
        kept.sort(key=lambda each: str(each["account_id"]), reverse=descending)
        if cursor:
            kept = [
                each
                for each in kept
                if (each["account_id"] < cursor) == descending and each["account_id"] != cursor
            ]
        limit = int(query.get("limit", "10") or "10")
        return self._state(page_body(request, Page(None, descending, limit), kept[:limit]))

    async def claimable_balance(self, request: web.Request) -> web.Response:
        """GET /claimable_balances/{id}."""
        text = request.match_info["id"]
        try:
            balance_id = bytes.fromhex(text)[4:]
        except ValueError as error:
            raise errors.bad_request("id", f"{text} is not a claimable balance id") from error
        balance = self._network.view().balance(balance_id)
        if balance is None:
            raise errors.not_found()
        return self._state(balance_resource(str(request.url.origin()), balance_id, balance))

    async def claimable_balances(self, request: web.Request) -> web.Response:
        """GET /claimable_balances, filtered by claimant, asset or sponsor."""
        base, query = str(request.url.origin()), request.query
        found = [balance_resource(base, key, balance) for key, balance in self._network.view().balances()]
        descending = query.get("order") == "desc"
        found.sort(key=lambda each: (each["last_modified_ledger"], each["id"]), reverse=descending)
        kept = [each for each in found if _balance_matches(each, query)]
        cursor = query.get("cursor", "")
        if cursor:
            tokens = [each["paging_token"] for each in kept]
            kept = kept[tokens.index(cursor) + 1 :] if cursor in tokens else kept
        limit = int(query.get("limit", "10") or "10")
        return self._state(page_body(request, Page(None, descending, limit), kept[:limit]))

    # history endpoints

    def _page(self, request: web.Request) -> Page:
        return read_page(request, ((self._network.ingested + 1) << 32) - 1)

    def _is_seen(self, ledger: int) -> bool:
        return self._network.elder <= ledger <= self._network.ingested

    def _ledger_number(self, request: web.Request) -> int:
        text = request.match_info["ledger"]
        if not text.isdecimal():
            raise errors.bad_request("ledger_id", f"{text} is not a ledger")
        number = int(text)
        if number < self._network.elder:
            raise errors.before_history()
        if number > self._network.ingested:
            raise errors.not_found()
        return number

    async def ledger(self, request: web.Request) -> web.Response:
        """GET /ledgers/{sequence}."""
        record = self._network.history.ledger(self._ledger_number(request))
        if record is None:
            raise errors.not_found()
        return web.json_response(ledger_resource(str(request.url.origin()), record))

    async def _list(self, request: web.Request, fetch: Fetch) -> web.StreamResponse:
        page = self._page(request)
        if is_wanted(request):
            return await stream(request, page, fetch, self._arrivals)
        return web.json_response(page_body(request, page, fetch(page)))

    async def ledgers(self, request: web.Request) -> web.StreamResponse:
        """GET /ledgers."""
        base = str(request.url.origin())

        def fetch(page: Page) -> list[dict[str, Any]]:
            records = self._network.history.ledgers[self._network.elder - 1 : self._network.ingested]
            chosen = page.choose(track_of(records))
            return take(chosen, page.limit, lambda each: True, lambda each: ledger_resource(base, each))

        return await self._list(request, fetch)

    def _transaction(self, request: web.Request) -> tuple[TransactionRecord, str]:
        text = request.match_info["hash"].lower()
        try:
            digest = bytes.fromhex(text)
        except ValueError:
            digest = b""
        if len(digest) != 32:
            raise errors.bad_request("tx_id", "invalid hash format")
        record = self._network.find(digest)
        if record is None:
            raise errors.not_found()
        return record, text

    async def transaction(self, request: web.Request) -> web.Response:
        """GET /transactions/{hash}, outer or inner."""
        record, asked = self._transaction(request)
        return web.json_response(transaction_resource(str(request.url.origin()), record, asked))

    async def transactions(self, request: web.Request) -> web.StreamResponse:
        """GET /transactions, of all, of an account, or of a ledger."""
        base, info, history = str(request.url.origin()), request.match_info, self._network.history
        with_failed = request.query.get("include_failed") == "true"
        account = _account(request) if "account" in info else None
        ledger = history.ledger(self._ledger_number(request)) if "ledger" in info else None

        def keep(found: TransactionRecord) -> bool:
            return self._is_seen(found.header.sequence) and (with_failed or found.successful)

        def fetch(page: Page) -> list[dict[str, Any]]:
            track = history.transactions(account) if ledger is None else track_of(ledger.transactions)
            return take(page.choose(track), page.limit, keep, lambda each: transaction_resource(base, each))

        return await self._list(request, fetch)

    async def operation(self, request: web.Request) -> web.Response:
        """GET /operations/{id}."""
        text = request.match_info["id"]
        place = int(text) if text.isdecimal() else 0
        found = next(self._network.history.operations().after(place - 1), None)
        if not isinstance(found, OperationRecord) or found.place != place:
            raise errors.not_found()
        if not self._is_seen(found.transaction.header.sequence):
            raise errors.not_found()
        return web.json_response(operation_resource(str(request.url.origin()), found))

    async def operations(self, request: web.Request) -> web.StreamResponse:
        """GET /operations and /payments, of all, of an account, a ledger or a transaction."""
        base, info, history = str(request.url.origin()), request.match_info, self._network.history
        payments = info["kind"] == "payments"
        with_failed = request.query.get("include_failed") == "true" or "hash" in info
        joined = request.query.get("join") == "transactions"
        account = _account(request) if "account" in info else None
        records: list[TransactionRecord] | None = None
        if "hash" in info:
            records = [self._transaction(request)[0]]
        elif "ledger" in info:
            ledger = history.ledger(self._ledger_number(request))
            records = ledger.transactions if ledger else []

        def keep(found: OperationRecord) -> bool:
            transaction = found.transaction
            return self._is_seen(transaction.header.sequence) and (with_failed or transaction.successful)

        def fetch(page: Page) -> list[dict[str, Any]]:
            if records is not None:
                track = _operations_of(records, payments)
            else:
                track = history.payments(account) if payments else history.operations(account)
            chosen = page.choose(track)
            return take(chosen, page.limit, keep, lambda each: operation_resource(base, each, joined))

        return await self._list(request, fetch)

    # submission

    async def submit(self, request: web.Request) -> web.Response:
        """POST /transactions."""
        submission = await read_submission(request, self._network)
        base = str(request.url.origin())
        body = await submit_and_wait(base, self._network, self._arrivals, submission, self._submit_timeout)
        return web.json_response(body)

    async def submit_async(self, request: web.Request) -> web.Response:
        """POST /transactions_async."""
        return core_answer(self._network, await read_submission(request, self._network))

    async def friendbot(self, request: web.Request) -> web.Response:
        """GET or POST /friendbot?addr=G…"""
        address = request.query.get("addr", "")
        if not address and request.method == "POST":
            address = str((await request.post()).get("addr", ""))
        return web.json_response(await self._fund(address))


def _account(request: web.Request) -> bytes:
    address = request.match_info["account"]
    try:
        return account_key(address)
    except InvalidAddress as error:
        raise errors.bad_request("account_id", f"{address} is not a valid account id") from error


def _operations_of(records: list[TransactionRecord], payments: bool) -> Track:
    return track_of(
        OperationRecord(record, index)
        for record in records
        for index, operation in enumerate(record.submission.inner.operations)
        if operation.is_payment() or not payments
    )


def _account_matches(resource: dict[str, Any], query: Any) -> bool:
    if query.get("signer"):
        return any(signer["key"] == query["signer"] for signer in resource["signers"])
    if query.get("sponsor"):
        sponsored = [resource, *resource["signers"], *resource["balances"]]
        return any(each.get("sponsor") == query["sponsor"] for each in sponsored)
    code, _, issuer = query["asset"].partition(":")
    return any(
        each.get("asset_code") == code and each.get("asset_issuer") == issuer for each in resource["balances"]
    )


def _balance_matches(resource: dict[str, Any], query: Any) -> bool:
    if query.get("claimant") and all(
        each["destination"] != query["claimant"] for each in resource["claimants"]
    ):
        return False
    if query.get("asset") and resource["asset"] != query["asset"]:
        return False
    return not query.get("sponsor") or resource.get("sponsor") == query["sponsor"]
