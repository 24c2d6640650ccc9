"""Judges a payroll by the ledger alone: what each payee got, compared with what each was to get."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from stellar_sdk import Asset

from tests.support.company import Pay

Credit = tuple[str, str, Decimal]
"""Destination as it was addressed (G… or M…), asset ("native" or CODE:ISSUER), amount."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`missing` and `extra` are empty when everybody was paid exactly once and nobody else was."""

    missing: Counter[Credit]
    extra: Counter[Credit]

    @property
    def exactly_once(self) -> bool:
        return not self.missing and not self.extra


def asset_name(asset: Asset) -> str:
    return "native" if asset.is_native() else f"{asset.code}:{asset.issuer}"


def judge(operations: Iterable[dict[str, Any]], funding: str, payable: Iterable[Pay]) -> Verdict:
    """Compare every payment that left `funding` with what was to be paid from it."""
    got = Counter(
        (str(op["to_muxed"] or op["to"]), str(op["asset"]), Decimal(op["amount"]))
        for op in operations
        if op["type"] == "payment" and op["from"] == funding
    )
    due = Counter((pay.destination, asset_name(pay.asset), Decimal(pay.amount)) for pay in payable)
    return Verdict(missing=due - got, extra=got - due)
