"""The pod's configuration: environment variables in, one frozen value out.

Every problem is listed at once. An unknown PAYLOCK_ variable is an error (a misspelt one would otherwise be a
silent default), and no network is assumed: URL and passphrase must be given. Variables that start with
PAYLOCK_TEST_ or PAYLOCK_DEMO_ belong to others and are left alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from notifier import crash_points

PREFIX = "PAYLOCK_"
FOREIGN_PREFIXES = ("PAYLOCK_TEST_", "PAYLOCK_DEMO_")
LOG_LEVELS = ("debug", "info", "warning", "error")

N = TypeVar("N", int, float)


class ConfigurationError(Exception):
    """The environment doesn't make a configuration; `problems` names each fault."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("configuration: " + "; ".join(problems))


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a pod needs to run. Fields with secrets are left out of repr."""

    database_url: str = field(repr=False)
    horizon_url: str
    network_passphrase: str
    channel_seed: str = field(repr=False)
    funding_secrets: tuple[str, ...] = field(repr=False)
    http_port: int = 8080
    lease_seconds: int = 30
    poll_seconds: float = 5.0
    concurrency: int = 10
    envelope_seconds: int = 60
    base_fee: int = 100
    max_fee: int = 10_000
    submit_seconds: float = 35.0
    grace_seconds: float = 25.0
    log_level: str = "info"
    crash_at: str | None = None
    crash_count: int = 1


class _Reader:
    """Reads variables one by one and collects what is wrong with them."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.known: set[str] = set()
        self.problems: list[str] = []

    def text(self, name: str, *, required: bool = False) -> str:
        self.known.add(PREFIX + name)
        value = self._environment.get(PREFIX + name, "").strip()
        if required and not value:
            self.problems.append(f"{PREFIX}{name} is required")
        return value

    def number(self, name: str, kind: Callable[[str], N], default: N, low: N, high: N) -> N:
        value = self.text(name)
        if not value:
            return default
        try:
            number = kind(value)
        except ValueError:
            self.problems.append(f"{PREFIX}{name} must be a number, not {value!r}")
            return default
        if not low <= number <= high:
            self.problems.append(f"{PREFIX}{name} must be from {low} to {high}, not {value}")
        return number

    def secret(self, name: str) -> str:
        """The value of NAME, or the content of the file that NAME_FILE names; exactly one must be given."""
        direct, path = self.text(name), self.text(name + "_FILE")
        if bool(direct) == bool(path):
            how = "only one of" if direct else "one of"
            self.problems.append(f"give {how} {PREFIX}{name} and {PREFIX}{name}_FILE")
            return ""
        if direct:
            return direct
        try:
            content = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(f"{PREFIX}{name}_FILE can't be read: {type(error).__name__}")
            return ""
        if not content:
            self.problems.append(f"{PREFIX}{name}_FILE names an empty file")
        return content


def read_configuration(environment: Mapping[str, str]) -> Configuration:
    """Build the configuration from environment variables. Raises ConfigurationError with all problems."""
    reader = _Reader(environment)
    database_url = reader.text("DATABASE_URL", required=True)
    try:
        conninfo_to_dict(database_url)
    except ProgrammingError:  # its message may repeat the password: say nothing of it
        reader.problems.append(
            "PAYLOCK_DATABASE_URL is neither postgresql://user:password@host/database (with % and @ in the"
            " password written as %25 and %40) nor a libpq connection string"
        )
    horizon_url = reader.text("HORIZON_URL", required=True)
    if horizon_url and (
        urlsplit(horizon_url).scheme not in ("http", "https") or not urlsplit(horizon_url).netloc
    ):
        reader.problems.append("PAYLOCK_HORIZON_URL must start with http:// or https:// and name a host")
    passphrase = reader.text("NETWORK_PASSPHRASE", required=True)
    channel_seed = reader.secret("CHANNEL_SEED")
    funding = tuple(reader.secret("FUNDING_SECRETS").replace(",", " ").split())

    log_level = reader.text("LOG_LEVEL").lower() or "info"
    if log_level not in LOG_LEVELS:
        reader.problems.append(f"PAYLOCK_LOG_LEVEL must be one of {', '.join(LOG_LEVELS)}, not {log_level!r}")
    crash_at = reader.text("CRASH_AT") or None
    crash_allowed = reader.text("ALLOW_CRASH")
    if crash_at is not None and crash_allowed != "1":
        reader.problems.append("PAYLOCK_CRASH_AT is for tests only and needs PAYLOCK_ALLOW_CRASH=1")
    elif crash_at is not None and crash_at not in crash_points.BOUNDARIES:
        reader.problems.append(f"PAYLOCK_CRASH_AT must be one of {', '.join(crash_points.BOUNDARIES)}")

    configuration = Configuration(
        database_url=database_url,
        horizon_url=horizon_url.rstrip("/"),
        network_passphrase=passphrase,
        channel_seed=channel_seed,
        funding_secrets=funding,
        http_port=reader.number("HTTP_PORT", int, 8080, 0, 65535),
        lease_seconds=reader.number("LEASE_SECONDS", int, 30, 5, 3600),
        poll_seconds=reader.number("POLL_SECONDS", float, 5.0, 1.0, 3600.0),
        concurrency=reader.number("CONCURRENCY", int, 10, 1, 1000),
        envelope_seconds=reader.number("ENVELOPE_SECONDS", int, 60, 1, 3600),
        base_fee=reader.number("BASE_FEE", int, 100, 100, 100_000_000),
        max_fee=reader.number("MAX_FEE", int, 10_000, 100, 100_000_000),
        submit_seconds=reader.number("SUBMIT_SECONDS", float, 35.0, 0.1, 600.0),
        grace_seconds=reader.number("GRACE_SECONDS", float, 25.0, 0.0, 3600.0),
        log_level=log_level,
        crash_at=crash_at,
        crash_count=reader.number("CRASH_COUNT", int, 1, 1, 1_000_000),
    )
    if configuration.max_fee < configuration.base_fee:
        reader.problems.append("PAYLOCK_MAX_FEE must not be less than PAYLOCK_BASE_FEE")
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in reader.known and not name.startswith(FOREIGN_PREFIXES):
            reader.problems.append(f"{name} is not a variable that the pod knows")
    if reader.problems:
        raise ConfigurationError(reader.problems)
    return configuration
