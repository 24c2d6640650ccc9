"""The demo's child processes: started, watched, ended, and ended by a guard if the demo itself dies."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

import paylock
from paylock.demo.guard import Guard
from paylock.demo.place import Child, Place

_LOG_LINES = 15
_STOP_SECONDS = 30


class ChildEnded(Exception):
    """A process that the demo needs has ended by itself; the message holds the end of its log."""


class Process:
    """One child, its log below the demo's directory."""

    def __init__(self, name: str, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self.popen = popen

    @property
    def pid(self) -> int:
        return self.popen.pid

    def check(self) -> None:
        """Raises ChildEnded if it does not run any more."""
        status = self.popen.poll()
        if status is not None:
            ending = "\n".join(self.log.read_text(errors="replace").splitlines()[-_LOG_LINES:])
            raise ChildEnded(f"{self.name} ended with status {status}; the end of {self.log}:\n{ending}")


class Processes:
    """All children of one demo. Leaving the block ends them; `release` lets them live on."""

    def __init__(self, place: Place, guard: Guard) -> None:
        self._place = place
        self._guard = guard
        self._children: list[Process] = []
        self._released = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._released:
            if kind is not None:  # nobody waits for a drain then
                for process in self._children:
                    process.popen.kill()
            self.stop(self._children)

    def start(self, name: str, module: str, *arguments: str, variables: Mapping[str, str]) -> Process:
        """Starts `python -m module`; its output goes to logs/NAME.log. Of PAYLOCK_ variables it sees only
        the given ones."""
        log = self._place.logs / f"{name}.log"
        with log.open("ab") as file:
            popen = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,  # Ctrl-C in the terminal is for us; we end the children
                cwd=self._place.directory,
                env=environment(variables),
            )
        self._guard.add(popen.pid)
        process = Process(name, popen, log)
        self._children.append(process)
        self._record()
        return process

    def kill(self, process: Process) -> None:
        """SIGKILL; returns when it is gone."""
        process.popen.kill()
        process.popen.wait()
        self._forget(process)

    def check(self) -> None:
        """Raises ChildEnded if one of them ended by itself."""
        for process in self._children:
            process.check()

    def stop(self, processes: Iterable[Process]) -> None:
        """Asks them to end and waits; ends by force those that don't."""
        chosen = [process for process in processes if process in self._children]
        for process in chosen:
            process.popen.send_signal(signal.SIGTERM)
        for process in chosen:
            try:
                process.popen.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()
            self._forget(process)

    def release(self) -> None:
        """Lets them live on after the demo."""
        self._released = True

    def _forget(self, process: Process) -> None:
        if process in self._children:
            self._children.remove(process)
            self._guard.drop(process.pid)
            self._record()

    def _record(self) -> None:
        living = []
        for process in self._children:
            with contextlib.suppress(psutil.NoSuchProcess):
                living.append(Child.of(process.pid))
        self._place.record(living)


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Our environment for a child: without settings meant for other databases and pods, and without a proxy
    for this machine's own addresses."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PAYLOCK_", "PG"))}
    source = str(Path(paylock.__file__).parent.parent)
    path = os.pathsep.join(part for part in (source, os.environ.get("PYTHONPATH", "")) if part)
    local = "127.0.0.1,localhost,::1"
    return {**kept, "PYTHONPATH": path, "NO_PROXY": local, "no_proxy": local, **variables}
