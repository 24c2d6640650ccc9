"""All specs, by subject, in the order they are printed."""

from functools import cache
from types import MappingProxyType

from tests.isolation.spec import Spec
from tests.isolation.specs.cancelling import cancelling_specs
from tests.isolation.specs.claim_due import claim_due_specs
from tests.isolation.specs.claim_payments import claim_payments_specs
from tests.isolation.specs.envelopes import envelope_specs
from tests.isolation.specs.settling import settling_specs

SUBJECTS = MappingProxyType(
    {
        "opening runs": claim_due_specs,
        "claiming payments": claim_payments_specs,
        "signing and rescuing": envelope_specs,
        "settling": settling_specs,
        "cancelling": cancelling_specs,
    }
)


@cache
def specs_about(subject: str) -> tuple[Spec, ...]:
    return tuple(SUBJECTS[subject]())


@cache
def all_specs() -> tuple[Spec, ...]:
    specs = tuple(spec for subject in SUBJECTS for spec in specs_about(subject))
    names = [spec.name for spec in specs]
    assert len(set(names)) == len(names), "two specs have one name"
    return specs
