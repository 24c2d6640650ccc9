"""Runs spin on one check: Promela → C → program → what it found."""

import re
import resource
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from model.checks import Check, Search, Verdict
from model.story import Step, story

HERE = Path(__file__).parent
MEMORY_MB = 4096
DEPTH = 2_000_000

_COMPILE = {
    Search.WHOLE: ("-DSAFETY", "-DNOREDUCE", "-DCOLLAPSE"),
    Search.SHORTEST: ("-DSAFETY", "-DNOREDUCE", "-DCOLLAPSE", "-DBFS"),
    Search.LIVENESS: ("-DNOREDUCE", "-DCOLLAPSE", "-DNFAIR=3"),
}
_RUN = {Search.WHOLE: (), Search.SHORTEST: (), Search.LIVENESS: ("-a", "-f")}


class ModelDidNotRun(Exception):
    """spin, the compiler or the checker failed, or the state space was not explored whole."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`states` stored, `depth` of the longest path looked at, `seconds`, `megabytes` of the checker alone."""

    verdict: Verdict
    states: int
    depth: int
    seconds: float
    megabytes: float
    steps: tuple[Step, ...]


def explore(check: Check) -> Outcome:
    """Explore a check's model. Raises ModelDidNotRun."""
    source = HERE / check.source
    switches = [f"-D{definition}" for definition in check.definitions]
    if check.search is Search.WHOLE:
        switches.append("-DSYMMETRY")
    with tempfile.TemporaryDirectory(prefix="paylock-model.") as directory:
        _run(["spin", *switches, "-a", str(source)], directory)
        _run(
            ["gcc", "-O2", "-w", f"-DMEMLIM={MEMORY_MB}", *_COMPILE[check.search], "-o", "pan", "pan.c"],
            directory,
        )
        started = time.monotonic()
        printed = _run(["./pan", f"-m{DEPTH}", *_RUN[check.search]], directory, nice=10)
        seconds = time.monotonic() - started
        if "Search not completed" in printed and "errors: 0" in printed:
            raise ModelDidNotRun(f"{check.name}: not explored whole\n{printed[:2000]}")
        verdict = _verdict(printed)
        steps: tuple[Step, ...] = ()
        if verdict is not Verdict.HOLDS:
            trail = next(Path(directory).glob("*.trail"))
            steps = story(
                _run(["spin", "-t", "-k", str(trail), "-DSTORY", *switches, str(source)], directory)
            )
    return Outcome(
        verdict,
        int(_number(r"(\d+) states, stored", printed)),
        int(_number(r"depth reached (\d+)", printed)),
        seconds,
        _number(r"([\d.]+)\s+total actual memory usage", printed),
        steps,
    )


def _verdict(printed: str) -> Verdict:
    broken = re.search(r"assertion violated (.*)", printed)
    if broken is None:
        if "errors: 0" in printed:
            return Verdict.HOLDS
        if "acceptance cycle" in printed:
            return Verdict.NEVER_ENDS
        raise ModelDidNotRun(printed[:2000])
    if "opened" in broken[1]:
        return Verdict.OPENED_TWICE
    return Verdict.PAID_TWICE if re.search(r"lines&credited\)==0", broken[1]) else Verdict.EVIDENCE


def _number(pattern: str, printed: str) -> float:
    found = re.findall(pattern, printed)
    if not found:
        raise ModelDidNotRun(f"the checker printed no {pattern}:\n{printed[:2000]}")
    return float(found[-1])


def _limits() -> None:
    limit = (MEMORY_MB + 1024) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _run(command: list[str], directory: str, nice: int = 0) -> str:
    done = subprocess.run(
        ["nice", f"-n{nice}", *command] if nice else command,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_limits,
    )
    replays = "-t" in command  # ends with the failed assertion's status
    if done.returncode != 0 and not replays:
        raise ModelDidNotRun(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
