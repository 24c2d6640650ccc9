"""JSON lines on stderr, one object per event, without secrets.

Nothing here filters secrets out: they never come in. Configuration values that hold secrets have no repr,
signers don't print their keys, and no log call is given a database URL.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object; `extra` fields become members of it."""

    def __init__(self, pod: str) -> None:
        super().__init__()
        self._pod = pod

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pod": self._pod,
            "message": record.getMessage(),
        }
        for key, value in record.__dict__.items():
            if key not in _STANDARD and key not in entry:
                entry[key] = value
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str, ensure_ascii=False)


def configure(level: str, pod: str) -> None:
    """Send all logs to stderr as JSON lines. `level` is debug, info, warning or error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(pod))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("psycopg.pool", "aiohttp.access"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))
