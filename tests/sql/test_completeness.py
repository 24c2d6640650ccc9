"""Nothing in db/functions goes untested or unexplained."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FUNCTIONS = sorted((REPOSITORY / "db" / "functions").glob("*.sql"))


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.stem)
def test_the_file_holds_the_one_function_of_its_name(path: Path) -> None:
    created = re.findall(r"^CREATE (?:OR REPLACE )?\w+ payroll\.(\w+)", path.read_text(), re.MULTILINE)
    assert created == [path.stem]


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.stem)
def test_the_file_begins_with_what_a_dba_asks(path: Path) -> None:
    header = re.split(r"^CREATE", path.read_text(), maxsplit=1, flags=re.MULTILINE)[0]
    assert header.startswith(f"-- payroll.{path.stem}(")
    for word in ("Errors", "Tables", "Called by"):
        assert re.search(rf"\b{word}\b", header), word
    assert all(line.startswith("--") for line in header.splitlines() if line)


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.stem)
def test_every_error_that_the_function_raises_stands_in_its_header(path: Path) -> None:
    header, _, body = path.read_text().partition("\nCREATE")
    raised = set(re.findall(r"ERRCODE = '(PL\d{3})'", body))
    assert raised <= set(re.findall(r"PL\d{3}", header))
