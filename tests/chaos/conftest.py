"""A durable PostgreSQL server that the tests may crash, and a network that closes ledgers quickly."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from paylock.postgres_embedded import EmbeddedPostgres
from tests.database_server import (
    Database,
    Server,
    chosen_binaries,
    empty_database,
    migrated_template,
)


@dataclass(frozen=True, slots=True)
class Mortal:
    """A private server with fsync on that can be crashed, and a fresh database in it."""

    postgres: EmbeddedPostgres
    database: Database


@pytest.fixture(scope="module")
def mortal_server(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[EmbeddedPostgres, Server, str]]:
    """The module's own server, whatever the session's tests use, and its template database."""
    directory = tmp_path_factory.mktemp("mortal")
    with EmbeddedPostgres(directory, binaries=chosen_binaries(), durable=True) as running:
        server = Server(running.url, uuid.uuid4().hex[:8])
        with migrated_template(server) as template:
            yield running, server, template


@pytest.fixture
def mortal(mortal_server: tuple[EmbeddedPostgres, Server, str]) -> Iterator[Mortal]:
    running, server, template = mortal_server
    with empty_database(server, template) as database:
        yield Mortal(running, database)
