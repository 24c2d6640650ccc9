"""Checks of one database: version, installed files, functions' text, grants, work that waits for a person."""

import re
from collections.abc import Iterable, Iterator

import psycopg

from paylock.doctor.findings import Finding, Level
from paylock.sql_files import SqlTree, read_tree

OLDEST_VERSION = 150000
_ROLES = ("payroll_pod", "payroll_operator", "payroll_approver", "payroll_auditor")
_BODY = re.compile(
    r"CREATE OR REPLACE FUNCTION payroll\.(?P<name>\w+).*?AS (?P<quote>\$\w*\$)(?P<body>.*?)(?P=quote)",
    re.DOTALL,
)
_GRANT = re.compile(r"GRANT (EXECUTE ON FUNCTION|SELECT ON)\s+(.*?)\s+TO\s+([^;]+);", re.DOTALL)

# What waits for a person: (name, query for one text a thing, what to do).
_WAITING = (
    (
        "overdue schedules",
        """
        SELECT organization || '/' || schedule
          FROM payroll.schedule_overview
         WHERE state = 'active' AND next_open_at < clock_timestamp() - interval '1 minute'
        """,
        "are pods running, and do they reach this database?",
    ),
    (
        "paused by the database",
        """
        SELECT format('%s/%s: %s', organization, schedule, reason)
          FROM payroll.schedule_overview
         WHERE state = 'paused' AND reason LIKE 'the server does not know the time zone%'
        """,
        "correct the schedule, then: paylock schedule resume",
    ),
    (
        "runs that wait",
        """
        SELECT format('%s/%s %s (run %s, %s) %s', organization, schedule, nominal_date, run_id, state, reason)
          FROM payroll.run_overview
         WHERE state IN ('held', 'awaiting_funds') OR held > 0
        """,
        "see: paylock run show",
    ),
    (
        "held or quarantined batches",
        """
        SELECT format('batch %s of run %s: %s', batch_id, run_id, coalesce(held_reason, reason))
          FROM payroll.batch_overview
         WHERE state = 'quarantined' OR (state IN ('claimed', 'signed') AND held_reason IS NOT NULL)
        """,
        "see docs/operations.md",
    ),
    (
        "quarantined channels",
        """
        SELECT format('%s channel %s: %s', organization, key_index, reason)
          FROM payroll.channel_overview
         WHERE state = 'quarantined'
        """,
        "find out who else holds the channel's key",
    ),
)


def check_database(connection: psycopg.Connection, tree: SqlTree | None = None) -> Iterator[Finding]:
    """All checks in order. Stops after the first ones where Paylock is not installed."""
    tree = tree or read_tree()
    yield _version(connection)
    if not _one(connection, "SELECT to_regnamespace('payroll') IS NOT NULL"):
        yield Finding(Level.FAIL, "installation", "Paylock is not installed here", "run: paylock migrate")
        return
    yield _durability(connection)
    yield _installed_files(connection, tree)
    yield _function_texts(connection, tree)
    yield _grants(connection, tree)
    yield _public_rights(connection)
    yield _search_paths(connection)
    if _one(connection, "SELECT has_table_privilege('payroll.run_overview', 'SELECT')"):
        yield from _waiting_work(connection)
    else:
        yield Finding(
            Level.WARN,
            "work",
            "this login may not read the views",
            "log in as a member of payroll_operator or payroll_auditor",
        )


def _one(connection: psycopg.Connection, query: str) -> object:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def _version(connection: psycopg.Connection) -> Finding:
    number, text = connection.info.server_version, _one(connection, "SHOW server_version")
    if number < OLDEST_VERSION:
        return Finding(Level.FAIL, "PostgreSQL", f"version {text}", "Paylock needs PostgreSQL 15 or newer")
    return Finding(Level.OK, "PostgreSQL", f"version {text}")


def _durability(connection: psycopg.Connection) -> Finding:
    """Commit-then-send rests on commits that survive a crash."""
    settings = {name: _one(connection, f"SHOW {name}") for name in ("fsync", "synchronous_commit")}
    detail = ", ".join(f"{name} {value}" for name, value in settings.items())
    lax = connection.execute(
        "SELECT coalesce(nullif(setrole, 0)::regrole::text, 'everybody') FROM pg_db_role_setting"
        " WHERE 'synchronous_commit=off' = ANY (setconfig) ORDER BY 1"
    ).fetchall()
    if lax:
        detail += f", but synchronous_commit is off for {', '.join(name for (name,) in lax)}"
    if settings["fsync"] != "on" or settings["synchronous_commit"] == "off" or lax:
        return Finding(
            Level.FAIL,
            "durability",
            detail,
            "turn fsync and synchronous_commit on: a commit that a crash can lose may be paid again",
        )
    return Finding(Level.OK, "durability", detail)


def _installed_files(connection: psycopg.Connection, tree: SqlTree) -> Finding:
    if not _one(connection, "SELECT has_table_privilege('payroll.schema_migration', 'SELECT')"):
        return Finding(
            Level.WARN,
            "migrations",
            "this login may not read payroll.schema_migration",
            "run the doctor as the installing role to compare the migrations",
        )
    rows = connection.execute("SELECT version, checksum FROM payroll.schema_migration").fetchall()
    applied: dict[int, str] = dict(rows)
    missing = [m.name for m in tree.migrations if m.version not in applied]
    changed = [m.name for m in tree.migrations if applied.get(m.version, m.checksum) != m.checksum]
    unknown = sorted(set(applied) - {m.version for m in tree.migrations})
    if changed or unknown:
        what = ", ".join([*changed, *(f"number {version}" for version in unknown)])
        return Finding(
            Level.FAIL,
            "migrations",
            f"other than the shipped ones: {what}",
            "use the version of Paylock that this database was installed with, or a newer one",
        )
    if missing:
        return Finding(Level.FAIL, "migrations", f"not applied: {', '.join(missing)}", "run: paylock migrate")
    return Finding(Level.OK, "migrations", f"all {len(tree.migrations)} are applied")


