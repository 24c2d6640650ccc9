"""All specs, in the order they are printed."""

from functools import cache

from tests.isolation.spec import Spec
from tests.isolation.specs.claim_due import claim_due_specs
from tests.isolation.specs.payments import payments_specs


@cache
def all_specs() -> tuple[Spec, ...]:
    specs = (*claim_due_specs(), *payments_specs())
    names = [spec.name for spec in specs]
    assert len(set(names)) == len(names), "two specs have one name"
    return specs
