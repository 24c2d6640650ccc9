"""Channel accounts for an organization: made on the network, then registered in the database.

May be stopped and repeated at any point. What a stopped call left on the ledger is found again by its
sponsor, and an index of the seed that is in use, here or on the ledger, is never taken twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import psycopg
from stellar_sdk import Keypair

from paylock.keys import Keys
from paylock.network_setup import CHANNELS_PER_TRANSACTION, Network, create_channels, ledger_account

_LARGEST_INDEX = 2**31 - 1


class FundingAccountUnclear(Exception):
    """No funding account, or more than one, could carry the channels' reserves."""


@dataclass(frozen=True, slots=True)
class AddedChannel:
    """created: on the ledger by this call; otherwise it was found there."""

    address: str
    key_index: int
    sequence: int
    created: bool


def sponsor_for(connection: psycopg.Connection, organization: str, keys: Keys, wanted: str | None) -> Keypair:
    """The organization's funding account whose secret is at hand. Raises FundingAccountUnclear."""
    rows = connection.execute(
        "SELECT address FROM payroll.funding_account_overview WHERE lower(organization) = lower(%s)",
        (organization,),
    ).fetchall()
    registered = [address for (address,) in rows]
    if wanted is not None and wanted not in registered:
        raise FundingAccountUnclear(f"{wanted} is not a funding account of {organization!r}")
    usable = [address for address in registered if address in keys.funding and wanted in (None, address)]
    if not registered:
        raise FundingAccountUnclear(
            f"{organization!r} has no funding account: add it first (paylock organization add)"
        )
    if not usable:
        raise FundingAccountUnclear(f"PAYLOCK_FUNDING_SECRETS holds no secret of {', '.join(registered)}")
    if len(usable) > 1:
        raise FundingAccountUnclear(
            f"say which account carries the reserves, --funding-account: {', '.join(usable)}"
        )
    return keys.funding[usable[0]]


def add_channels(
    connection: psycopg.Connection,
    network: Network,
    keys: Keys,
    sponsor: Keypair,
    organization: str,
    total: int,
    done: Callable[[AddedChannel], None] = lambda channel: None,
) -> list[AddedChannel]:
    """Adds channels until the organization has `total` active ones; calls `done` after each is registered."""
    taken, active = _registered(connection, organization)
    missing = total - active
    added: list[AddedChannel] = []
    candidates = _candidates(network, keys, sponsor, taken)
    while len(added) < missing:
        new: list[tuple[int, Keypair]] = []
        ready: list[AddedChannel] = []
        while len(added) + len(new) + len(ready) < missing and len(new) < CHANNELS_PER_TRANSACTION:
            key_index, keypair, sequence = next(candidates)
            if sequence is None:
                new.append((key_index, keypair))
            else:
                ready.append(AddedChannel(keypair.public_key, key_index, sequence, created=False))
        if new:
            sequences = create_channels(network, sponsor, [keypair for _, keypair in new])
            ready += [
                AddedChannel(keypair.public_key, key_index, sequences[keypair.public_key], created=True)
                for key_index, keypair in new
            ]
        for channel in ready:
            connection.execute(
                "SELECT payroll.add_channel(organization => %s, address => %s, key_index => %s, sequence"
                " => %s)",
                (organization, channel.address, channel.key_index, channel.sequence),
            )
            added.append(channel)
            done(channel)
    return added


def _registered(connection: psycopg.Connection, organization: str) -> tuple[set[int], int]:
    rows = connection.execute(
        "SELECT key_index, lower(organization) = lower(%s) AND state = 'active' FROM"
        " payroll.channel_overview",
        (organization,),
    ).fetchall()
    return {key_index for key_index, _ in rows}, sum(1 for _, active in rows if active)


def _candidates(
    network: Network, keys: Keys, sponsor: Keypair, taken: set[int]
) -> Iterator[tuple[int, Keypair, int | None]]:
    """Free indexes in order, with the ledger's sequence where this sponsor has made the account already."""
    for key_index in count():
        if key_index > _LARGEST_INDEX:
            return
        if key_index in taken:
            continue
        keypair = keys.channel(key_index)
        account = ledger_account(network, keypair.public_key)
        if account is None:
            yield key_index, keypair, None
        elif account.sponsor == sponsor.public_key:
            yield key_index, keypair, account.sequence
