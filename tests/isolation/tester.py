"""Runs isolationtester on one spec and cancels the calls that would wait for ever.

An order of steps in which a session goes on although it is blocked can't happen. isolationtester would wait
for it until its time is up; this program asks the server whether anybody still runs, and if nobody does,
cancels the waiting call, so that isolationtester comes to the next order. Deadlocks are left to the server.
"""

import os
import selectors
import subprocess
import time
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg.rows import TupleRow

from tests.extras import isolationtester
from tests.isolation.transcript import Transcript, UnreadableTranscript

_QUIET_SECONDS = 0.015  # how long isolationtester is silent before anybody looks; decides nothing
_GATHER_SECONDS = 0.004
_SILENT_SECONDS = 60.0  # a run without a line for so long is broken
_APPLICATION = "interleavings"

# The backend of one session, if it waits (perhaps through others) for one that is idle, and nobody runs.
_STALLED = """
WITH RECURSIVE backend AS MATERIALIZED (
    SELECT a.pid, a.application_name, a.state, pg_blocking_pids(a.pid) AS blockers
    FROM pg_stat_activity AS a
    WHERE a.datname = current_database() AND a.application_name LIKE %(application)s || '/%%'
      AND a.application_name NOT LIKE '%%control connection'
), chain AS (
    SELECT b.pid, b.blockers FROM backend AS b
    WHERE b.application_name = %(application)s || '/' || %(session)s
    UNION
    SELECT b.pid, b.blockers FROM chain AS c JOIN backend AS b ON b.pid = ANY (c.blockers)
)
SELECT b.pid FROM backend AS b
WHERE b.application_name = %(application)s || '/' || %(session)s AND cardinality(b.blockers) > 0
  AND EXISTS (SELECT FROM chain AS c JOIN backend AS idle USING (pid) WHERE idle.state LIKE 'idle%%')
  AND NOT EXISTS (
      SELECT FROM backend AS other WHERE other.state = 'active' AND cardinality(other.blockers) = 0)
"""


def run_isolationtester(database_url: str, spec_text: str, transcript: Transcript) -> None:
    """Feeds `transcript`. Raises UnreadableTranscript when isolationtester fails."""
    program = isolationtester()
    if program is None:
        raise FileNotFoundError("isolationtester is not installed (Debian: postgresql-client-15)")
    environment, database = _connection_environment(database_url)
    with (
        psycopg.connect(database_url, autocommit=True, application_name="interleavings watch") as watch,
        subprocess.Popen(
            [program, f"dbname={database}"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        assert process.stdin is not None
        process.stdin.write(spec_text.encode())  # it reads the whole spec before it prints much
        process.stdin.close()
        try:
            _follow(process, transcript, watch)
        finally:
            process.kill()
        if process.wait() not in (0, -9) and not transcript.other_lines:
            raise UnreadableTranscript(f"isolationtester ended with status {process.returncode}")


def _connection_environment(url: str) -> tuple[dict[str, str], str]:
    parts = urlsplit(url)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment |= {
        "PGHOST": parts.hostname or "127.0.0.1",
        "PGPORT": str(parts.port or 5432),
        "PGUSER": unquote(parts.username or "postgres"),
        "PGPASSWORD": unquote(parts.password or ""),
        "PGAPPNAME": _APPLICATION,
        "PGOPTIONS": "-c deadlock_timeout=50ms -c client_min_messages=error -c jit=off",
        "PGISOLATIONTIMEOUT": str(int(_SILENT_SECONDS) * 2),
    }
    return environment, parts.path.lstrip("/")


def _follow(
    process: subprocess.Popen[bytes], transcript: Transcript, watch: psycopg.Connection[TupleRow]
) -> None:
    assert process.stdout is not None
    output = process.stdout.fileno()
    rest = b""
    silent = 0.0
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while True:
            if selector.select(_QUIET_SECONDS):
                time.sleep(_GATHER_SECONDS)  # it writes word by word
                chunk = os.read(output, 65536)
                if not chunk:
                    break
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    transcript.line(line.decode())
                silent = 0.0
                continue
            silent += _QUIET_SECONDS
            if silent > _SILENT_SECONDS:
                raise UnreadableTranscript("isolationtester is silent")
            session = transcript.stalled_session
            stalled = _stalled_backend(watch, session) if session is not None else None
            # If there is output now, what the server said may be about a later step than the transcript's.
            if stalled is not None and not selector.select(0):
                transcript.cancelled()
                watch.execute("SELECT pg_cancel_backend(%s)", (stalled,))


def _stalled_backend(watch: psycopg.Connection[TupleRow], session: str) -> int | None:
    row = watch.execute(_STALLED, {"application": _APPLICATION, "session": session}).fetchone()
    return None if row is None else int(row[0])
