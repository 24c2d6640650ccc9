"""The databases that specs run on: Paylock installed, and beside it the schemas `stage` and `judge`."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.rows import TupleRow
from stellar_sdk import Keypair

from tests.database_server import Database, Server, empty_database
from tests.isolation.stops import insert_stops

Change = Callable[[psycopg.Connection[TupleRow]], None]
_ADDRESSES = 130
_HERE = Path(__file__).parent


def _address(number: int) -> str:
    return Keypair.from_raw_ed25519_seed(hashlib.sha256(f"stage {number}".encode()).digest()).public_key


@contextmanager
def stage_template(server: Server, migrated: str, changes: Sequence[Change] = ()) -> Iterator[str]:
    """The name of a template with the stage set and `changes` made (guards taken out)."""
    with empty_database(server, migrated) as database:
        with database.connect() as connection:
            for name in ("stage.sql", "judge.sql"):
                connection.execute((_HERE / name).read_text().encode())
            with connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO stage.address VALUES (%s, %s)", [(n, _address(n)) for n in range(_ADDRESSES)]
                )
            for change in (*changes, insert_stops):
                change(connection)
        yield database.name


@contextmanager
def stage_database(server: Server, template: str, scenario: str) -> Iterator[Database]:
    """A copy for one spec, with its scenario saved."""
    with empty_database(server, template) as database:
        with database.connect() as connection:
            connection.execute(scenario.encode())
            connection.execute("SELECT stage.save()")
        yield database
