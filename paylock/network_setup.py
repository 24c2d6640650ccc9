"""Sets accounts up on a Stellar network over Horizon: sponsored channels, accounts, trustlines, assets.

For `paylock channel add`, the sandbox and the demo; pods never use it. No answer is no answer: the same
envelope is sent again until the ledger has it or can't take it any more.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from stellar_sdk import Asset, Keypair, Server, TransactionBuilder, TransactionEnvelope
from stellar_sdk.account import Account
from stellar_sdk.client.requests_client import RequestsClient
from stellar_sdk.exceptions import BaseHorizonError, NotFoundError
from stellar_sdk.exceptions import ConnectionError as NoConnection
from stellar_sdk.time_bounds import TimeBounds

T = TypeVar("T")
CHANNELS_PER_TRANSACTION = 19  # a transaction has room for 20 signatures: theirs and the sponsor's
HOLDERS_PER_TRANSACTION = 20
OPERATIONS_PER_TRANSACTION = 100
_BID = 10_000  # stroops for each operation; the network charges what it needs
_VALID_SECONDS = 300
_SENDERS = 8


class WrongNetwork(Exception):
    """The node belongs to another network than the one that was named."""


class NetworkUnreachable(Exception):
    """The node gave no usable answer."""


class SetupRefused(Exception):
    """The ledger refused a transaction; the message has its result codes."""


@dataclass(frozen=True, slots=True)
class LedgerAccount:
    """An account as the ledger has it. sponsor: who carries its reserve, or None."""

    address: str
    sequence: int
    sponsor: str | None


@dataclass(frozen=True, slots=True)
class Network:
    """A Horizon server whose network is known to be the one that was asked for."""

    server: Server
    passphrase: str


def connect(horizon_url: str, passphrase: str) -> Network:
    """Raises WrongNetwork if the node's passphrase is another one, or NetworkUnreachable."""
    server = Server(horizon_url, RequestsClient(num_retries=3, post_timeout=40))
    network = Network(server, passphrase)
    found = root(network).get("network_passphrase")
    if found != passphrase:
        raise WrongNetwork(
            f"the node at {horizon_url} belongs to the network {found!r}, not to {passphrase!r}"
        )
    return network


def root(network: Network) -> dict[str, Any]:
    """Horizon's root resource. Raises NetworkUnreachable."""
    try:
        return network.server.root().call()
    except (BaseHorizonError, NoConnection, ValueError) as error:
        raise NetworkUnreachable(f"Horizon gives no answer: {error}") from error


def ledger_account(network: Network, address: str) -> LedgerAccount | None:
    """The account, or None if the ledger has none. Raises NetworkUnreachable."""
    try:
        answer = network.server.accounts().account_id(address).call()
    except NotFoundError:
        return None
    except (BaseHorizonError, NoConnection, ValueError) as error:
        raise NetworkUnreachable(f"can't read account {address}: {error}") from error
    return LedgerAccount(address, int(answer["sequence"]), answer.get("sponsor"))


def create_channels(network: Network, sponsor: Keypair, channels: Sequence[Keypair]) -> dict[str, int]:
    """Creates channel accounts that hold nothing, their reserves carried by the sponsor (1 XLM each).

    Returns the sequence of each, as read from the ledger. At most CHANNELS_PER_TRANSACTION at once.
    """
    builder = _builder(network, sponsor)
    for channel in channels:
        builder.append_begin_sponsoring_future_reserves_op(channel.public_key, sponsor.public_key)
        builder.append_create_account_op(channel.public_key, "0", sponsor.public_key)
        builder.append_end_sponsoring_future_reserves_op(channel.public_key)
    submit(network, _signed(builder, sponsor, *channels))
    sequences = {}
    for channel in channels:
        account = ledger_account(network, channel.public_key)
        if account is None:
            raise NetworkUnreachable(
                f"channel {channel.public_key} was created, but the node doesn't show it yet"
            )
        sequences[account.address] = account.sequence
    return sequences


def create_accounts(network: Network, source: Keypair, balances: Mapping[str, str]) -> None:
    """Creates accounts with these amounts of XLM, 100 a transaction."""
    for part in _parts(list(balances.items()), OPERATIONS_PER_TRANSACTION):
        builder = _builder(network, source)
        for address, balance in part:
            builder.append_create_account_op(address, balance)
        submit(network, _signed(builder, source))


