"""Whatever is sent: no coin appears or vanishes, reserves add up, and a failure leaves no trace."""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stellar_sdk import (
    Account,
    AccountMerge,
    Asset,
    BeginSponsoringFutureReserves,
    BumpSequence,
    ChangeTrust,
    Claimant,
    ClaimClaimableBalance,
    CreateAccount,
    CreateClaimableBalance,
    EndSponsoringFutureReserves,
    Keypair,
    ManageData,
    Payment,
    SetOptions,
    Signer,
    TransactionBuilder,
)
from stellar_sdk.operation import Operation

from sandbox.entries import Account as AccountEntry
from sandbox.entries import ClaimableBalance, DataEntry, Trustline
from sandbox.entries import Signer as SignerEntry
from sandbox.foreign import Sender
from sandbox.network import TOTAL_COINS, Network, Parameters
from sandbox.reserves import minimum_balance
from tests.sandbox.stage import XLM, key

PEOPLE = [key(f"p{number}") for number in range(5)]
ISSUER = PEOPLE[0]
USD = Asset("USD", ISSUER.public_key)

people = st.sampled_from(PEOPLE)
amounts = st.sampled_from(["0.0000001", "1", "3.7", "9", "40"])
assets = st.sampled_from([XLM, USD])


def sourced(operation: st.SearchStrategy[Operation]) -> st.SearchStrategy[Operation]:
    def with_source(pair: tuple[Operation, Keypair]) -> Operation:
        pair[0].source = Account(pair[1].public_key, 0).account
        return pair[0]

    return st.tuples(operation, people).map(with_source)


def any_operation(balances: list[str]) -> st.SearchStrategy[Operation]:
    known = balances or ["00000000" + "0" * 64]
    addresses = people.map(lambda each: each.public_key)
    return sourced(
        st.one_of(
            st.builds(Payment, addresses, assets, amounts),
            st.builds(CreateAccount, addresses, st.sampled_from(["0", "1", "5"])),
            st.builds(ChangeTrust, st.just(USD), st.sampled_from(["0", "5", "100"])),
            st.builds(ManageData, st.sampled_from(["a", "b"]), st.sampled_from([None, "x"])),
            st.builds(BumpSequence, st.just(0)),
            st.builds(AccountMerge, addresses),
            st.builds(
                lambda who, weight: SetOptions(signer=Signer.ed25519_public_key(who, weight)),
                st.sampled_from([key("s1").public_key, key("s2").public_key]),
                st.integers(0, 1),
            ),
            st.builds(lambda who: BeginSponsoringFutureReserves(who), addresses),
            st.builds(EndSponsoringFutureReserves),
            st.builds(
                lambda who, asset, amount: CreateClaimableBalance(asset, amount, [Claimant(who)]),
                addresses,
                assets,
                amounts,
            ),
            st.builds(ClaimClaimableBalance, st.sampled_from(known)),
        )
    )


def check(network: Network) -> None:
    accounts, lines, data, balances = network.state.tables
    native = sum(account.balance for account in accounts.values())
    native += sum(each.amount for each in balances.values() if each.asset is None)
    assert native + network.state.fee_pool == TOTAL_COINS
    subentries: Counter[bytes] = Counter()
    sponsoring: Counter[bytes] = Counter()
    sponsored: Counter[bytes] = Counter()

    def count(owner: bytes, entry: Trustline | DataEntry | SignerEntry | AccountEntry, reserves: int) -> None:
        if entry.sponsor is not None:
            sponsoring[entry.sponsor] += reserves
            sponsored[owner] += reserves

    for (owner, _), line in lines.items():
        assert 0 <= line.balance <= line.limit
        subentries[owner] += 1
        count(owner, line, 1)
    for (owner, _), entry in data.items():
        subentries[owner] += 1
        count(owner, entry, 1)
    for owner, account in accounts.items():
        subentries[owner] += len(account.signers)
        count(owner, account, 2)
        for signer in account.signers:
            count(owner, signer, 1)
    balance: ClaimableBalance
    for balance in balances.values():
        assert balance.sponsor is not None
        sponsoring[balance.sponsor] += len(balance.claimants)
    for owner, account in accounts.items():
        assert account.subentries == subentries[owner]
        assert account.sponsoring == sponsoring[owner]
        assert account.sponsored == sponsored[owner]
        assert account.balance >= 0
        assert account.balance >= minimum_balance(account, 5_000_000) - 10_000


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_coins_and_reserves_always_add_up(data: st.DataObject) -> None:
    network = Network(Parameters("invariants"))
    Sender(network).fund({each.public_key: 20 * 10**7 for each in PEOPLE[:4]})
    network.close()
    for _ in range(data.draw(st.integers(1, 5))):
        identities = ["00000000" + balance_id.hex() for balance_id in network.state.tables[3]]
        for _ in range(data.draw(st.integers(1, 3))):
            operations = data.draw(st.lists(any_operation(identities), min_size=1, max_size=5))
            source = data.draw(people)
            account = network.state.account(source.raw_public_key())
            sequence = account.sequence if account else 0
            builder = TransactionBuilder(Account(source.public_key, sequence), "invariants", 100)
            builder.add_time_bounds(0, 0)
            needed = {source.public_key}
            for operation in operations:
                builder.append_operation(operation)
                assert operation.source is not None
                needed.add(operation.source.account_id)
            envelope = builder.build()
            for person in PEOPLE:
                if person.public_key in needed:
                    envelope.sign(person)
            network.submit(network.read(envelope.to_xdr()))
        before = dict(network.state.tables[0])
        record = network.close()
        check(network)
        payers = {each.submission.source for each in record.transactions}
        if not any(each.successful for each in record.transactions):
            assert {
                owner: entry for owner, entry in network.state.tables[0].items() if owner not in payers
            } == {owner: entry for owner, entry in before.items() if owner not in payers}
