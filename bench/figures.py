"""What a benchmark hands back: figures with targets, printed as a table and written as JSON."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. `target` is None for a figure that only informs."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = True  # False: at least

    @property
    def verdict(self) -> str:
        """'ok', 'missed', or '' without a target."""
        if self.target is None:
            return ""
        met = self.value <= self.target if self.at_most else self.value >= self.target
        return "ok" if met else "missed"

    @property
    def shown(self) -> str:
        """The value with its unit, to three digits or so."""
        value = f"{self.value:,.3g}" if self.value < 1000 else f"{self.value:,.0f}"
        return f"{value} {self.unit}".rstrip()

    @property
    def wanted(self) -> str:
        if self.target is None:
            return ""
        return f"{'≤' if self.at_most else '≥'} {self.target:g} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one benchmark, with what they were measured on."""

    benchmark: str
    command: str
    postgres: str
    figures: tuple[Figure, ...]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` (0 to 1) of the values don't exceed. Raises ValueError for none."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    rank = -int(-share * len(ordered) // 1)  # rounded up
    return ordered[max(rank, 1) - 1]


def show(report: Report) -> None:
    """Prints the report and writes it to results/<benchmark>.json."""
    title = f"{report.benchmark}  (PostgreSQL {report.postgres}, {os.cpu_count()} cores)"
    table = Table(title=title, title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("target")
    table.add_column("")
    for figure in report.figures:
        table.add_row(figure.name, figure.shown, figure.wanted, figure.verdict)
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    document = asdict(report) | {"cores": os.cpu_count(), "python": platform.python_version()}
    (RESULTS / f"{report.benchmark}.json").write_text(json.dumps(document, indent=2) + "\n")


def read(benchmark: str) -> Report | None:
    """The report that `show` wrote last; None if there is none."""
    path = RESULTS / f"{benchmark}.json"
    if not path.is_file():
        return None
    document = json.loads(path.read_text())
    figures = tuple(Figure(**figure) for figure in document["figures"])
    return Report(document["benchmark"], document["command"], document["postgres"], figures)
