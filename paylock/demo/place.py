"""The one directory that a demo lives in, and who may use it.

Everything that a demo writes is below it. One demo at a time uses it (a file lock that dies with its holder),
and a directory that is not a demo's is never touched.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

from paylock.postgres_embedded import stop_leftover

_MARKER = "this-is-a-paylock-demo"
_CHILDREN = "children.json"


class NotADemo(Exception):
    """The directory holds something else: it is not ours to use or to remove."""


class DemoIsRunning(Exception):
    """Another demo uses the directory at this moment."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process of a demo. `started` tells it from a stranger who got its number (seconds since 1970)."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Self:
        """Raises psutil.NoSuchProcess."""
        return cls(pid, psutil.Process(pid).create_time())

    def alive(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            return abs(process.create_time() - self.started) < 1 and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    def kill(self) -> None:
        """SIGKILL, and waits until it is gone."""
        if self.alive():
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(self.pid)
                process.kill()
                process.wait(10)


class Place:
    """`with Place(Path(".demo")).taken() as place:` the directory is ours until the block ends."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self.shown = directory  # as people named it
        self.had_leftover = False
        self.kept = False

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    @property
    def postgres(self) -> Path:
        return self.directory / "postgres"

    @property
    def exists(self) -> bool:
        return (self.directory / _MARKER).is_file()

    @contextlib.contextmanager
    def taken(self) -> Iterator[Self]:
        """Holds the directory, cleaned of what an earlier demo left (`had_leftover`); removes it at the end
        unless `kept` was set. Raises NotADemo or DemoIsRunning."""
        if not self.exists and self.directory.exists() and any(self.directory.iterdir()):
            raise NotADemo(f"{self.directory} exists and holds something else than a demo: move it away")
        self.directory.mkdir(parents=True, exist_ok=True)
        with _locked(self.directory):
            self.had_leftover = self._stop_leftover()
            (self.directory / _MARKER).touch()
            self.logs.mkdir()
            try:
                yield self
            finally:
                if not self.kept:
                    shutil.rmtree(self.directory, ignore_errors=True)

    def _stop_leftover(self) -> bool:
        if not self.exists:
            return False
        for child in self._recorded():
            child.kill()
        stop_leftover(self.postgres)
        for entry in self.directory.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
        return True

    def keep_secret(self, name: str, *lines: str) -> str:
        """Writes keys into a file that only we may read; its path."""
        path = self.directory / "keys" / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    def record(self, children: list[Child]) -> None:
        """Writes down who must be ended if nobody of this demo is left to do it."""
        new = self.directory / f"{_CHILDREN}.new"
        new.write_text(json.dumps([[child.pid, child.started] for child in children]))
        new.replace(self.directory / _CHILDREN)

    def _recorded(self) -> list[Child]:
        try:
            rows = json.loads((self.directory / _CHILDREN).read_text())
            return [Child(int(pid), float(started)) for pid, started in rows]
        except (OSError, ValueError):
            return []


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoIsRunning(f"another demo is running in {directory}") from None
        yield
    finally:
        os.close(descriptor)
