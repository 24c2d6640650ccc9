"""The example payroll: 250 made-up payees of two organizations, with everything that real payroll files have.

examples/payroll.csv is what `payroll_csv` gives; `python -m paylock.example_company` writes it again. All
keys come from labels, so that the demo can open the payees' accounts on the sandbox and sign their
trustlines. They are public: never use them on a network where money is real.
"""

import csv
import hashlib
import io
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from stellar_sdk import Asset, Keypair, MuxedAccount

from paylock.example_names import example_name

COFFEE = "baltic-coffee"
DESIGN = "harbor-design"
DISPLAY_NAMES = {COFFEE: "Baltic Coffee Roasters OÜ", DESIGN: "Harbor Design Studio, Inc."}
SCHEDULES = {COFFEE: "Monthly salaries", DESIGN: "Contractors"}
ISSUED_ASSETS = ("USDC", "EURC")
PAYEES = 250
_COFFEE_PAYEES = 160
_BLANK_LINE_AFTER = 120


class Trait(StrEnum):
    """What is special about a payee."""

    PLAIN = "plain"
    MUXED = "muxed"  # an M… address: one of many within a custodian's account
    EXCHANGE = "exchange"  # an account shared with others, told apart by the memo, which it demands
    OWN_MEMO = "own_memo"  # a memo of hash or return type
    DEMANDS_MEMO = "demands_memo"  # the account demands a memo (SEP-29), and the file has none
    NO_TRUSTLINE = "no_trustline"
    NO_ACCOUNT = "no_account"


# Why these payees can't be paid; all others can.
FAILURES = {
    Trait.DEMANDS_MEMO: "memo_required",
    Trait.NO_TRUSTLINE: "op_no_trust",
    Trait.NO_ACCOUNT: "op_no_destination",
}
_TRAITS = {
    **dict.fromkeys((12, 55, 101, 133, 180, 222), Trait.MUXED),
    **dict.fromkeys((7, 23, 41, 66, 171), Trait.EXCHANGE),
    **dict.fromkeys((90, 191), Trait.OWN_MEMO),
    77: Trait.DEMANDS_MEMO,
    110: Trait.NO_TRUSTLINE,
    203: Trait.NO_ACCOUNT,
}
_MEMOS = {
    7: ("id", "9007199254740993"),
    23: ("text", "Kadıköy №7"),
    41: ("id", "42"),
    66: ("text", "INV-2041"),
    171: ("id", "18446744073709551615"),
    90: ("hash", hashlib.sha256(b"paylock example: contract 90").hexdigest()),
    191: ("return", hashlib.sha256(b"paylock example: refund 191").hexdigest()),
}


@dataclass(frozen=True, slots=True)
class ExamplePayee:
    """One row of the file. `keypair` is the account behind `destination`; asset_code is 'XLM' or issued."""

    organization: str
    schedule: str
    employee_id: str
    name: str
    keypair: Keypair
    destination: str
    memo_type: str
    memo: str
    asset_code: str
    amount: Decimal
    trait: Trait

    @property
    def failure(self) -> str | None:
        """The code with which the payment must fail, or None if it must be paid."""
        return FAILURES.get(self.trait)


def example_keypair(label: str) -> Keypair:
    """The key pair whose seed is the label's SHA-256."""
    return Keypair.from_raw_ed25519_seed(hashlib.sha256(f"paylock example: {label}".encode()).digest())


def issuer(asset_code: str) -> Keypair:
    """Who issues USDC or EURC in the example."""
    return example_keypair(f"issuer {asset_code}")


def funding_account(organization: str) -> Keypair:
    """The account that the organization pays from."""
    return example_keypair(f"funding {organization}")


def example_payees() -> tuple[ExamplePayee, ...]:
    """All 250, in the order of the file."""
    return tuple(_payee(number) for number in range(PAYEES))


def totals(payees: tuple[ExamplePayee, ...]) -> dict[str, dict[str, Decimal]]:
    """What each organization pays, by asset code."""
    sums: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for payee in payees:
        sums[payee.organization][payee.asset_code] += payee.amount
    return {organization: dict(by_asset) for organization, by_asset in sums.items()}


def accounts_to_open(payees: tuple[ExamplePayee, ...]) -> list[Keypair]:
    """The payees' accounts that exist on the ledger, each once."""
    existing = {p.keypair.public_key: p.keypair for p in payees if p.trait is not Trait.NO_ACCOUNT}
    return list(existing.values())


def trustlines_to_add(payees: tuple[ExamplePayee, ...]) -> list[tuple[Keypair, Asset]]:
    """Which account trusts which issued asset, each once; the payee without a trustline is left out."""
    wanted = {
        (p.keypair.public_key, p.asset_code): p.keypair
        for p in payees
        if p.asset_code != "XLM" and p.trait not in (Trait.NO_ACCOUNT, Trait.NO_TRUSTLINE)
    }
    return [(keypair, Asset(code, issuer(code).public_key)) for (_, code), keypair in wanted.items()]


