"""Copies the last results into docs/performance.md, between its markers: `python -m bench.page`."""

import re
import sys
from pathlib import Path

from bench.figures import Report, read

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
_PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(report: Report) -> str:
    """The report in Markdown."""
    lines = [
        f"`{report.command}`, PostgreSQL {report.postgres}:",
        "",
        "| figure | measured | target | |",
        "|---|---:|---|---|",
        *(f"| {f.name} | {f.shown} | {f.wanted} | {f.verdict} |" for f in report.figures),
    ]
    return "\n".join(lines) + "\n"


def filled(text: str) -> str:
    """The page's text with the figures of every benchmark that has results."""

    def fill(place: re.Match[str]) -> str:
        report = read(place[2])
        return place[0] if report is None else place[1] + table(report) + place[3]

    return _PLACE.sub(fill, text)


def main() -> int:
    PAGE.write_text(filled(PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
