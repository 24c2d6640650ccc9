"""The verdict on a payroll: what a ledger shows, held against what the payroll file demands.

Pure: lines, outgoing operations and accounts in, verdict out. It knows nothing of the database, the pods or
the sandbox; `ledger_reader` and `payroll_lines` make its input.

A line is payable if the ledger would let anybody pay it: the account exists, accepts the asset, has room for
it, and gets a memo where it demands one. Each payable line must be credited by exactly one operation with its
exact amount, asset, address (with the muxed id) and memo; the others must get nothing; and every operation
that takes something out of a funding account must be the payment of exactly one line.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from stellar_sdk import MuxedAccount

NATIVE = "XLM"


@dataclass(frozen=True, slots=True)
class Line:
    """One payment that the payroll file demands.

    source: the funding account (G…). destination: G… or M…, as the file has it. asset: XLM or CODE:ISSUER.
    memo_type and memo: what the transaction must carry, which is the run's memo unless own_memo.
    """

    row: int
    organization: str
    schedule: str
    employee_id: str
    name: str
    source: str
    destination: str
    asset: str
    amount: Decimal
    memo_type: str
    memo: str | None
    own_memo: bool

    @property
    def account(self) -> str:
        """The account (G…) behind the destination."""
        return account_of(self.destination)

    def __str__(self) -> str:
        code = self.asset.partition(":")[0]
        return f"row {self.row}, {self.name} ({self.employee_id}): {self.amount} {code}"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One applied operation that took something out of an account.

    kind: Horizon's name of the operation; only "payment" can be a line's. destination: M… where the operation
    names a muxed address. ledger: its sequence. transaction: the hash. position: in the transaction, from 0.
    """

    ledger: int
    transaction: str
    position: int
    kind: str
    source: str
    destination: str
    asset: str
    amount: Decimal
    memo_type: str
    memo: str | None

    def __str__(self) -> str:
        return (
            f"{self.kind} of {self.amount} {self.asset.partition(':')[0]} to {self.destination} in ledger "
            f"{self.ledger}, transaction {self.transaction}"
        )


