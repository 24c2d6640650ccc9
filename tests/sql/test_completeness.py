"""Nothing in db/functions goes untested or unexplained."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FUNCTIONS = sorted((REPOSITORY / "db" / "functions").glob("*.sql"))
# Where functions are called: as SQL text here, through the pod's or the command line's Python elsewhere.
TESTS = [path for path in (REPOSITORY / "tests").rglob("*.py") if path != Path(__file__)]


@pytest.fixture(scope="module")
def tested() -> str:
    return "\n".join(path.read_text() for path in TESTS)


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
def test_the_function_is_named_in_a_test_or_by_a_function_that_is(path: Path, tested: str) -> None:
    names = {path.stem}
    while more := {other.stem for other in FUNCTIONS if _calls(other, names)} - names:
        names |= more
    assert any(re.search(rf"\b{name}\b", tested) for name in names)


def _calls(path: Path, names: set[str]) -> bool:
    return bool(re.search(rf"payroll\.({'|'.join(names)})\(", path.read_text()))


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.stem)
def test_every_error_that_the_function_raises_stands_in_its_header(path: Path) -> None:
    header, _, body = path.read_text().partition("\nCREATE")
    raised = set(re.findall(r"ERRCODE = '(PL\d{3})'", body))
    assert raised <= set(re.findall(r"PL\d{3}", header))