def create_trustlines(network: Network, holders: Iterable[tuple[Keypair, Asset]]) -> None:
    """Lets each account hold the asset. Accounts pay their own fees; transactions go out side by side."""
    by_account: dict[str, tuple[Keypair, list[Asset]]] = {}
    for keypair, asset in holders:
        by_account.setdefault(keypair.public_key, (keypair, []))[1].append(asset)

    def trust(part: Sequence[tuple[Keypair, list[Asset]]]) -> None:
        # The first account lends its sequence, so that no two transactions wait for one another.
        builder = _builder(network, part[0][0])
        for keypair, assets in part:
            for asset in assets:
                builder.append_change_trust_op(asset, source=keypair.public_key)
        submit(network, _signed(builder, *(keypair for keypair, _ in part)))

    with ThreadPoolExecutor(_SENDERS) as senders:
        for _ in senders.map(trust, _parts(list(by_account.values()), HOLDERS_PER_TRANSACTION)):
            pass


def issue(network: Network, issuer: Keypair, code: str, amounts: Mapping[str, str]) -> None:
    """Pays newly issued amounts of the issuer's asset to accounts that trust it."""
    asset = Asset(code, issuer.public_key)
    for part in _parts(list(amounts.items()), OPERATIONS_PER_TRANSACTION):
        builder = _builder(network, issuer)
        for address, amount in part:
            builder.append_payment_op(address, asset, amount)
        submit(network, _signed(builder, issuer))


def demand_memos(network: Network, account: Keypair) -> None:
    """Marks the account as one that takes no payment without a memo (SEP-29)."""
    builder = _builder(network, account)
    builder.append_manage_data_op("config.memo_required", "1")
    submit(network, _signed(builder, account))


def submit(network: Network, envelope: TransactionEnvelope) -> None:
    """Sends until the ledger has it. Raises SetupRefused, or NetworkUnreachable once it is too late."""
    identity = envelope.hash_hex()
    bounds = envelope.transaction.preconditions
    assert bounds is not None
    assert bounds.time_bounds is not None
    while True:
        try:
            network.server.submit_transaction(envelope, skip_memo_required_check=True)
        except BaseHorizonError as error:
            if _outcome(network, identity):
                return
            if error.status == 400:
                raise SetupRefused(f"transaction {identity} was refused: {_codes(error)}") from error
        except (NoConnection, ValueError):
            pass  # no answer is no answer: look the hash up
        else:
            return
        if _outcome(network, identity):
            return
        if _close_time(network) > bounds.time_bounds.max_time:
            raise NetworkUnreachable(f"transaction {identity} did not get into a ledger in time; try again")
        time.sleep(0.5)


def _outcome(network: Network, identity: str) -> bool:
    """Whether the ledger has the transaction. Raises SetupRefused if it failed there."""
    try:
        found = network.server.transactions().transaction(identity).call()
    except (BaseHorizonError, NoConnection, ValueError):
        return False
    if not found["successful"]:
        raise SetupRefused(f"transaction {identity} is in ledger {found['ledger']}, and failed")
    return True


def _codes(error: BaseHorizonError) -> str:
    extras = error.extras if isinstance(error.extras, dict) else {}
    return str(extras.get("result_codes", error.detail or error.title))


def _builder(network: Network, source: Keypair) -> TransactionBuilder:
    account = ledger_account(network, source.public_key)
    if account is None:
        raise SetupRefused(f"account {source.public_key} does not exist on this network; fund it first")
    builder = TransactionBuilder(Account(account.address, account.sequence), network.passphrase, _BID)
    builder.time_bounds = TimeBounds(0, _close_time(network) + _VALID_SECONDS)
    return builder


def _close_time(network: Network) -> int:
    """The newest ledger's close time in Unix seconds: the clock that time bounds are measured by."""
    closed_at = str(root(network)["history_latest_ledger_closed_at"])
    return int(datetime.fromisoformat(closed_at).timestamp())


def _signed(builder: TransactionBuilder, *signers: Keypair) -> TransactionEnvelope:
    envelope = builder.build()
    for signer in dict.fromkeys(signers):
        envelope.sign(signer)
    return envelope


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
