"""Runs specs: every interleaving of each, judged one by one."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.database_server import Database, Server
from tests.isolation.databases import stage_database
from tests.isolation.exploring import Trail, explore
from tests.isolation.outcome import Outcome
from tests.isolation.rendering import isolationtester_input
from tests.isolation.spec import Permutation, Spec, interleavings, serial_orders
from tests.isolation.tester import run_isolationtester
from tests.isolation.transcript import Transcript, UnreadableTranscript
from tests.isolation.verdict import BROKEN, Fault, SerialOutcomes, judge

WORKERS = 8  # most of the time isolationtester waits to see whether a call is blocked


@dataclass(frozen=True, slots=True)
class Report:
    """`outcomes` are all interleavings that can happen; `impossible` counts the orders that can't."""

    spec: Spec
    serial: tuple[Outcome, ...]
    outcomes: tuple[Outcome, ...]
    faults: tuple[Fault, ...]
    impossible: int

    @property
    def failed(self) -> int:
        return len({fault.permutation for fault in self.faults})

    @property
    def broken(self) -> int:
        return len({fault.permutation for fault in self.faults if fault.kind == BROKEN})

    @property
    def passed(self) -> int:
        return len(self.outcomes) - self.failed

    @property
    def waited(self) -> int:
        """Interleavings in which a call really waited for another session."""
        return sum(any(answer.waited for answer in outcome.answers.values()) for outcome in self.outcomes)


def run_spec(server: Server, template: str, spec: Spec, yardstick: Sequence[Outcome] | None = None) -> Report:
    """Runs every interleaving in a new database. `yardstick`: serial outcomes of an intact database."""
    outcomes: list[Outcome] = []
    with stage_database(server, template, spec.scenario) as database:

        def run(permutations: list[Permutation]) -> list[Trail]:
            transcript = _transcript(database, spec, permutations)
            outcomes.extend(transcript.outcomes)
            return transcript.trails

        serial = yardstick or _transcript(database, spec, serial_orders(spec)).outcomes
        impossible = explore(interleavings(spec), run)
    known = SerialOutcomes(serial)
    faults = [fault for outcome in outcomes for fault in judge(spec, outcome, known)]
    distinct = {outcome.started: outcome for outcome in outcomes if outcome.possible}
    return Report(spec, tuple(serial), tuple(distinct.values()), tuple(faults), impossible)


def serial_outcomes(server: Server, template: str, spec: Spec) -> list[Outcome]:
    """What the spec's calls do when they are made one after another."""
    with stage_database(server, template, spec.scenario) as database:
        return _transcript(database, spec, serial_orders(spec)).outcomes


def _transcript(database: Database, spec: Spec, permutations: list[Permutation]) -> Transcript:
    transcript = Transcript(permutations)
    run_isolationtester(database.url, isolationtester_input(spec, permutations), transcript)
    if len(transcript.outcomes) != len(permutations):
        said = "\n".join(transcript.other_lines[-20:])
        raise UnreadableTranscript(
            f"{spec.name}: {len(transcript.outcomes)} of {len(permutations)} permutations ran\n{said}"
        )
    return transcript


def run_specs(server: Server, template: str, specs: Iterable[Spec]) -> Iterator[Report]:
    """The reports in the specs' order, as they come."""
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(lambda spec: run_spec(server, template, spec), specs)
