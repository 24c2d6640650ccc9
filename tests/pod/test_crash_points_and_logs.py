"""Crash points kill where they say; logs are JSON lines without secrets."""

import json
import logging
import signal
import subprocess
import sys

import pytest

from notifier import crash_points
from notifier.logs import JsonLines


def test_an_armed_boundary_kills_the_process_the_nth_time() -> None:
    program = (
        "from notifier import crash_points as c; c.arm('after_sign', 2);"
        "c.reach('after_claim'); c.reach('after_sign'); print('alive', flush=True);"
        "c.reach('after_sign'); print('not reached', flush=True)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == -signal.SIGKILL
    assert result.stdout == "alive\n"


def test_nothing_is_armed_by_default_and_unknown_names_are_refused() -> None:
    assert crash_points.armed() is None
    for boundary in crash_points.BOUNDARIES:
        crash_points.reach(boundary)
    with pytest.raises(ValueError, match="unknown crash point"):
        crash_points.arm("somewhere")


def test_a_log_record_is_one_json_object_with_its_extras() -> None:
    record = logging.makeLogRecord(
        {"name": "notifier.x", "levelname": "INFO", "msg": "paid %s", "args": ("Zoë",)}
    )
    record.batch = 5
    entry = json.loads(JsonLines("host:1").format(record))
    assert entry["message"] == "paid Zoë"
    assert (entry["level"], entry["pod"], entry["batch"]) == ("info", "host:1", 5)
    assert entry["time"].endswith("+00:00")


def test_an_exception_stays_on_one_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.makeLogRecord({"msg": "x", "exc_info": sys.exc_info()})
    text = JsonLines("p").format(record)
    assert "\n" not in text
    assert "two\nlines" in json.loads(text)["exception"]