@dataclass(frozen=True, slots=True)
class AccountState:
    """What an account has and what it can receive, at one moment.

    balances: by asset. room: for each asset that it trusts, how much more it can hold; XLM needs no entry.
    unauthorized: those that it trusts while their issuer doesn't let it hold them.
    """

    room: Mapping[str, Decimal] = field(default_factory=dict)
    balances: Mapping[str, Decimal] = field(default_factory=dict)
    unauthorized: frozenset[str] = frozenset()
    memo_required: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of each line and each outgoing operation. `exact` is what everything is for."""

    payable: int
    paid_once: tuple[tuple[Line, Outgoing], ...]
    paid_twice: tuple[tuple[Line, Outgoing], ...]  # each operation beyond the first, with its line
    unpaid: tuple[Line, ...]  # payable, and credited with nothing
    wrong: tuple[tuple[Line, Outgoing, str], ...]  # credited, but not as demanded, and what differs
    unpayable: tuple[tuple[Line, str], ...]  # got nothing, with the code of the reason
    paid_unpayable: tuple[tuple[Line, Outgoing, str], ...]  # got something all the same
    foreign: tuple[Outgoing, ...]  # operations that are no line's

    @property
    def exact(self) -> bool:
        return not any((self.paid_twice, self.unpaid, self.wrong, self.paid_unpayable, self.foreign))

    def findings(self) -> list[str]:
        """Everything that is wrong, one sentence each; empty if the verdict is exact."""
        return [
            *(f"paid twice: {line}; once more by {operation}" for line, operation in self.paid_twice),
            *(f"not paid: {line}" for line in self.unpaid),
            *(f"paid wrongly ({what}): {line}, but {operation}" for line, operation, what in self.wrong),
            *(f"paid though {code}: {line} by {operation}" for line, operation, code in self.paid_unpayable),
            *(f"no line of the payroll: {operation}" for operation in self.foreign),
        ]


def judge(
    lines: Iterable[Line], operations: Iterable[Outgoing], accounts: Mapping[str, AccountState]
) -> Verdict:
    """Compares. `operations` may hold those of other accounts, which are passed over; `accounts` holds every
    account (G…) among the destinations that exists."""
    all_lines = list(lines)
    obstacles = {id(line): obstacle(line, accounts.get(line.account)) for line in all_lines}
    sources = {line.source for line in all_lines}
    foreign: list[Outgoing] = []
    groups: dict[tuple[str, str, str], tuple[list[Line], list[Outgoing]]] = defaultdict(lambda: ([], []))
    for line in all_lines:
        groups[line.source, line.destination, line.asset][0].append(line)
    for operation in operations:
        if operation.source not in sources:
            continue
        if operation.kind == "payment":
            groups[operation.source, operation.destination, operation.asset][1].append(operation)
        else:
            foreign.append(operation)

    pairs: list[tuple[Line, Outgoing]] = []
    twice: list[tuple[Line, Outgoing]] = []
    unmatched_lines: list[Line] = []
    unmatched_operations: list[Outgoing] = []
    for group_lines, group_operations in groups.values():
        exact, rest_lines, rest_operations = _exact_pairs(group_lines, group_operations)
        pairs += exact
        # What is over is the wrong payment of a line that nothing was found for, or one payment too many.
        near = min(len(rest_lines), len(rest_operations))
        pairs += zip(rest_lines[:near], rest_operations[:near], strict=True)
        unmatched_lines += rest_lines[near:]
        for operation in rest_operations[near:]:
            if group_lines:
                twice.append((_closest(group_lines, operation), operation))
            else:
                unmatched_operations.append(operation)
    # Lastly other assets or muxed ids of the same account.
    for operation in unmatched_operations:
        meant = next((line for line in unmatched_lines if _same_account(line, operation)), None)
        if meant is None:
            foreign.append(operation)
        else:
            unmatched_lines.remove(meant)
            pairs.append((meant, operation))

    once: list[tuple[Line, Outgoing]] = []
    wrong: list[tuple[Line, Outgoing, str]] = []
    paid_unpayable: list[tuple[Line, Outgoing, str]] = []
    surplus = {id(line) for line, _ in twice}
    for line, operation in pairs:
        code = obstacles[id(line)]
        difference = _difference(line, operation)
        if code is not None:
            paid_unpayable.append((line, operation, code))
        elif difference:
            wrong.append((line, operation, difference))
        elif id(line) not in surplus:
            once.append((line, operation))
    return Verdict(
        payable=sum(code is None for code in obstacles.values()),
        paid_once=tuple(once),
        paid_twice=tuple(twice),
        unpaid=tuple(line for line in unmatched_lines if obstacles[id(line)] is None),
        wrong=tuple(wrong),
        unpayable=tuple(
            (line, code) for line in unmatched_lines if (code := obstacles[id(line)]) is not None
        ),
        paid_unpayable=tuple(paid_unpayable),
        foreign=tuple(foreign),
    )


def balance_findings(
    lines: Sequence[Line], before: Mapping[str, AccountState], after: Mapping[str, AccountState]
) -> list[str]:
    """The same verdict by other evidence: each payee's balances must have grown by exactly what the payable
    lines give them. One sentence for each account and asset where they have not."""
    due: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for line in lines:
        if obstacle(line, before.get(line.account)) is None:
            due[line.account, line.asset] += line.amount
    names = {line.account: line.name for line in lines}
    found = []
    for account, name in names.items():
        old = before[account].balances if account in before else {}
        new = after[account].balances if account in after else {}
        for asset in sorted({*old, *new, *(asset for holder, asset in due if holder == account)}):
            grown = new.get(asset, Decimal(0)) - old.get(asset, Decimal(0))
            if grown != due[account, asset]:
                found.append(
                    f"balance of {name}, {account}: grew by {grown} {asset}, not {due[account, asset]}"
                )
    return found


def obstacle(line: Line, account: AccountState | None) -> str | None:
    """Why nobody could pay this line: the network's result code, or memo_required; None if it is payable."""
    if account is None:
        return "op_no_destination"
    if account.memo_required and not line.own_memo and line.destination == line.account:
        return "memo_required"
    if line.asset == NATIVE or line.asset.endswith(f":{line.account}"):
        return None
    if line.asset in account.unauthorized:
        return "op_not_authorized"
    if line.asset not in account.room:
        return "op_no_trust"
    return "op_line_full" if account.room[line.asset] < line.amount else None


def account_of(destination: str) -> str:
    """The account (G…) of a G… or M… address."""
    return MuxedAccount.from_account(destination).account_id


def _exact_pairs(
    lines: Sequence[Line], operations: Sequence[Outgoing]
) -> tuple[list[tuple[Line, Outgoing]], list[Line], list[Outgoing]]:
    """Pairs that agree in everything, then the lines and the operations that are over."""
    waiting: dict[tuple[Decimal, str, str | None], list[Outgoing]] = defaultdict(list)
    for operation in operations:
        waiting[operation.amount, operation.memo_type, operation.memo].append(operation)
    pairs: list[tuple[Line, Outgoing]] = []
    rest: list[Line] = []
    for line in lines:
        found = waiting[line.amount, line.memo_type, line.memo]
        if found:
            pairs.append((line, found.pop(0)))
        else:
            rest.append(line)
    return pairs, rest, [operation for over in waiting.values() for operation in over]


def _closest(lines: Sequence[Line], operation: Outgoing) -> Line:
    """The line that an operation repeats: one that it agrees with, else the first."""
    return next((line for line in lines if not _difference(line, operation)), lines[0])


def _same_account(line: Line, operation: Outgoing) -> bool:
    return line.source == operation.source and line.account == account_of(operation.destination)


def _difference(line: Line, operation: Outgoing) -> str:
    """What of the operation is not as the line demands; empty if nothing."""
    differences = []
    if line.destination != operation.destination:
        differences.append(f"address {operation.destination}")
    if line.asset != operation.asset:
        differences.append(f"asset {operation.asset}")
    if line.amount != operation.amount:
        differences.append(f"amount {operation.amount}")
    if (line.memo_type, line.memo) != (operation.memo_type, operation.memo):
        differences.append(f"memo {operation.memo_type} {operation.memo or ''}".rstrip())
    return ", ".join(differences)
