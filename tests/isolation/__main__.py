"""Runs the specs, or shows them: `python -m tests.isolation --help`."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.database_server import chosen_server, migrated_template
from tests.isolation.databases import stage_template
from tests.isolation.rendering import isolationtester_input
from tests.isolation.running import Report, run_specs
from tests.isolation.spec import Spec, interleavings
from tests.isolation.specs import all_specs


def _chosen(words: Sequence[str]) -> list[Spec]:
    return [spec for spec in all_specs() if not words or any(word in spec.name for word in words)]


def _print_report(report: Report, faults_shown: int) -> None:
    verdict = "ok" if not report.faults else f"{report.failed} FAILED"
    print(
        f"{report.spec.name:64} {len(report.outcomes):5} interleavings, {report.waited:4} with waiting,"
        f" {report.impossible:4} impossible orders  {verdict}",
        flush=True,
    )
    for fault in report.faults[:faults_shown]:
        print(f"    {fault.permutation}\n      {fault.what}")


def _run(specs: list[Spec], faults_shown: int) -> int:
    passed = failed = waited = 0
    with (
        tempfile.TemporaryDirectory(prefix="paylock-isolation-") as directory,
        chosen_server(Path(directory)) as server,
        migrated_template(server) as migrated,
        stage_template(server, migrated) as template,
    ):
        for report in run_specs(server, template, specs):
            _print_report(report, faults_shown)
            passed += report.passed
            failed += report.failed
            waited += report.waited
    print(f"{passed + failed} interleavings of {len(specs)} specs, {waited} of them with waiting")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.isolation", description=__doc__)
    parser.add_argument("words", nargs="*", help="run the specs whose names hold one of these words")
    parser.add_argument("--list", action="store_true", help="name the specs and count their orders")
    parser.add_argument("--show", action="store_true", help="print isolationtester's input")
    parser.add_argument("--faults", type=int, default=3, help="how many faults of a spec to print")
    options = parser.parse_args(arguments)
    specs = _chosen(options.words)
    if options.list:
        for spec in specs:
            print(f"{spec.name:64} {len(interleavings(spec)):6} orders")
        return 0
    if options.show:
        for spec in specs:
            print(isolationtester_input(spec, interleavings(spec)))
        return 0
    return _run(specs, options.faults)


if __name__ == "__main__":
    sys.exit(main())
