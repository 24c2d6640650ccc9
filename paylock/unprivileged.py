"""Runs programs under an account that is not root: PostgreSQL refuses to run as root."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

_ACCOUNTS = ("nobody", "postgres", "daemon")


class NoUnprivilegedAccount(Exception):
    """This machine has none of the usual accounts without rights."""


@dataclass(frozen=True, slots=True)
class Account:
    """Whom programs run as: an account without rights when we are root, else whoever we are (None)."""

    uid: int | None = None
    gid: int | None = None

    @classmethod
    def choose(cls) -> Self:
        """Raises NoUnprivilegedAccount where we are root and nobody else is there."""
        if os.geteuid() != 0:
            return cls()
        for name in _ACCOUNTS:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            if entry.pw_uid != 0:
                return cls(entry.pw_uid, entry.pw_gid)
        raise NoUnprivilegedAccount(f"root needs one of the accounts {', '.join(_ACCOUNTS)}")

    def own(self, path: Path) -> None:
        """Makes the account the owner of one file or directory."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def may_enter(self, directory: Path) -> bool:
        return self.run(["/bin/sh", "-c", 'cd "$1"', "sh", directory]).returncode == 0

    def may_execute(self, program: Path) -> bool:
        return self.run(["/bin/sh", "-c", 'test -x "$1"', "sh", program]).returncode == 0

    def run(self, command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        """Runs to the end, output captured."""
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd="/",
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
        )

    def start(self, command: list[str | Path], log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Starts in a session of its own, so that Ctrl-C in a terminal reaches only us."""
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
        )
