"""Checks between one database and one node: network, keys, channels' sequences, clocks."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import psycopg

from notifier.network.horizon import HorizonNetwork
from notifier.network.protocol import AccountReading, NetworkIdentity, NotFound
from notifier.signers import InvalidKey, KeyMissing, LocalKeyring
from paylock.doctor.findings import Finding, Level

CLOCK_SECONDS = 60.0
"""Further apart than this, a clock is worth a warning. No clock decides about money."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """What a pod would be given; empty where it isn't known here."""

    horizon_url: str = ""
    passphrase: str = ""
    channel_seed: str = field(default="", repr=False)
    funding_secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class _Channel:
    organization: str
    address: str
    key_index: int
    sequence: int
    state: str
    busy: bool


async def check_network(connection: psycopg.Connection, settings: NetworkSettings) -> AsyncIterator[Finding]:
    """All checks in order. The login must be able to read the views."""
    own = connection.execute("SELECT network_passphrase FROM payroll.installation_overview").fetchone()
    network = own[0] if own else None
    if network is None:
        yield Finding(
            Level.WARN, "network", "this database belongs to no network yet", "run: paylock channel add"
        )
    elif settings.passphrase and settings.passphrase != network:
        yield Finding(
            Level.FAIL,
            "network",
            f"the database belongs to {network!r}, PAYLOCK_NETWORK_PASSPHRASE is {settings.passphrase!r}",
            "correct the variable or the database URL",
        )
    channels = _channels(connection)
    funding = [
        address
        for (address,) in connection.execute(
            "SELECT address FROM payroll.funding_account_overview ORDER BY 1"
        ).fetchall()
    ]
    yield _keys(settings, channels, funding)
    if not settings.horizon_url:
        yield Finding(
            Level.WARN, "node", "no Horizon URL was given", "set PAYLOCK_HORIZON_URL or --horizon-url"
        )
        return
    async with HorizonNetwork(settings.horizon_url, submit_seconds=10.0) as horizon:
        identity = await horizon.identity()
        if not isinstance(identity, NetworkIdentity):
            yield Finding(
                Level.FAIL,
                "node",
                f"{settings.horizon_url}: {identity.reason}",
                "is it up, and is it Horizon?",
            )
            return
        if network is not None and identity.passphrase != network:
            yield Finding(
                Level.FAIL,
                "node",
                f"the node serves {identity.passphrase!r}, the database belongs to {network!r}",
                "point to the right node",
            )
            return
        yield Finding(Level.OK, "node", f"{identity.passphrase!r}, ledger {identity.latest.sequence}")
        for finding in _clocks(connection, identity):
            yield finding
        async for finding in _sequences(horizon, channels):
            yield finding
        for address in funding:
            if isinstance(await horizon.account(address), NotFound):
                yield Finding(
                    Level.FAIL,
                    "funding account",
                    f"{address} does not exist on the network",
                    "create and fund it",
                )


def _channels(connection: psycopg.Connection) -> list[_Channel]:
    rows = connection.execute(
        "SELECT organization, address, key_index, sequence, state, live_batch_id IS NOT NULL"
        " FROM payroll.channel_overview WHERE state <> 'retired' ORDER BY organization, key_index"
    ).fetchall()
    return [_Channel(*row) for row in rows]


def _keys(settings: NetworkSettings, channels: Iterable[_Channel], funding: Iterable[str]) -> Finding:
    if not settings.channel_seed or not settings.funding_secrets:
        return Finding(
            Level.WARN,
            "keys",
            "no channel seed and funding secrets were given: not compared",
            "set PAYLOCK_CHANNEL_SEED_FILE and PAYLOCK_FUNDING_SECRETS_FILE where keys may be",
        )
    try:
        keyring = LocalKeyring(settings.channel_seed, settings.funding_secrets)
    except InvalidKey as error:
        return Finding(Level.FAIL, "keys", str(error), "give the keys that the accounts were made with")
    problems = []
    for channel in channels:
        try:
            keyring.channel(channel.key_index, channel.address)
        except KeyMissing as error:
            problems.append(f"{channel.organization}: {error}")
    for address in funding:
        try:
            keyring.funding(address)
        except KeyMissing as error:
            problems.append(str(error))
    if problems:
        shown = "; ".join(problems[:5])
        return Finding(Level.FAIL, "keys", shown, "give every pod the keys of all accounts in its database")
    return Finding(Level.OK, "keys", "there is a key for every channel and funding account")


def _clocks(connection: psycopg.Connection, identity: NetworkIdentity) -> Iterable[Finding]:
    row = connection.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    database_time: datetime = row[0]
    ledger_age = (database_time - identity.latest.closed_at).total_seconds()
    host_ahead = (datetime.now(UTC) - database_time).total_seconds()
    level = Level.WARN if not -CLOCK_SECONDS < ledger_age < CLOCK_SECONDS else Level.OK
    yield Finding(
        level,
        "database clock",
        f"the latest ledger closed {ledger_age:.0f} s ago by it",
        (
            ""
            if level is Level.OK
            else "set the server's clock (NTP), or the node is behind: runs open by this clock"
        ),
    )
    level = Level.WARN if abs(host_ahead) > CLOCK_SECONDS else Level.OK
    yield Finding(
        level,
        "this machine's clock",
        f"{abs(host_ahead):.1f} s {'ahead of' if host_ahead >= 0 else 'behind'} the database's",
        "" if level is Level.OK else "it decides nothing; logs will be hard to read",
    )


async def _sequences(horizon: HorizonNetwork, channels: list[_Channel]) -> AsyncIterator[Finding]:
    """The ledger may be one ahead while a batch is open; else a stranger or another database is at work."""
    wrong = 0
    for channel in channels:
        reading = await horizon.account(channel.address)
        name = f"channel {channel.key_index} of {channel.organization}"
        if isinstance(reading, AccountReading):
            ahead = reading.sequence - channel.sequence
            if ahead == 0 or (ahead == 1 and channel.busy) or channel.state == "quarantined":
                continue
            detail = f"{name}: the ledger is at {reading.sequence}, the database at {channel.sequence}"
            advice = (
                "a stranger used the channel's key, or this database is a copy or was restored:"
                " stop the pods and find out which"
                if ahead > 0
                else "the database is ahead of the ledger: this is another network, or one that was reset"
            )
            yield Finding(Level.FAIL, "channels", detail, advice)
        elif isinstance(reading, NotFound):
            yield Finding(
                Level.FAIL,
                "channels",
                f"{name}: {channel.address} does not exist on the network",
                "another network?",
            )
        else:
            yield Finding(Level.WARN, "channels", f"{name}: {reading.reason}", "ask again")
        wrong += 1
    if not channels:
        yield Finding(
            Level.WARN, "channels", "there are none: nothing can be paid", "run: paylock channel add"
        )
    elif not wrong:
        yield Finding(Level.OK, "channels", f"all {len(channels)} stand where the ledger has them")
