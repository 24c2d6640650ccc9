"""SEP-29: which payments of a batch are refused because their destination demands a memo."""

from collections import Counter

import pytest
from stellar_sdk import MuxedAccount

from notifier.memo_check import CACHE_SIZE, MemoCheck, MemoUnknown
from notifier.network.protocol import MemoRequired, NotAsked, Unknown
from tests.pod.test_envelope import PAYEES, line

Answer = MemoRequired | NotAsked | Unknown


class Accounts:
    """Answers memo_required from a table; False for everybody else."""

    def __init__(self, **answers: Answer) -> None:
        self.answers = answers
        self.asked: Counter[str] = Counter()

    async def memo_required(self, address: str) -> Answer:
        self.asked[address] += 1
        return self.answers.get(address, MemoRequired(False))


def check(accounts: Accounts) -> MemoCheck:
    return MemoCheck(accounts)  # type: ignore[arg-type]


async def test_payments_to_accounts_that_demand_a_memo_are_refused_in_order() -> None:
    accounts = Accounts(**{PAYEES[1]: MemoRequired(True), PAYEES[3]: MemoRequired(True)})
    assert await check(accounts).refused([line(i) for i in (4, 3, 2, 1)]) == [3, 1]


async def test_a_memo_of_its_own_and_a_muxed_address_are_exempt_and_not_even_asked_about() -> None:
    muxed = MuxedAccount(PAYEES[1], 5).account_muxed
    accounts = Accounts(**{PAYEES[1]: MemoRequired(True)})
    assert await check(accounts).refused([line(1, own_memo=True), line(2, destination=muxed)]) == []
    assert not accounts.asked


async def test_each_destination_is_asked_once_and_then_remembered() -> None:
    accounts = Accounts(**{PAYEES[1]: MemoRequired(True)})
    memos = check(accounts)
    lines = [line(1), line(101), line(2)]
    assert await memos.refused(lines) == [1, 101]
    assert await memos.refused(lines) == [1, 101]
    assert set(accounts.asked.values()) == {1}


@pytest.mark.parametrize("silence", [Unknown("HTTP 502"), NotAsked("HTTP 429", 9.0)])
async def test_one_unanswered_destination_stops_the_batch(silence: NotAsked | Unknown) -> None:
    accounts = Accounts(**{PAYEES[1]: MemoRequired(True), PAYEES[2]: silence})
    memos = check(accounts)
    with pytest.raises(MemoUnknown) as caught:
        await memos.refused([line(1), line(2), line(3)])
    assert caught.value.retry_after == silence.retry_after
    del accounts.answers[PAYEES[2]]
    assert await memos.refused([line(1), line(2), line(3)]) == [1]
    assert accounts.asked == {PAYEES[1]: 1, PAYEES[2]: 2, PAYEES[3]: 1}


async def test_memory_is_bounded() -> None:
    memos = check(Accounts())
    for first in range(0, CACHE_SIZE + 300, 100):
        await memos.refused([line(i, destination=f"G{first + i}") for i in range(100)])
    assert len(memos._cache) == CACHE_SIZE
