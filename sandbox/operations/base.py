"""What every operation is: parsed once, checked against its own shape, applied to the ledger."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar

from sandbox.assets import Asset
from sandbox.ledger import LedgerState
from sandbox.results import OperationResult
from sandbox.strkeys import Party


class Threshold(IntEnum):
    """Which of an account's thresholds an operation needs; also its index in Account.thresholds."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3


class OperationFailed(Exception):
    """The operation fails with an inner code of its own, or with an outer code of operations in general."""

    def __init__(self, inner: int = 0, outer: int = 0) -> None:
        super().__init__(inner, outer)
        self.inner = inner
        self.outer = outer


@dataclass(frozen=True, slots=True)
class Movement:
    """Money that an operation moved: what a judge counts. Amounts in stroops.

    `origin` or `target` is None where a claimable balance (`balance_id`) stands on that side.
    """

    kind: str
    index: int
    origin: Party | None
    target: Party | None
    asset: Asset
    amount: int
    balance_id: bytes | None = None


@dataclass(slots=True)
class Context:
    """What an operation sees while it is applied."""

    state: LedgerState
    transaction_source: bytes
    transaction_sequence: int
    source: Party = field(default_factory=lambda: Party(bytes(32)))
    index: int = 0
    sponsorships: dict[bytes, bytes] = field(default_factory=dict)
    movements: list[Movement] = field(default_factory=list)

    def move(
        self,
        kind: str,
        origin: Party | None,
        target: Party | None,
        asset: Asset,
        amount: int,
        balance_id: bytes | None = None,
    ) -> None:
        """Notes that money moved."""
        self.movements.append(Movement(kind, self.index, origin, target, asset, amount, balance_id))


@dataclass(frozen=True, slots=True)
class Operation:
    """Base of all operations. `source` is None if it is the transaction's."""

    KIND: ClassVar[int] = -1
    NAME: ClassVar[str] = ""

    source: Party | None

    @property
    def threshold(self) -> Threshold:
        """Which threshold of its source it needs."""
        return Threshold.MEDIUM

    def check(self, source: bytes) -> int:
        """The inner code of a malformed operation, 0 if its shape is right."""
        return 0

    def apply(self, context: Context) -> bytes:
        """Applies it; what follows the success code in XDR. OperationFailed if it can't be applied."""
        raise NotImplementedError

    def parties(self) -> tuple[bytes, ...]:
        """The accounts beside the source whose history it belongs to."""
        return ()

    def details(self, source: Party) -> dict[str, Any]:
        """Horizon's fields of this operation."""
        return {}

    def is_payment(self) -> bool:
        """Whether Horizon lists it under payments."""
        return False

    def failed(self, failure: OperationFailed) -> OperationResult:
        """The result of a failure."""
        return OperationResult(self.KIND, failure.outer, failure.inner)


def muxed_fields(name: str, party: Party) -> dict[str, Any]:
    """Horizon's three fields of an account that may carry an id."""
    fields: dict[str, Any] = {name: party.address}
    if party.muxed_id is not None:
        fields[f"{name}_muxed"] = party.muxed
        fields[f"{name}_muxed_id"] = str(party.muxed_id)
    return fields
