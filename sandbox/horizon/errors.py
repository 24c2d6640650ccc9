"""Horizon's problems (RFC 7807), word for word."""

import json
from typing import Any

from aiohttp import web

_BASE = "https://stellar.org/horizon-errors/"

NOT_FOUND_DETAIL = (
    "The resource at the url requested was not found.  This usually occurs for one of two reasons:  "
    "The url requested is not valid, or no data in our database could be found with the parameters provided."
)


class Problem(Exception):
    """An answer that is an error."""

    def __init__(
        self,
        slug: str,
        title: str,
        status: int,
        detail: str,
        extras: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(slug)
        self.slug = slug
        self.title = title
        self.status = status
        self.detail = detail
        self.extras = extras
        self.headers = headers

    def body(self) -> dict[str, Any]:
        """The JSON object."""
        body: dict[str, Any] = {"type": _BASE + self.slug, "title": self.title, "status": self.status}
        body["detail"] = self.detail
        if self.extras is not None:
            body["extras"] = self.extras
        return body

    def response(self) -> web.Response:
        """The answer."""
        return web.Response(
            text=json.dumps(self.body(), indent=2),
            status=self.status,
            headers=self.headers,
            content_type="application/problem+json",
            charset="utf-8",
        )


def not_found() -> Problem:
    """404: no such thing, or not yet ingested, or no longer kept."""
    return Problem("not_found", "Resource Missing", 404, NOT_FOUND_DETAIL)


def bad_request(field: str, reason: str) -> Problem:
    """400: a parameter is wrong."""
    extras = {"invalid_field": field, "reason": reason}
    return Problem("bad_request", "Bad Request", 400, "The request you sent was invalid in some way.", extras)


def before_history() -> Problem:
    """410: older than what is kept."""
    detail = (
        "This horizon instance is configured to only track a portion of the stellar network's latest "
        "history. This request is asking for results prior to the recorded history known to this horizon "
        "instance."
    )
    return Problem("before_history", "Data Requested Is Before Recorded History", 410, detail)


def unsupported_media_type() -> Problem:
    """415: a POST that is no form."""
    detail = (
        "The request has an unsupported content type. Presently, the only supported content type is "
        "application/x-www-form-urlencoded."
    )
    return Problem("unsupported_media_type", "Unsupported Media Type", 415, detail)


def transaction_malformed(envelope: str) -> Problem:
    """400: no envelope."""
    detail = (
        "Horizon could not decode the transaction envelope in this request. A transaction should be an XDR "
        "TransactionEnvelope struct encoded using base64.  The envelope read from this request is echoed in "
        "the `extras.envelope_xdr` field of this response for your convenience."
    )
    return Problem("transaction_malformed", "Transaction Malformed", 400, detail, {"envelope_xdr": envelope})


def transaction_failed(envelope: str, result: str, codes: dict[str, Any]) -> Problem:
    """400: refused, or in a ledger and failed."""
    detail = (
        "The transaction failed when submitted to the stellar network. The `extras.result_codes` field on "
        "this response contains further details.  Descriptions of each code can be found at: "
        "https://developers.stellar.org/api/errors/http-status-codes/horizon-specific/transaction-failed/"
    )
    extras = {"envelope_xdr": envelope, "result_codes": codes, "result_xdr": result}
    return Problem("transaction_failed", "Transaction Failed", 400, detail, extras)


def submission_timeout(digest: str, envelope: str) -> Problem:
    """504: nobody knows yet."""
    detail = (
        "Your transaction submission request has timed out. This does not necessarily mean the submission "
        "has failed. Before resubmitting, please use the transaction hash provided in `extras.hash` to poll "
        "the GET /transactions endpoint for sometime and check if it was included in a ledger."
    )
    extras = {"hash": digest, "envelope_xdr": envelope}
    return Problem("transaction_submission_timeout", "Transaction Submission Timeout", 504, detail, extras)


def stale_history() -> Problem:
    """503: the lookup side is too far behind."""
    detail = (
        "This horizon instance is configured to reject client requests when it can determine that the "
        "history database is lagging too far behind the connected instance of stellar-core or read replica. "
        "Please try again later."
    )
    return Problem("stale_history", "Historical DB Is Too Stale", 503, detail)


def rate_limit_exceeded(retry_after: int) -> Problem:
    """429, with Retry-After in seconds."""
    detail = (
        "The rate limit for the requesting IP address is over its alloted limit.  The allowed limit and "
        "requests left per time period are communicated to clients via the http response headers "
        "'X-RateLimit-*' headers."
    )
    headers = {
        "Retry-After": str(retry_after),
        "X-RateLimit-Limit": "101",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(retry_after),
    }
    return Problem("rate_limit_exceeded", "Rate Limit Exceeded", 429, detail, headers=headers)


def server_error(status: int = 500) -> Problem:
    """500 and its kin."""
    detail = (
        "An error occurred while processing this request.  This is usually due to a bug within the server "
        "software.  Trying this request again may succeed if the bug is transient.  Otherwise, please report "
        "this issue."
    )
    return Problem("server_error", "Internal Server Error", status, detail)
