"""Every interleaving of every spec; `make isolation` prints them spec by spec."""

from collections.abc import Iterator

import pytest

from tests.database_server import Server
from tests.isolation.databases import stage_template
from tests.isolation.running import run_specs
from tests.isolation.specs import SUBJECTS, specs_about

pytestmark = [
    pytest.mark.needs("isolationtester"),
    pytest.mark.xdist_group("isolation"),
    pytest.mark.timeout(1800),
]


@pytest.fixture(scope="module")
def stage(postgres_server: Server, database_template: str) -> Iterator[str]:
    with stage_template(postgres_server, database_template) as template:
        yield template


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_interleaving_breaks_a_promise(subject: str, postgres_server: Server, stage: str) -> None:
    interleavings = 0
    for report in run_specs(postgres_server, stage, specs_about(subject)):
        first = report.faults[0] if report.faults else None
        assert first is None, f"{report.spec.name}: {report.failed} fail, first {first}"
        interleavings += len(report.outcomes)
    print(f"{subject}: {interleavings} interleavings")
    assert interleavings > 0
