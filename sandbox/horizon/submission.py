"""POST /transactions and /transactions_async: what Horizon makes of core's word."""

import asyncio
import base64
from typing import Any

from aiohttp import web

from sandbox.history import TransactionRecord
from sandbox.horizon import errors
from sandbox.horizon.transactions import transaction_resource
from sandbox.network import Network
from sandbox.queue import Status
from sandbox.results import TransactionResult
from sandbox.transaction import MalformedEnvelope, Submission

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_ASYNC_STATUS = {Status.PENDING: 201, Status.DUPLICATE: 409, Status.TRY_AGAIN_LATER: 503, Status.ERROR: 400}


class Arrivals:
    """Lets submissions wait until their hash is in an ingested ledger."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._waiting: dict[bytes, set[asyncio.Future[TransactionRecord]]] = {}
        self._next_ledger: asyncio.Future[None] | None = None

    async def find_or_wait(self, digest: bytes, seconds: float) -> TransactionRecord:
        """The record of a hash, at once if lookups know it already. TimeoutError after so many seconds."""
        return self._network.find(digest) or await self.wait(digest, seconds)

    async def wait(self, digest: bytes, seconds: float) -> TransactionRecord:
        """The record of a hash as soon as lookups know it. TimeoutError after so many seconds."""
        future: asyncio.Future[TransactionRecord] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(digest, set()).add(future)
        try:
            async with asyncio.timeout(seconds):
                return await future
        finally:
            waiting = self._waiting.get(digest, set())
            waiting.discard(future)
            if not waiting:
                self._waiting.pop(digest, None)

    def next_ledger(self) -> asyncio.Future[None]:
        """Done as soon as another ledger is ingested. Shared: not to be cancelled."""
        if self._next_ledger is None:
            self._next_ledger = asyncio.get_running_loop().create_future()
        return self._next_ledger

    def announce(self) -> None:
        """Wakes whoever waits for the next ledger, or for a hash that lookups know now."""
        if self._next_ledger is not None and not self._next_ledger.done():
            self._next_ledger.set_result(None)
        self._next_ledger = None
        for digest, futures in list(self._waiting.items()):
            record = self._network.find(digest)
            if record is not None:
                for future in futures:
                    if not future.done():
                        future.set_result(record)


async def read_submission(request: web.Request, network: Network) -> Submission:
    """The envelope in a form. Problems 415 and 400."""
    if request.headers.get("Content-Type") and request.content_type not in _FORMS:
        raise errors.unsupported_media_type()
    envelope = (await request.post()).get("tx", "")
    text = envelope if isinstance(envelope, str) else ""
    try:
        return network.read(text)
    except MalformedEnvelope as error:
        raise errors.transaction_malformed(text) from error


def failed(submission: Submission, result: TransactionResult) -> errors.Problem:
    """The problem that says how a transaction failed."""
    encoded = base64.b64encode(result.to_xdr()).decode()
    return errors.transaction_failed(submission.envelope, encoded, result.result_codes())


def show(base: str, submission: Submission, record: TransactionRecord) -> dict[str, Any]:
    """The transaction's resource if it succeeded; the problem if it is in a ledger and failed."""
    if not record.successful:
        raise failed(submission, record.result)
    return transaction_resource(base, record, submission.hash.hex())


async def submit_and_wait(
    base: str, network: Network, arrivals: Arrivals, submission: Submission, seconds: float
) -> dict[str, Any]:
    """Synchronous submission: by hash first, then core, then wait until it is ingested."""
    record = network.find(submission.hash)
    if record is not None:
        return show(base, submission, record)
    answer = network.submit(submission)
    if answer.status is Status.ERROR and answer.result is not None:
        raise failed(submission, answer.result)
    try:
        record = await arrivals.wait(submission.hash, seconds)
    except TimeoutError as error:
        raise errors.submission_timeout(submission.hash.hex(), submission.envelope) from error
    return show(base, submission, record)


def core_answer(network: Network, submission: Submission) -> web.Response:
    """Asynchronous submission: core's word with its HTTP status."""
    answer = network.submit(submission)
    body = {"tx_status": answer.status.value, "hash": submission.hash.hex()}
    if answer.result is not None:
        body["error_result_xdr"] = base64.b64encode(answer.result.to_xdr()).decode()
    return web.json_response(body, status=_ASYNC_STATUS[answer.status])
