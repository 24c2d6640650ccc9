"""The heartbeat job: say that this pod lives, and refresh the database's gauges."""

import asyncio
import logging

from notifier.alerts import Alerts
from notifier.database import Database, DatabaseRefused, DatabaseUnreachable, PodNotRegistered
from notifier.metrics import Metrics

log = logging.getLogger(__name__)


class RetiredByOthers(Exception):
    """Somebody retired this pod: its name can't be used again, so the process must end and be restarted."""


async def _start_again(database: Database, network_passphrase: str, lease_seconds: int) -> None:
    try:
        await database.start_pod(network_passphrase, lease_seconds)
    except PodNotRegistered as error:
        raise RetiredByOthers(str(error)) from error


async def beat(
    database: Database, metrics: Metrics, alerts: Alerts, network_passphrase: str, lease_seconds: int
) -> None:
    """Three beats per lease, for ever. A database that has forgotten this pod (restored, for example) is
    told again. Raises RetiredByOthers."""
    while True:
        try:
            try:
                await database.heartbeat()
            except PodNotRegistered:
                await _start_again(database, network_passphrase, lease_seconds)
            for name, value in (await database.work_summary()).items():
                metrics.database_gauge.labels(name).set(value)
            alerts.clear("database", "heartbeat")
        except (DatabaseUnreachable, DatabaseRefused) as error:
            metrics.database_errors.inc()
            alerts.raise_alert("database", "heartbeat", str(error))
        await asyncio.sleep(lease_seconds / 3)
