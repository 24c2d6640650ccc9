"""Reads a ledger for the judge: what was moved, what was tried, and what each account could receive."""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from paylock.demo.judge import NATIVE, AccountState, Outgoing

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_SECONDS = 60
_MEMO_REQUIRED = "config.memo_required"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What some source accounts sent: transactions in ledgers, failed ones too, and the ledgers they span."""

    transactions: int
    ledgers: int


def read_operations(horizon_url: str) -> list[Outgoing]:
    """Every operation on the sandbox's ledger that moved something, in the order of the ledger."""
    return [
        Outgoing(
            ledger=entry["ledger"],
            transaction=entry["transaction_hash"],
            position=entry["operation_index"],
            kind=entry["type"],
            source=entry["from"] or "",
            destination=entry["to_muxed"] or entry["to"] or "",
            asset=_asset(entry["asset"]),
            amount=Decimal(entry["amount"]),
            memo_type=entry["memo_type"],
            memo=entry["memo_value"],
        )
        for entry in _get(f"{horizon_url}/sandbox/operations")
        if Decimal(entry["amount"]) > 0  # an account may be created with nothing in it
    ]


def read_traffic(horizon_url: str, sources: Collection[str]) -> Traffic:
    """Counts the transactions whose (inner) source is among `sources`."""
    ledgers = [
        entry["ledger"]
        for entry in _get(f"{horizon_url}/sandbox/transactions")
        if entry["source_account"] in sources
    ]
    return Traffic(len(ledgers), max(ledgers) - min(ledgers) + 1 if ledgers else 0)


def read_accounts(horizon_url: str, addresses: Iterable[str]) -> dict[str, AccountState]:
    """Those of the accounts (G…) that exist, as Horizon shows them now."""
    states = {}
    for address in sorted(set(addresses)):
        try:
            states[address] = _state(_get(f"{horizon_url}/accounts/{address}"))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != 404:
                raise
    return states


def latest_ledger(horizon_url: str) -> int:
    """The sequence number of the newest ledger."""
    return int(_get(f"{horizon_url}/")["history_latest_ledger"])


def _state(account: dict[str, Any]) -> AccountState:
    room: dict[str, Decimal] = {}
    balances: dict[str, Decimal] = {}
    unauthorized = set()
    for entry in account["balances"]:
        asset = NATIVE
        if "asset_issuer" in entry:
            asset = f"{entry['asset_code']}:{entry['asset_issuer']}"
            room[asset] = Decimal(entry["limit"]) - Decimal(entry["balance"])
            if not entry.get("is_authorized", True):
                unauthorized.add(asset)
        balances[asset] = Decimal(entry["balance"])
    memo = base64.b64decode(account["data"].get(_MEMO_REQUIRED, ""))
    return AccountState(room, balances, frozenset(unauthorized), memo == b"1")


def _asset(name: str) -> str:
    return NATIVE if name == "native" else name


def _get(url: str) -> Any:
    with _OPENER.open(url, timeout=_SECONDS) as answer:
        return json.load(answer)