def shipped_bodies(tree: SqlTree) -> dict[str, str]:
    """The text between the dollar quotes of each shipped function, by name."""
    bodies = {}
    for file in tree.functions:
        match = _BODY.search(file.text)
        if match is not None:
            bodies[match["name"]] = match["body"]
    return bodies


def _function_texts(connection: psycopg.Connection, tree: SqlTree) -> Finding:
    """Compares what the server would run, not what was recorded: it may have been replaced by hand."""
    shipped = shipped_bodies(tree)
    rows = connection.execute(
        "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'payroll'::regnamespace"
    ).fetchall()
    installed: dict[str, list[str]] = {}
    for name, body in rows:
        installed.setdefault(name, []).append(body)
    missing = sorted(set(shipped) - set(installed))
    changed = sorted(name for name in shipped if name in installed and installed[name] != [shipped[name]])
    if missing or changed:
        return Finding(
            Level.FAIL,
            "functions",
            "; ".join(
                f"{what}: {', '.join(names)}"
                for what, names in (("missing", missing), ("not as shipped", changed))
                if names
            ),
            "run: paylock migrate; if it says that all is up to date, somebody replaced them by hand",
        )
    return Finding(Level.OK, "functions", f"all {len(shipped)} have the shipped text")


def _granted(tree: SqlTree) -> set[tuple[str, str]]:
    """(role, function or view name) pairs that db/grants.sql gives."""
    pairs = set()
    text = re.sub(r"--[^\n]*", "", tree.grants.text)
    for match in _GRANT.finditer(text):
        for role in re.split(r"\s*,\s*", match[3].strip()):
            pairs |= {(role, name) for name in re.findall(r"payroll\.(\w+)", match[2])}
    return pairs


def _grants(connection: psycopg.Connection, tree: SqlTree) -> Finding:
    rows = connection.execute(
        "SELECT role, f.proname FROM pg_proc AS f, unnest(%(roles)s::text[]) AS role"
        " WHERE f.pronamespace = 'payroll'::regnamespace AND has_function_privilege(role, f.oid, 'EXECUTE')"
        " UNION"
        " SELECT role, c.relname FROM pg_class AS c, unnest(%(roles)s::text[]) AS role"
        " WHERE c.relnamespace = 'payroll'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p')"
        " AND has_table_privilege(role, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')",
        {"roles": list(_ROLES)},
    ).fetchall()
    actual, wanted = set(rows), _granted(tree)
    if actual != wanted:
        return Finding(
            Level.FAIL,
            "grants",
            "; ".join(
                f"{what}: {_pairs(pairs)}"
                for what, pairs in (("missing", wanted - actual), ("too many", actual - wanted))
                if pairs
            ),
            "run: paylock migrate; take back by hand what was granted by hand",
        )
    return Finding(Level.OK, "grants", f"all {len(wanted)} are as shipped, and no others")


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{role} on {name}" for role, name in sorted(pairs))


def _public_rights(connection: psycopg.Connection) -> Finding:
    """PUBLIC, and logins that have rights of their own instead of a role."""
    rows = connection.execute(
        "SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, o.name FROM ("
        " SELECT proname AS name, coalesce(proacl, acldefault('f', proowner)) AS acl FROM pg_proc"
        "  WHERE pronamespace = 'payroll'::regnamespace"
        " UNION ALL SELECT relname, coalesce(relacl, acldefault('r', relowner)) FROM pg_class"
        "  WHERE relnamespace = 'payroll'::regnamespace AND relkind IN ('r', 'v', 'm', 'p')) AS o,"
        " aclexplode(o.acl) AS a WHERE a.grantee <> ALL (SELECT oid FROM pg_roles WHERE rolname = ANY (%s))"
        " ORDER BY 1, 2",
        (["payroll_owner", *_ROLES],),
    ).fetchall()
    if rows:
        return Finding(
            Level.FAIL, "other grants", _pairs(rows), "revoke them: people and pods get rights through roles"
        )
    return Finding(Level.OK, "other grants", "nobody outside Paylock's roles has a right")


def _search_paths(connection: psycopg.Connection) -> Finding:
    rows = connection.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'payroll'::regnamespace AND prosecdef"
        " AND NOT coalesce(proconfig, '{}') @> ARRAY['search_path=pg_catalog, payroll, pg_temp'] ORDER BY 1"
    ).fetchall()
    if rows:
        names = ", ".join(name for (name,) in rows)
        return Finding(
            Level.FAIL, "search_path", f"not pinned: {names}", "run: paylock migrate; drop strangers"
        )
    return Finding(Level.OK, "search_path", "pinned in every function that runs with the owner's rights")


def _waiting_work(connection: psycopg.Connection) -> Iterator[Finding]:
    """Things that wait for a person, one finding a kind."""
    for name, query, advice in _WAITING:
        found = [text for (text,) in connection.execute(query.encode()).fetchall()]
        if found:
            shown = "; ".join(found[:5]) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
            yield Finding(Level.WARN, name, shown, advice)
        else:
            yield Finding(Level.OK, name, "none")
