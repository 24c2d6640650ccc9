"""Writes a spec as isolationtester's input: docs in src/test/isolation/README of PostgreSQL."""

from collections.abc import Iterator, Sequence

from tests.isolation.spec import (
    COMMIT,
    NOBODY_STEP,
    ROLLBACK,
    Permutation,
    Session,
    Spec,
    Step,
    takes_snapshot_first,
)
from tests.isolation.transcript import ANSWER

GATE = "gate"


def isolationtester_input(spec: Spec, permutations: Sequence[Permutation]) -> str:
    """The whole input. SQL may hold no braces: they delimit it."""
    lines = [
        f"# {spec.name}",
        f"# Saved before: {spec.scenario}",
        "setup { SELECT stage.restore(); }",
        "teardown { SELECT judge.verdict(); }",
    ]
    for session in spec.sessions:
        lines += _session(spec, session)
    stops = [
        (Step(session.name, place, stop), f"{session.name}_{place}")
        for session in spec.sessions
        for place, call in enumerate(session.calls)
        for stop in call.stops
    ]
    if stops:
        holds = ", ".join(f"stage.hold('{call}', '{step.part}')" for step, call in stops)
        lines += [f"session {GATE}", f"setup {{ SELECT {holds}; }}"]
        lines += [
            f"step {step.name} {{ SELECT '{ANSWER}' || stage.let_go('{call}', '{step.part}'); }}"
            for step, call in stops
        ]
        lines.append("teardown { SELECT pg_advisory_unlock_all(); }")
    if any(NOBODY_STEP in permutation.steps for permutation in permutations):
        lines += [f"session {NOBODY_STEP.session}", f"step {NOBODY_STEP.name} {{ SELECT 1; }}"]
    lines += [f"permutation {permutation}" for permutation in permutations]
    return "\n".join(lines) + "\n"


def _session(spec: Spec, session: Session) -> Iterator[str]:
    yield f"session {session.name}"
    yield f"setup {{ SET ROLE {session.role}; SET stage.own_batch = ''; }}"
    for place, call in enumerate(session.calls):
        name = f"{session.name}_{place}"
        begin = f"BEGIN ISOLATION LEVEL {spec.isolation};"
        stops = f" SET LOCAL stage.stops = '{name} {' '.join(call.stops)}';" if call.stops else ""
        if takes_snapshot_first(spec):
            yield f"step {name}_snapshot {{ {begin}{stops} SELECT 1; }}"
            begin = stops = ""
        yield f"step {name}_call {{ {begin}{stops} SELECT '{ANSWER}' || ({call.sql}); }}"
        yield f"step {name}_{COMMIT} {{ COMMIT; }}"
        yield f"step {name}_{ROLLBACK} {{ ROLLBACK; }}"
    yield "teardown { ROLLBACK; }"
