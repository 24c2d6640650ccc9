"""Specs that could not fail would prove nothing: here guards are missing, and they do."""

from collections.abc import Iterator

import pytest

from tests.database_server import Server
from tests.isolation.databases import stage_template
from tests.isolation.trials import TRIALS, run_trials

pytestmark = [
    pytest.mark.needs("isolationtester"),
    pytest.mark.xdist_group("isolation guards"),
    pytest.mark.timeout(1800),
]


@pytest.fixture(scope="module")
def intact(postgres_server: Server, database_template: str) -> Iterator[str]:
    with stage_template(postgres_server, database_template) as template:
        yield template


def test_missing_guards_are_found_unless_another_holds(
    postgres_server: Server, database_template: str, intact: str
) -> None:
    findings = list(run_trials(postgres_server, database_template, intact, TRIALS))
    wrong = [f"{f.trial}: {f.broken} broken ({f.example})" for f in findings if not f.as_expected]
    assert not wrong
    assert len(findings) == len(TRIALS)
