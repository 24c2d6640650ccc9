"""The judge notices: each doctored ledger here has one fault, and the verdict names it."""

from dataclasses import replace
from decimal import Decimal

import pytest
from stellar_sdk import Keypair, MuxedAccount

from paylock.demo.judge import AccountState, Line, Outgoing, Verdict, balance_findings, judge

FUNDING, OTHER_FUNDING, ISSUER = (Keypair.random().public_key for _ in range(3))
USDC, EURC = f"USDC:{ISSUER}", f"EURC:{ISSUER}"
RUN_MEMO = "ab" * 32


def line(
    row: int, destination: str, asset: str = USDC, amount: str = "10.5", memo: str | None = None
) -> Line:
    return Line(
        row=row,
        organization="acme",
        schedule="salaries",
        employee_id=f"E-{row}",
        name=f"Person {row}",
        source=FUNDING,
        destination=destination,
        asset=asset,
        amount=Decimal(amount),
        memo_type="text" if memo else "hash",
        memo=memo or RUN_MEMO,
        own_memo=memo is not None,
    )


def payment(of: Line, transaction: str = "11" * 32, position: int = 0) -> Outgoing:
    return Outgoing(
        ledger=7,
        transaction=transaction,
        position=position,
        kind="payment",
        source=of.source,
        destination=of.destination,
        asset=of.asset,
        amount=of.amount.quantize(Decimal("1.0000000")),
        memo_type=of.memo_type,
        memo=of.memo,
    )


ANNA, BERND, CLAIRE, EXCHANGE = (Keypair.random().public_key for _ in range(4))
NOBODY, TRUSTLESS, DEMANDING, FULL, FROZEN = (Keypair.random().public_key for _ in range(5))
ROOM = AccountState(room={USDC: Decimal(1000), EURC: Decimal(1000)})
ACCOUNTS = {
    **dict.fromkeys((ANNA, BERND, CLAIRE, EXCHANGE), ROOM),
    TRUSTLESS: AccountState(),
    DEMANDING: AccountState(room=ROOM.room, memo_required=True),
    FULL: AccountState(room={USDC: Decimal("10.4999999")}),
    FROZEN: AccountState(room=ROOM.room, unauthorized=frozenset((USDC,))),
}
LINES = [
    line(2, ANNA),
    line(3, BERND, "XLM", "0.0000001"),
    line(4, MuxedAccount(EXCHANGE, 7).account_muxed or ""),
    line(5, MuxedAccount(EXCHANGE, 8).account_muxed or ""),
    line(6, EXCHANGE, memo="deposit 42"),
    line(7, EXCHANGE, memo="deposit 43"),
]
PAID = [payment(one, position=place) for place, one in enumerate(LINES)]


def verdict(lines: list[Line], operations: list[Outgoing]) -> Verdict:
    return judge(lines, operations, ACCOUNTS)


def test_a_ledger_that_pays_every_line_once_is_exact() -> None:
    found = verdict(LINES, list(reversed(PAID)))
    assert found.exact
    assert found.findings() == []
    assert (found.payable, len(found.paid_once)) == (6, 6)
    assert all(one.destination == operation.destination for one, operation in found.paid_once)


@pytest.mark.parametrize("place", range(len(PAID)))
def test_a_payment_that_stands_twice_on_the_ledger_is_noticed(place: int) -> None:
    found = verdict(LINES, [*PAID, replace(PAID[place], transaction="22" * 32)])
    assert not found.exact
    assert [one for one, _ in found.paid_twice] == [LINES[place]]
    assert (found.payable, len(found.paid_once)) == (6, 5)
    assert len(found.findings()) == 1


@pytest.mark.parametrize("place", range(len(PAID)))
def test_a_payment_that_is_missing_is_noticed(place: int) -> None:
    found = verdict(LINES, PAID[:place] + PAID[place + 1 :])
    assert found.unpaid == (LINES[place],)
    assert not found.exact
    assert LINES[place].name in found.findings()[0]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"amount": Decimal("10.5000001")}, "amount"),
        ({"amount": Decimal("10.4999999")}, "amount"),
        ({"memo": "cd" * 32}, "memo"),
        ({"memo_type": "return"}, "memo"),
        ({"memo_type": "none", "memo": None}, "memo"),
        ({"asset": EURC}, "asset"),
        ({"asset": f"USDC:{Keypair.random().public_key}"}, "asset"),
        ({"destination": MuxedAccount(ANNA, 1).account_muxed}, "address"),
    ],
)
def test_a_payment_that_is_not_as_demanded_is_noticed(change: dict[str, object], what: str) -> None:
    doctored = replace(PAID[0], **change)  # type: ignore[arg-type]
    found = verdict(LINES, [doctored, *PAID[1:]])
    [(one, operation, difference)] = found.wrong
    assert (one, operation) == (LINES[0], doctored)
    assert difference.startswith(what)
    assert not found.exact
    assert (len(found.paid_once), found.paid_twice, found.unpaid) == (5, (), ())


