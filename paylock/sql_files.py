"""The SQL that an installed Paylock carries: `db/` of the checkout, or the copy inside the wheel."""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_MIGRATION_NAME = re.compile(r"(?P<version>\d{4})_[a-z0-9_]+\.sql")


class SqlTreeBroken(Exception):
    """The SQL files are missing or misnamed: the installation is damaged or a file was added wrongly."""


@dataclass(frozen=True)
class SqlFile:
    """One file below `db/`; `name` is its path from there, with forward slashes."""

    name: str
    text: str

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the text with line ends as LF, 64 lower-case hex digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Migration(SqlFile):
    """A numbered, forward-only file of `db/migrations/`."""

    version: int


@dataclass(frozen=True)
class SqlTree:
    """Everything that makes a Paylock database, in the order in which it is applied."""

    roles: SqlFile
    bookkeeping: SqlFile
    migrations: tuple[Migration, ...]
    functions: tuple[SqlFile, ...]
    grants: SqlFile


def sql_directory() -> Path:
    """The directory of the SQL files. Raises SqlTreeBroken where there is none."""
    package = Path(__file__).parent
    for candidate in (package / "_db", package.parent / "db"):
        if (candidate / "migrations").is_dir():
            return candidate
    raise SqlTreeBroken(f"no SQL files beside {package}: install the paylock package again")


def read_tree(directory: Path | None = None) -> SqlTree:
    """Reads `directory` (default: the shipped one). Raises SqlTreeBroken for a gap or a strange name."""
    root = directory or sql_directory()

    def text_of(path: Path) -> str:
        return path.read_text(encoding="utf-8").replace("\r\n", "\n")

    def sql_file(name: str) -> SqlFile:
        path = root / name
        return SqlFile(name, text_of(path) if path.is_file() else "")

    migrations = []
    for number, path in enumerate(sorted((root / "migrations").glob("*.sql")), start=1):
        match = _MIGRATION_NAME.fullmatch(path.name)
        if match is None or int(match["version"]) != number:
            raise SqlTreeBroken(f"migrations/{path.name}: expected a file named {number:04d}_words.sql")
        migrations.append(Migration(f"migrations/{path.name}", text_of(path), number))
    functions = tuple(
        sql_file(f"functions/{path.name}") for path in sorted((root / "functions").glob("*.sql"))
    )
    return SqlTree(
        sql_file("roles.sql"),
        sql_file("bookkeeping.sql"),
        tuple(migrations),
        functions,
        sql_file("grants.sql"),
    )
