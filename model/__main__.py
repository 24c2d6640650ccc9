"""Explore every model and take every guard out: `python -m model [--quick] [--only WORD] [--list]`.

Exits with 1 when a verdict is not the expected one. The last line is `N passed, N failed`.
"""

import argparse
import shutil
import sys

from model.checks import CHECKS, Check, Verdict
from model.exploration import ModelDidNotRun, Outcome, explore
from model.story import table


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m model", description="Explore the payout protocol whole.")
    parser.add_argument("--quick", action="store_true", help="leave out what takes more than ten seconds")
    parser.add_argument("--only", default="", metavar="WORD", help="checks whose name contains WORD")
    parser.add_argument("--list", action="store_true", help="print the checks' names and stop")
    options = parser.parse_args(arguments)
    chosen = [one for one in CHECKS if options.only in one.name and not (options.quick and one.slow)]
    if options.list:
        print("\n".join(one.name for one in chosen))
        return 0
    missing = [program for program in ("spin", "gcc") if shutil.which(program) is None]
    if missing:
        print(f"{' and '.join(missing)} not found: apt-get install spin gcc", file=sys.stderr)
        return 1
    print(f"{'states':>10} {'depth':>6} {'seconds':>7} {'MB':>5}  verdict")
    failed = sum(not _passes(one) for one in chosen)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


def _passes(check: Check) -> bool:
    try:
        outcome = explore(check)
    except ModelDidNotRun as error:
        print(f"{'':31}  did not run: {check.name}\n{error}")
        return False
    expected = outcome.verdict is check.expected
    print(_line(check, outcome, expected), flush=True)
    if outcome.verdict is not Verdict.HOLDS:
        print("\n".join(table(outcome.steps)), flush=True)
    return expected


def _line(check: Check, outcome: Outcome, expected: bool) -> str:
    note = "expected" if expected else f"UNEXPECTED, should be: {check.expected.value}"
    figures = f"{outcome.states:>10,} {outcome.depth:>6,} {outcome.seconds:>7.1f} {outcome.megabytes:>5,.0f}"
    return f"{figures}  {outcome.verdict.value} ({note}): {check.name}"


sys.exit(main(sys.argv[1:]))
