"""The network's time, and the alert when it stands still."""

from datetime import UTC, datetime
from typing import cast

import pytest
from prometheus_client import CollectorRegistry, Gauge

from notifier import ledger_clock
from notifier.alerts import Alerts
from notifier.ledger_clock import LedgerClock, WrongPassphrase
from notifier.network.protocol import LedgerClose, Network, NetworkIdentity, Unknown


class Node:
    """Answers what it is told to."""

    def __init__(self) -> None:
        self.answer: NetworkIdentity | Unknown = self.at(5)

    @staticmethod
    def at(ledger: int, passphrase: str = "Test") -> NetworkIdentity:
        return NetworkIdentity(passphrase, LedgerClose(ledger, datetime(2026, 1, 1, tzinfo=UTC)))

    async def identity(self) -> NetworkIdentity | Unknown:
        return self.answer


@pytest.fixture
def alerts() -> Alerts:
    return Alerts(Gauge("alerts", "of a test", ["kind"], registry=CollectorRegistry()))


async def test_a_ledger_that_stands_still_is_an_alert_until_it_moves(
    alerts: Alerts, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node()
    clock = LedgerClock(cast(Network, node), "Test", 1.0, alerts)
    await clock.ask()
    await clock.ask()
    assert alerts.active() == {}
    monkeypatch.setattr(ledger_clock, "STALLED_SECONDS", -1.0)
    await clock.ask()
    assert alerts.active() == {"ledger_stalled": {"node": "still at ledger 5"}}
    node.answer = Node.at(6)
    await clock.ask()
    assert alerts.active() == {}


async def test_no_answer_is_an_alert_until_there_is_one(alerts: Alerts) -> None:
    node = Node()
    clock = LedgerClock(cast(Network, node), "Test", 1.0, alerts)
    node.answer = Unknown("HTTP 502")
    assert await clock.ask() is None
    assert "network" in alerts.active()
    node.answer = Node.at(7)
    assert await clock.ask() == LedgerClose(7, datetime(2026, 1, 1, tzinfo=UTC))
    assert alerts.active() == {}


async def test_another_network_is_refused(alerts: Alerts) -> None:
    node = Node()
    node.answer = Node.at(5, "Other")
    with pytest.raises(WrongPassphrase):
        await LedgerClock(cast(Network, node), "Test", 1.0, alerts).ask()
