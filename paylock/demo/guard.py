"""The demo's guard: a small process that outlives the demo by a moment.

`Guard` is the demo's side, `main` the process. It reads from its standard input which processes to end
(`add 123`, `drop 123`). When the input ends without the word `release` before, the demo is gone, however that
happened: the guard ends those processes and the database server, and removes the demo's directory.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from paylock.postgres_embedded import stop_leftover

_POSTGRES_SECONDS = 10


class Guard:
    """`with Guard(directory, environment) as guard:` leaving the block releases it: what ended in order needs
    no guard."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "paylock.demo.guard", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell("release")
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def add(self, pid: int) -> None:
        """To be ended if the demo dies."""
        self._tell(f"add {pid}")

    def drop(self, pid: int) -> None:
        """Has ended."""
        self._tell(f"drop {pid}")

    def _tell(self, words: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{words}\n".encode())
            self._process.stdin.flush()


def left_alone(words: Iterable[str]) -> list[int] | None:
    """Follows the demo's words to their end; the processes to end, or None if the guard was released."""
    children: dict[int, None] = {}
    for line in words:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "release":
            return None
        if word == "add":
            children[int(rest)] = None
        elif word == "drop":
            children.pop(int(rest), None)
    return list(children)


def main(directory: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    children = left_alone(sys.stdin)
    if children is None:
        return
    for pid in children:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    place = _place_of(directory / "postgres")
    stop_leftover(directory / "postgres")
    # The server has a guard of its own, which may still be removing the same files; or initdb is at work, and
    # fails now that they are gone, and tidies up.
    deadline = time.monotonic() + _POSTGRES_SECONDS
    while (place.exists() or directory.exists()) and time.monotonic() < deadline:
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.05)


def _place_of(postgres: Path) -> Path:
    """Where the server's files are: in its directory, or where it had to go instead."""
    try:
        return Path(json.loads((postgres / "server.json").read_text())["place"])
    except (OSError, ValueError):
        return postgres


if __name__ == "__main__":
    main(Path(sys.argv[1]))
