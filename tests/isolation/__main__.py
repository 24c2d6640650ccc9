"""Runs the specs, or shows them: `python -m tests.isolation --help`."""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.database_server import Server, chosen_server, migrated_template
from tests.extras import isolationtester
from tests.isolation.databases import stage_template
from tests.isolation.guards import GUARDS
from tests.isolation.rendering import isolationtester_input
from tests.isolation.running import Report, run_specs
from tests.isolation.spec import Spec, interleavings
from tests.isolation.specs import all_specs
from tests.isolation.trials import run_trials


@contextmanager
def _server() -> Iterator[tuple[Server, str]]:
    """A server and the name of a template with Paylock installed."""
    with (
        tempfile.TemporaryDirectory(prefix="paylock-isolation-") as directory,
        chosen_server(Path(directory)) as server,
        migrated_template(server) as migrated,
    ):
        yield server, migrated


def _print_report(report: Report, faults_shown: int) -> None:
    verdict = "ok" if not report.faults else f"{report.failed} FAILED"
    print(
        f"{report.spec.name:64} {len(report.outcomes):5} interleavings, {report.waited:4} with waiting,"
        f" {report.impossible:4} impossible orders  {verdict}",
        flush=True,
    )
    for fault in report.faults[:faults_shown]:
        print(f"    {fault.permutation}\n      {fault.kind}: {fault.what}")


def run(specs: Sequence[Spec], without: Iterable[str], faults_shown: int) -> int:
    """Every interleaving of the specs, on a database without the guards named."""
    passed = failed = waited = 0
    changes = [GUARDS[name] for name in without]
    with _server() as (server, migrated), stage_template(server, migrated, changes) as stage:
        for report in run_specs(server, stage, specs):
            _print_report(report, faults_shown)
            passed += report.passed
            failed += report.failed
            waited += report.waited
    print(f"{passed + failed} interleavings of {len(specs)} specs, {waited} of them with waiting")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def show_guards() -> int:
    """The table of guards that were taken out, and what the specs found."""
    unexpected = trials = 0
    print(f"{'taken out':96} {'interleavings':>13} {'broken':>6} {'refused':>7}  verdict")
    with _server() as (server, migrated), stage_template(server, migrated) as intact:
        for finding in run_trials(server, migrated, intact):
            trials += 1
            unexpected += not finding.as_expected
            verdict = "caught" if finding.broken else "another guard holds"
            print(
                f"{finding.trial!s:96} {finding.interleavings:13} {finding.broken:6} {finding.refused:7}"
                f"  {verdict}{'' if finding.as_expected else ', UNEXPECTED'}",
                f"{', '.join(finding.trial.specs)}",
                finding.example[:220],
                sep="\n    ",
                flush=True,
            )
    print(f"{trials - unexpected} passed, {unexpected} failed")
    return 1 if unexpected or not trials else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.isolation", description=__doc__)
    parser.add_argument(
        "words", nargs="*", help="the specs whose names hold one of these words; default: all"
    )
    parser.add_argument("--list", action="store_true", help="name the specs and count their orders")
    parser.add_argument("--show", action="store_true", help="print isolationtester's input")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=GUARDS,
        metavar="GUARD",
        help=f"take this guard out first, several times for several: {', '.join(GUARDS)}",
    )
    parser.add_argument("--guards", action="store_true", help="take guards out, alone and together: a table")
    parser.add_argument("--faults", type=int, default=3, help="how many faults of a spec to print")
    options = parser.parse_args(arguments)
    words: list[str] = options.words
    specs = [spec for spec in all_specs() if not words or any(word in spec.name for word in words)]
    if options.list:
        for spec in specs:
            print(f"{spec.name:64} {len(interleavings(spec)):6} orders")
        return 0
    if options.show:
        for spec in specs:
            print(isolationtester_input(spec, interleavings(spec)))
        return 0
    if isolationtester() is None:
        print("left out for lack of isolationtester (Debian: postgresql-client-15)", file=sys.stderr)
        return 1
    return show_guards() if options.guards else run(specs, options.without, options.faults)


if __name__ == "__main__":
    sys.exit(main())
