"""isolationtester prints an error's message and not its SQLSTATE; this reads the state back from the message.

Our own messages and their states stand in db/, in each `RAISE EXCEPTION 'message', … USING ERRCODE = 'PL…'`.
"""

import re
from collections.abc import Iterator
from functools import cache

from paylock.sql_files import read_tree

UNKNOWN = "unknown"
DEADLOCK, SERIALIZATION, DUPLICATE = "40P01", "40001", "23505"

_POSTGRESQL = (
    ("deadlock detected", DEADLOCK),
    ("could not serialize access", SERIALIZATION),
    ("could not obtain lock", "55P03"),
    ("duplicate key value violates unique constraint", DUPLICATE),
    ("violates check constraint", "23514"),
    ("canceling statement due to user request", "57014"),
)
_RAISE = re.compile(r"RAISE EXCEPTION\s+'((?:[^']|'')*)'(.*?);\s*\n", re.DOTALL)
_STATE = re.compile(r"ERRCODE = '(\w{5})'")


@cache
def _own_messages() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple(_raised())


def _raised() -> Iterator[tuple[re.Pattern[str], str]]:
    tree = read_tree()
    for file in (*tree.migrations, *tree.functions):
        for message, rest in _RAISE.findall(file.text):
            state = _STATE.search(rest)
            if state is not None:
                parts = [re.escape(part) for part in message.replace("''", "'").split("%")]
                yield re.compile(".*".join(parts), re.DOTALL), state[1]


def sqlstates(message: str) -> frozenset[str]:
    """The states that an error with this message can have; UNKNOWN if it is none that we know."""
    states = {state for beginning, state in _POSTGRESQL if beginning in message}
    states |= {state for pattern, state in _own_messages() if pattern.fullmatch(message)}
    return frozenset(states or {UNKNOWN})
