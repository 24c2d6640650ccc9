"""Debian's extras that some tests need, and where to get them.

`@pytest.mark.needs("pg_cron")` leaves a test out where the extra is missing, and says so by name at the end.
With PAYLOCK_TEST_REQUIRE_EXTRAS=1 (CI) a missing extra is a failure.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_DEBIAN = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class Extra:
    """`find` gives the extra's place on this machine, or None."""

    name: str
    package: str
    find: Callable[[], Path | None]


def debian_binaries_with(library: str) -> Path | None:
    """The program directory of the newest Debian PostgreSQL that has `lib/<library>.so`."""
    found = [
        directory / "bin"
        for directory in _DEBIAN.glob("[0-9]*")
        if (directory / "lib" / f"{library}.so").is_file() and (directory / "bin" / "postgres").is_file()
    ]
    return max(found, key=lambda path: int(path.parent.name), default=None)


@cache
def isolationtester() -> Path | None:
    """PostgreSQL's own tester of interleavings, from the newest Debian client package."""
    found = list(_DEBIAN.glob("[0-9]*/lib/pgxs/src/test/isolation/isolationtester"))
    return max(found, key=lambda path: int(path.relative_to(_DEBIAN).parts[0]), default=None)


def _extension(name: str) -> Path | None:
    for directory in _DEBIAN.glob("[0-9]*"):
        version = directory.name
        if Path(f"/usr/share/postgresql/{version}/extension/{name}.control").is_file():
            return directory / "bin"
    return None


def _engine_with(image: str) -> Path | None:
    """The container engine's program, where the variable `image` names an image to run."""
    program = shutil.which("podman") or shutil.which("docker")
    return Path(program) if program and os.environ.get(image) else None


def _program(name: str) -> Callable[[], Path | None]:
    def find() -> Path | None:
        place = shutil.which(name)
        return Path(place) if place else None

    return find


def _spin_and_compiler() -> Path | None:
    return _program("spin")() if shutil.which("gcc") else None


EXTRAS = {
    extra.name: extra
    for extra in (
        Extra("pg_cron", "postgresql-15-cron", lambda: debian_binaries_with("pg_cron")),
        Extra("plpgsql_check", "postgresql-15-plpgsql-check", lambda: debian_binaries_with("plpgsql_check")),
        Extra("pgtap", "postgresql-15-pgtap", lambda: _extension("pgtap")),
        Extra("isolationtester", "postgresql-client-15", isolationtester),
        Extra("containers", "podman and PAYLOCK_TEST_IMAGE", lambda: _engine_with("PAYLOCK_TEST_IMAGE")),
        Extra(
            "pod image", "podman and PAYLOCK_TEST_POD_IMAGE", lambda: _engine_with("PAYLOCK_TEST_POD_IMAGE")
        ),
        Extra("kubectl", "kubectl", _program("kubectl")),
        Extra("spin", "spin, gcc and libc6-dev", _spin_and_compiler),
    )
}


def required() -> bool:
    return os.environ.get("PAYLOCK_TEST_REQUIRE_EXTRAS") == "1"
