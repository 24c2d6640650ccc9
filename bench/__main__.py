"""Runs every benchmark: `python -m bench`, or some of them: `python -m bench open_runs claim_cost`."""

import argparse
import sys
from collections.abc import Callable, Sequence

from bench import claim_cost, due_to_submitted, large_run, open_runs

BENCHMARKS: dict[str, Callable[[Sequence[str]], None]] = {
    "open_runs": open_runs.main,
    "claim_cost": claim_cost.main,
    "due_to_submitted": due_to_submitted.main,
    "large_run": large_run.main,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Runs benchmarks, all by default.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    names: list[str] = parser.parse_args().names
    unknown = set(names) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    for name, run in BENCHMARKS.items():
        if name in names or not names:
            run([])
    return 0


if __name__ == "__main__":
    sys.exit(main())
