"""Horizon's API with aiohttp, nothing retried and nothing raised: see `notifier.network`."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import aiohttp

from notifier import crash_points
from notifier.network.horizon_answers import (
    Unreadable,
    integer,
    read_account,
    read_channel_use,
    read_identity,
    read_json,
    read_memo_required,
    read_rejection,
    read_transaction,
    records_of,
)
from notifier.network.protocol import (
    AccountReading,
    ChannelUse,
    ChannelUses,
    LookupAnswer,
    MemoRequired,
    NetworkIdentity,
    NotAsked,
    NotFound,
    Queued,
    Rejected,
    SubmitAnswer,
    TryAgainLater,
    Unknown,
)

MAX_ANSWER_BYTES = 8 * 1024 * 1024
PAGE = 200
MAX_PAGES = 5
_ERRORS = "https://stellar.org/horizon-errors/"


@dataclass(frozen=True, slots=True)
class _Answer:
    """An HTTP answer that arrived whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def problem(self) -> str:
        """The slug of a problem document, or ''."""
        try:
            kind = read_json(self.body).get("type")
        except Unreadable:
            return ""
        return kind.removeprefix(_ERRORS).rstrip("/").rsplit("/", 1)[-1] if isinstance(kind, str) else ""

    @property
    def retry_after(self) -> float:
        """Seconds from Retry-After; a date or garbage counts as nothing."""
        try:
            return min(max(float(self.headers.get("Retry-After", "0")), 0.0), 300.0)
        except ValueError:
            return 0.0

    def no_answer(self) -> NotAsked | Unknown:
        """What any status that isn't the expected one means for a question that changes nothing."""
        reason = f"HTTP {self.status} {self.problem}".rstrip()
        if self.status == 429 or (self.status == 503 and self.problem == "stale_history"):
            return NotAsked(reason, self.retry_after)
        return Unknown(reason, self.retry_after)


class HorizonNetwork:
    """The `Network` protocol over Horizon.

    `submit_seconds` is how long a synchronous submission may take, `ask_seconds` how long any other question
    may.
    """

    def __init__(self, url: str, submit_seconds: float, ask_seconds: float = 10.0) -> None:
        self._url = url.rstrip("/")
        self._submit_seconds = submit_seconds
        self._ask_seconds = ask_seconds
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        trace = aiohttp.TraceConfig()
        if crash_points.armed() == "after_send_before_answer":
            trace.on_request_chunk_sent.append(_crash_once_sent)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=200, ttl_dns_cache=60),
            headers={"User-Agent": "paylock", "Accept": "application/json"},
            trace_configs=[trace],
            auto_decompress=True,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def _ask(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
    ) -> _Answer | Unknown:
        """GET, or POST if there is a form. Whatever goes wrong on the way is Unknown."""
        assert self._session is not None, "use it as an async context manager"
        seconds = self._ask_seconds if form is None else self._submit_seconds
        try:
            async with self._session.request(
                "GET" if form is None else "POST",
                self._url + path,
                params=query,
                data=form,
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, 10.0)),
                allow_redirects=form is None,
            ) as response:
                body = await response.content.read(MAX_ANSWER_BYTES + 1)
                while len(body) <= MAX_ANSWER_BYTES and (
                    more := await response.content.read(MAX_ANSWER_BYTES)
                ):
                    body += more
                if len(body) > MAX_ANSWER_BYTES:
                    return Unknown("answer too long")
                return _Answer(response.status, response.headers, body)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return Unknown(f"{type(error).__name__}: {error}"[:200])

    async def identity(self) -> NetworkIdentity | NotAsked | Unknown:
        answer = await self._ask("/")
        if isinstance(answer, Unknown):
            return answer
        if answer.status != 200:
            return answer.no_answer()
        try:
            return read_identity(read_json(answer.body))
        except Unreadable as error:
            return Unknown(f"root: {error}")

    async def submit(self, envelope_xdr: str, hashes: tuple[bytes, ...]) -> SubmitAnswer:
        answer = await self._ask("/transactions", form={"tx": envelope_xdr})
        if isinstance(answer, Unknown):
            return answer
        try:
            return _read_submission(answer, hashes)
        except Unreadable as error:
            return Unknown(f"HTTP {answer.status}: {error}", answer.retry_after)

    async def transaction(self, tx_hash: bytes) -> LookupAnswer:
        answer = await self._ask(f"/transactions/{tx_hash.hex()}")
        if isinstance(answer, Unknown):
            return answer
        try:
            if answer.status == 200:
                return read_transaction(read_json(answer.body), tx_hash)
        except Unreadable as error:
            return Unknown(f"transaction: {error}")
        return _absent_or_unknown(answer)

    async def account(self, address: str) -> AccountReading | NotFound | NotAsked | Unknown:
        answer = await self._ask(f"/accounts/{address}")
        if isinstance(answer, Unknown):
            return answer
        try:
            if answer.status == 200:
                return read_account(read_json(answer.body), address, answer.headers.get("Latest-Ledger"))
        except Unreadable as error:
            return Unknown(f"account: {error}")
        return _absent_or_unknown(answer)

    async def channel_uses(self, address: str, sequence: int) -> ChannelUses | NotAsked | Unknown:
        """Reads the account's history backwards until it is past `sequence`, at most MAX_PAGES pages."""
        uses: list[ChannelUse] = []
        explained = past = False
        query = {"order": "desc", "limit": str(PAGE), "include_failed": "true"}
        for _ in range(MAX_PAGES):
            answer = await self._ask(f"/accounts/{address}/transactions", query)
            if isinstance(answer, Unknown):
                return answer
            if answer.status != 200:
                return answer.no_answer()
            try:
                records = records_of(read_json(answer.body))
                for record in records:
                    if record.get("source_account") == address:
                        number = integer(record.get("source_account_sequence"))
                        if number == sequence:
                            uses.append(read_channel_use(record))
                        elif number < sequence:
                            past = True
                            if record.get("successful") is True:
                                return ChannelUses(tuple(uses), complete=explained)
                    explained = explained or not (past or _created_by(record, sequence))
                if len(records) < PAGE:
                    return ChannelUses(tuple(uses), complete=explained)
                query["cursor"] = str(records[-1].get("paging_token"))
            except Unreadable as error:
                return Unknown(f"account transactions: {error}")
        return ChannelUses(tuple(uses), complete=False)

    async def memo_required(self, address: str) -> MemoRequired | NotAsked | Unknown:
        """SEP-29: the data entry config.memo_required is "1" (MQ== in base64)."""
        answer = await self._ask(f"/accounts/{address}/data/config.memo_required")
        if isinstance(answer, Unknown):
            return answer
        if answer.status == 404:
            return (
                MemoRequired(False) if answer.problem == "not_found" else Unknown("HTTP 404, not Horizon's")
            )
        if answer.status != 200:
            return answer.no_answer()
        try:
            return read_memo_required(read_json(answer.body))
        except Unreadable as error:
            return Unknown(f"memo_required: {error}")


