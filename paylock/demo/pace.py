"""How fast the sandbox closes ledgers: faster while the stage is set, slower until a pod has died."""

import json
import urllib.request

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_SECONDS = 30


def set_pace(horizon_url: str, factor: float) -> None:
    """Ledgers close `factor` times slower than normal from now on; faster if it is below 1."""
    rule = json.dumps({"kind": "slow_closes", "factor": factor}).encode()
    _request(horizon_url, "POST", rule)


def normal_pace(horizon_url: str) -> None:
    """Ledgers close as fast as the sandbox was started with."""
    _request(horizon_url, "DELETE", None)


def _request(horizon_url: str, method: str, body: bytes | None) -> None:
    request = urllib.request.Request(  # noqa: S310  # the sandbox's own address
        f"{horizon_url}/sandbox/faults",
        data=body,
        headers={"Content-Type": "application/json"},
        method=method,
    )
    with _OPENER.open(request, timeout=_SECONDS):
        pass