def accounts_that_demand_memos(payees: tuple[ExamplePayee, ...]) -> list[Keypair]:
    """The accounts to mark by SEP-29: the exchange, and the one whose payee has no memo."""
    demanding = {
        p.keypair.public_key: p.keypair for p in payees if p.trait in (Trait.EXCHANGE, Trait.DEMANDS_MEMO)
    }
    return list(demanding.values())


def payroll_csv() -> bytes:
    """examples/payroll.csv: UTF-8 with a byte order mark, CRLF, quoted commas, stray spaces, a blank line."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\r\n")
    rows.writerow(
        [
            "Organization",
            "Schedule",
            "Employee ID",
            "Name",
            "Destination",
            "Memo type",
            "Memo",
            "Asset",
            "Issuer",
            "Amount",
        ]
    )
    for number, payee in enumerate(example_payees()):
        if number == _BLANK_LINE_AFTER:
            text.write("\r\n")
        rows.writerow(
            [
                payee.organization,
                payee.schedule,
                payee.employee_id,
                payee.name + ("  " if number % 17 == 4 else "\u00a0" if number % 29 == 6 else ""),
                payee.destination + (" " if number % 31 == 9 else ""),
                payee.memo_type,
                payee.memo,
                payee.asset_code,
                "" if payee.asset_code == "XLM" else issuer(payee.asset_code).public_key,
                format(payee.amount, "f"),
            ]
        )
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def payroll_with_terms_csv() -> bytes:
    """examples/payroll-with-terms.csv: semicolons, and columns that say when each schedule pays."""
    text = io.StringIO()
    rows = csv.writer(text, delimiter=";", lineterminator="\n")
    rows.writerow(
        [
            "employee_id",
            "name",
            "destination",
            "asset",
            "issuer",
            "amount",
            "line",
            "schedule",
            "frequency",
            "first_pay_date",
            "pay_time",
            "time_zone",
            "end_date",
        ]
    )
    monthly = ["Office", "monthly", "2035-01-31", "09:00", "Europe/Tallinn", ""]
    weekly = ["Roastery shifts", "every two weeks", "2035-02-02", "17:30", "America/New_York", "2035-12-31"]
    for number, (line, terms) in enumerate(
        [("1", monthly), ("2", monthly), ("1", monthly), ("1", weekly), ("1", weekly), ("1", weekly)]
    ):
        person = 0 if number == 1 else number
        keypair = example_keypair(f"terms payee {person}")
        code = "USDC" if number % 2 else "XLM"
        asset_issuer = "" if code == "XLM" else issuer(code).public_key
        who = (f"T-{person:03d}", example_name(person), keypair.public_key)
        rows.writerow([*who, code, asset_issuer, f"{250 + number * 75}.5", line, *terms])
    return text.getvalue().encode()


def _payee(number: int) -> ExamplePayee:
    organization = COFFEE if number < _COFFEE_PAYEES else DESIGN
    trait = _TRAITS.get(number, Trait.PLAIN)
    memo_type, memo = _MEMOS.get(number, ("", ""))
    keypair = example_keypair(
        {Trait.MUXED: "custodian", Trait.EXCHANGE: "exchange"}.get(trait, f"payee {number}")
    )
    destination = keypair.public_key
    if trait is Trait.MUXED:
        destination = MuxedAccount(destination, 700_000 + number).account_muxed or destination
    asset_code = _asset(organization, number, trait)
    return ExamplePayee(
        organization=organization,
        schedule=SCHEDULES[organization],
        employee_id=f"BC-{1001 + number}" if organization == COFFEE else f"hd{number:05d}",
        name=example_name(number),
        keypair=keypair,
        destination=destination,
        memo_type=memo_type,
        memo=memo,
        asset_code=asset_code,
        amount=_amount(number, asset_code),
        trait=trait,
    )


def _asset(organization: str, number: int, trait: Trait) -> str:
    if trait is Trait.NO_TRUSTLINE:
        return "USDC"
    main, other = ("EURC", "USDC") if organization == COFFEE else ("USDC", "EURC")
    return (main, main, main, other, "XLM")[number % 5]


def _amount(number: int, asset_code: str) -> Decimal:
    """Whole, with cents, or (XLM) with up to seven decimals; never zero."""
    digest = int.from_bytes(hashlib.sha256(f"amount {number}".encode()).digest()[:6], "big")
    if asset_code == "XLM":
        return Decimal(200_0000000 + digest % 9_000_0000000).scaleb(-7).normalize() + Decimal(0)
    cents = 900_00 + digest % 4_500_00
    return Decimal(cents // 100) if number % 4 == 0 else Decimal(cents).scaleb(-2)


def main() -> None:
    """Writes the example files again, in the checkout's examples/."""
    examples = Path(__file__).parent.parent / "examples"
    (examples / "payroll.csv").write_bytes(payroll_csv())
    (examples / "payroll-with-terms.csv").write_bytes(payroll_with_terms_csv())


if __name__ == "__main__":
    main()