def _absent_or_unknown(answer: _Answer) -> NotFound | NotAsked | Unknown:
    """A 404 counts only if it is Horizon's own: a proxy's page says nothing about the ledger."""
    if answer.status == 404 and answer.problem == "not_found":
        return NotFound()
    return answer.no_answer()


def _created_by(record: Mapping[str, Any], sequence: int) -> bool:
    """Whether it stands in the ledger that made the account: its first sequence is that ledger's number,
    shifted."""
    return integer(record.get("ledger")) == sequence >> 32


def _read_submission(answer: _Answer, hashes: tuple[bytes, ...]) -> SubmitAnswer:
    """What a POST of a transaction was answered with. Raises Unreadable."""
    if answer.status == 200:
        record = read_json(answer.body)
        for tx_hash in hashes:
            try:
                return read_transaction(record, tx_hash)
            except Unreadable:
                if tx_hash == hashes[-1]:
                    raise
    if answer.status == 400 and answer.problem == "transaction_failed":
        return read_rejection(read_json(answer.body))
    if answer.status == 400 and answer.problem == "transaction_malformed":
        return Rejected("transaction_malformed")
    if answer.status in (201, 409, 503):
        status = _core_status(answer)
        if status in ("PENDING", "DUPLICATE"):
            return Queued()
        if status == "TRY_AGAIN_LATER" or answer.problem == "try_again_later":
            return TryAgainLater()
    return answer.no_answer()


def _core_status(answer: _Answer) -> str:
    """core's word in an answer of the asynchronous endpoint, or ''."""
    try:
        status = read_json(answer.body).get("tx_status")
    except Unreadable:
        return ""
    return status if isinstance(status, str) else ""


async def _crash_once_sent(
    _session: aiohttp.ClientSession, _context: SimpleNamespace, params: aiohttp.TraceRequestChunkSentParams
) -> None:
    """Die when the body is on its way and before the answer can have been read."""
    if params.method == "POST" and params.chunk:
        asyncio.get_running_loop().call_later(0.02, crash_points.reach, "after_send_before_answer")
