"""The tables at the demo's end: what the database says, then what the ledger says."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal

import psycopg
from rich.console import Console
from rich.table import Table

from paylock.demo.judge import Verdict


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """One payment as the database has it; asset without its issuer."""

    organization: str
    employee_id: str
    name: str
    line: int
    asset: str
    amount: Decimal
    state: str
    failure_code: str | None
    reason: str | None


def read_payments(connection: psycopg.Connection) -> list[PaymentRow]:
    """All payments, by organization and payee."""
    rows = connection.execute(
        "SELECT organization, employee_id, name, line, split_part(asset, ':', 1), amount, state,"
        " failure_code, reason FROM payroll.payment_overview ORDER BY organization, employee_id, line"
    ).fetchall()
    return [PaymentRow(*row) for row in rows]


def print_payments(console: Console, payments: list[PaymentRow]) -> None:
    """By organization and asset, then each payment that was not made and why, in plain words."""
    counts: Counter[tuple[str, str, str]] = Counter()
    paid: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for payment in payments:
        state = payment.state if payment.state in ("paid", "failed") else "other"
        counts[payment.organization, payment.asset, state] += 1
        if state == "paid":
            paid[payment.organization, payment.asset] += payment.amount
    table = Table(title="What the database says", title_justify="left")
    for heading in ("organization", "asset"):
        table.add_column(heading)
    for heading in ("paid", "amount", "failed", "neither"):
        table.add_column(heading, justify="right")
    for organization, asset in sorted({(payment.organization, payment.asset) for payment in payments}):
        table.add_row(
            organization,
            asset,
            str(counts[organization, asset, "paid"]),
            f"{paid[organization, asset]:,.7f}",
            str(counts[organization, asset, "failed"] or ""),
            str(counts[organization, asset, "other"] or ""),
        )
    console.print(table)
    for payment in payments:
        if payment.state != "paid":
            who = f"{payment.name} ({payment.employee_id}, {payment.organization})"
            why = payment.reason or payment.state
            console.print(
                f"  {who} did not get {payment.amount} {payment.asset}: {why}",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )


def print_verdict(console: Console, verdict: Verdict, lines: int) -> None:
    """What the judge found on the ledger."""
    table = Table(title="What the ledger says", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for text, count in (
        ("payments that the file demands", lines),
        ("of them payable on this network", verdict.payable),
        ("credited exactly once, with exact amount, asset, address and memo", len(verdict.paid_once)),
        ("credited more than once", len(verdict.paid_twice)),
        ("payable, but not credited", len(verdict.unpaid)),
        ("credited wrongly", len(verdict.wrong) + len(verdict.paid_unpayable)),
        ("not payable, and not credited", len(verdict.unpayable)),
        ("outgoing operations that belong to no line", len(verdict.foreign)),
    ):
        table.add_row(text, str(count))
    console.print(table)
    for finding in verdict.findings():
        console.print(f"  {finding}", style="bold red", highlight=False, markup=False, soft_wrap=True)


def disagreements(verdict: Verdict, payments: list[PaymentRow]) -> list[str]:
    """Where the database's account differs from the ledger's: each payment that it calls paid must be paid
    there, and each that could not be paid must have failed with the ledger's own reason."""
    said = {
        (payment.organization, payment.employee_id, payment.amount): payment.failure_code or payment.state
        for payment in payments
    }
    found = []
    for expected, lines in (
        ("paid", [(line, "paid") for line, _ in verdict.paid_once]),
        ("failed", list(verdict.unpayable)),
    ):
        for line, code in lines:
            answer = said.get((line.organization, line.employee_id, line.amount), "unknown to the database")
            if answer != code:
                found.append(f"{line}: {expected} ({code}) on the ledger, but {answer} in the database")
    return found