def test_two_customers_of_one_exchange_whose_muxed_ids_were_confused_are_noticed() -> None:
    both = replace(PAID[3], destination=LINES[2].destination)
    found = verdict(LINES, [*PAID[:3], both, *PAID[4:]])
    assert [one for one, _ in found.paid_twice] == [LINES[2]]
    assert found.unpaid == (LINES[3],)


def test_two_customers_of_one_exchange_whose_memos_were_confused_are_noticed() -> None:
    both = replace(PAID[5], memo="deposit 42")
    found = verdict(LINES, [*PAID[:5], both])
    assert [(one, difference) for one, _, difference in found.wrong] == [(LINES[5], "memo text deposit 42")]


def test_a_payment_to_somebody_whom_the_payroll_does_not_name_is_noticed() -> None:
    stranger = replace(PAID[0], destination=CLAIRE)
    found = verdict(LINES, [*PAID, stranger])
    assert found.foreign == (stranger,)
    assert not found.exact
    assert len(found.paid_once) == 6


@pytest.mark.parametrize("kind", ["create_account", "path_payment_strict_send", "account_merge"])
def test_anything_else_that_leaves_the_funding_account_is_noticed(kind: str) -> None:
    other = replace(PAID[0], kind=kind)
    assert verdict(LINES, [*PAID, other]).foreign == (other,)
    assert verdict(LINES, [other, *PAID[1:]]).unpaid == (LINES[0],)


def test_what_other_accounts_do_is_passed_over() -> None:
    assert verdict(LINES, [*PAID, replace(PAID[0], source=OTHER_FUNDING)]).exact


def test_a_line_paid_by_another_organization_counts_as_not_paid() -> None:
    found = verdict(LINES, [replace(PAID[0], source=OTHER_FUNDING), *PAID[1:]])
    assert found.unpaid == (LINES[0],)


@pytest.mark.parametrize(
    ("destination", "code"),
    [
        (NOBODY, "op_no_destination"),
        (TRUSTLESS, "op_no_trust"),
        (DEMANDING, "memo_required"),
        (FULL, "op_line_full"),
        (FROZEN, "op_not_authorized"),
    ],
)
def test_a_line_that_nobody_could_pay_is_not_missed_but_must_get_nothing(destination: str, code: str) -> None:
    hopeless = line(9, destination)
    found = verdict([*LINES, hopeless], PAID)
    assert found.exact
    assert found.unpayable == ((hopeless, code),)
    assert found.payable == 6
    paid = payment(hopeless)
    found = verdict([*LINES, hopeless], [*PAID, paid])
    assert found.paid_unpayable == ((hopeless, paid, code),)
    assert not found.exact


def test_an_account_that_demands_a_memo_is_payable_with_one_or_by_a_muxed_address() -> None:
    lines = [line(2, DEMANDING, memo="for Dora"), line(3, MuxedAccount(DEMANDING, 5).account_muxed or "")]
    assert verdict(lines, [payment(one) for one in lines]).exact
    assert verdict(lines, []).unpaid == tuple(lines)


def test_an_issuer_needs_no_trustline_for_its_own_asset() -> None:
    one = line(2, ISSUER)
    assert judge([one], [payment(one)], {ISSUER: AccountState()}).exact


def test_two_equal_lines_of_one_payee_need_two_payments() -> None:
    lines = [line(2, ANNA), replace(line(2, ANNA), row=3)]
    one = payment(lines[0])
    assert verdict(lines, [one, replace(one, position=1)]).exact
    assert verdict(lines, [one]).unpaid == (lines[1],)
    assert len(verdict(lines, [one, one, one]).paid_twice) == 1


def test_balances_that_grew_by_what_was_due_are_without_findings_and_others_are_named() -> None:
    lines = [LINES[0], LINES[2], LINES[3], line(9, TRUSTLESS)]
    before = {
        ANNA: AccountState(ROOM.room, {USDC: Decimal(1)}),
        EXCHANGE: AccountState(ROOM.room, {USDC: Decimal(0), "XLM": Decimal(5)}),
        TRUSTLESS: AccountState(),
    }
    after = {
        ANNA: AccountState(ROOM.room, {USDC: Decimal("11.5")}),
        EXCHANGE: AccountState(ROOM.room, {USDC: Decimal(21), "XLM": Decimal(5)}),
        TRUSTLESS: AccountState(),
    }
    assert balance_findings(lines, before, after) == []
    twice = {**after, ANNA: AccountState(ROOM.room, {USDC: Decimal(22)})}
    [finding] = balance_findings(lines, before, twice)
    assert "grew by 21" in finding
    missed = {**after, EXCHANGE: AccountState(ROOM.room, {USDC: Decimal("10.5"), "XLM": Decimal(5)})}
    assert len(balance_findings(lines, before, missed)) == 1
    other = {**after, TRUSTLESS: AccountState({}, {"XLM": Decimal(1)})}
    assert len(balance_findings(lines, before, other)) == 1
