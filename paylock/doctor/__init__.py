"""What `paylock doctor` looks at: the database, then the network. Reads only.

Imports `notifier` for keys and Horizon.

Each check yields findings; none raises for what it finds. A check that can't be made with this login or
without a setting says so as a warning, so that silence never looks like health.
"""

from paylock.doctor.database_checks import check_database
from paylock.doctor.findings import Finding, Level
from paylock.doctor.network_checks import NetworkSettings, check_network

__all__ = ["Finding", "Level", "NetworkSettings", "check_database", "check_network"]
