"""What only a sandbox can do: open accounts with money from nowhere, and close ledgers slower."""

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_SECONDS = 30


def open_accounts(horizon_url: str, balances: Mapping[str, str]) -> None:
    """Opens accounts (G…) with so many XLM each, in one ledger."""
    _request("POST", f"{horizon_url}/sandbox/fund", dict(balances))


def slow_down(horizon_url: str, factor: float) -> None:
    """Ledgers close `factor` times slower from now on."""
    _request("POST", f"{horizon_url}/sandbox/faults", {"kind": "slow_closes", "factor": factor})


def normal_pace(horizon_url: str) -> None:
    """Ledgers close as fast as the sandbox was started with."""
    _request("DELETE", f"{horizon_url}/sandbox/faults", {})


def _request(method: str, url: str, content: Mapping[str, Any]) -> None:
    request = urllib.request.Request(  # noqa: S310  # the sandbox's own address
        url,
        data=json.dumps(content).encode(),
        headers={"Content-Type": "application/json"},
        method=method,
    )
    with _OPENER.open(request, timeout=_SECONDS):
        pass
