"""Who may do what, read from the catalog and tried out by real logins."""

import re
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.database_server import Database
from tests.sql.payroll_rows import Connection, one, refused, rows

GRANTS = Path(__file__).parents[2] / "db" / "grants.sql"

GROUP_ROLES = ("payroll_pod", "payroll_operator", "payroll_approver", "payroll_auditor")

POD_FUNCTIONS = {
    "start_pod", "heartbeat", "retire_pod", "claim_due_schedules", "claim_payments", "refuse_payments",
    "record_envelope", "settle_batch", "quarantine_batch", "hold_batch", "release_batch",
    "claim_abandoned_batches",
    "next_due_at", "work_summary",
}  # fmt: skip

FUNCTIONS = """
    SELECT p.oid, p.proname AS name, p.oid::regprocedure::text AS signature, p.prosecdef AS definer,
           p.proconfig AS settings, pg_get_userbyid(p.proowner) AS owner, p.prosrc AS body,
           p.proisstrict AS strict
    FROM pg_proc AS p WHERE p.pronamespace = 'payroll'::regnamespace
"""
RELATIONS = """
    SELECT c.oid, c.relname AS name, c.relkind AS kind, pg_get_userbyid(c.relowner) AS owner
    FROM pg_class AS c WHERE c.relnamespace = 'payroll'::regnamespace AND c.relkind IN ('r', 'p', 'v',
        'm', 'S', 'f')
"""


def executable_by(connection: Connection, role: str) -> set[str]:
    """Names of the functions that the role may execute, counting what it inherits and what PUBLIC may."""
    return {
        row["name"]
        for row in rows(connection, FUNCTIONS)
        if one(connection, "SELECT has_function_privilege(%s, %s::oid, 'EXECUTE')", role, row["oid"])
    }


def readable_by(connection: Connection, role: str) -> set[str]:
    """Names of relations on which the role has any right at all."""
    found = connection.execute(
        """
        SELECT c.relname FROM pg_class AS c
        WHERE c.relnamespace = 'payroll'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
          AND CASE c.relkind
              WHEN 'S' THEN has_sequence_privilege(%(role)s, c.oid, 'USAGE, SELECT, UPDATE')
              ELSE has_table_privilege(
                       %(role)s, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                   OR has_any_column_privilege(%(role)s, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
          END
        """,
        {"role": role},
    ).fetchall()
    return {row[0] for row in found}


def test_a_pod_may_execute_the_pod_functions_and_nothing_else(
    connection: Connection, sql_database: Database
) -> None:
    login = sql_database.server.login("payroll_pod")
    assert executable_by(connection, login) == POD_FUNCTIONS


def test_a_pod_has_no_right_on_any_table_view_or_sequence(
    connection: Connection, sql_database: Database
) -> None:
    assert readable_by(connection, sql_database.server.login("payroll_pod")) == set()


@pytest.mark.parametrize("role", ["payroll_operator", "payroll_approver", "payroll_auditor"])
def test_people_read_views_and_no_table(connection: Connection, sql_database: Database, role: str) -> None:
    kinds = {row["name"]: row["kind"] for row in rows(connection, RELATIONS)}
    readable = readable_by(connection, sql_database.server.login(role))
    assert {name for name in readable if kinds[name] != "v"} == set()
    for name in readable:
        assert not one(
            connection,
            "SELECT has_table_privilege(%s, ('payroll.' || quote_ident(%s))::regclass,"
            " 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')",
            role,
            name,
        )


@pytest.mark.parametrize("role", ["payroll_operator", "payroll_approver", "payroll_auditor"])
def test_people_may_not_act_as_pods(connection: Connection, sql_database: Database, role: str) -> None:
    assert executable_by(connection, sql_database.server.login(role)) & POD_FUNCTIONS == set()


def test_an_auditor_executes_nothing_that_changes_anything(connection: Connection) -> None:
    names = executable_by(connection, "payroll_auditor")
    volatile = rows(
        connection,
        "SELECT proname AS name FROM pg_proc WHERE pronamespace = 'payroll'::regnamespace"
        " AND provolatile = 'v' AND prosecdef AND proname = ANY (%s)",
        list(names),
    )
    assert volatile == []


def test_public_may_do_nothing_in_the_schema(connection: Connection) -> None:
    found = rows(
        connection,
        """
        SELECT 'schema' AS what, 'payroll' AS name FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
        WHERE n.nspname = 'payroll' AND a.grantee = 0
        UNION ALL
        SELECT 'relation', c.oid::regclass::text FROM pg_class AS c, aclexplode(c.relacl) AS a
        WHERE c.relnamespace = 'payroll'::regnamespace AND a.grantee = 0
        UNION ALL
        SELECT 'function', p.oid::regprocedure::text
        FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
        WHERE p.pronamespace = 'payroll'::regnamespace AND a.grantee = 0
        UNION ALL
        SELECT 'type', t.typname
        FROM pg_type AS t, aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) AS a
        WHERE t.typnamespace = 'payroll'::regnamespace AND a.grantee = 0 AND t.typtype IN ('d', 'e')
        """,
    )
    assert found == []


def test_the_group_roles_can_not_log_in_and_have_no_power_of_their_own(connection: Connection) -> None:
    found = rows(
        connection,
        "SELECT rolname FROM pg_roles WHERE rolname IN ('payroll_owner', 'payroll_pod', 'payroll_operator',"
        " 'payroll_approver', 'payroll_auditor')"
        " AND NOT rolcanlogin AND NOT rolsuper AND NOT rolcreaterole AND NOT rolcreatedb AND NOT rolbypassrls"
        " AND NOT rolreplication",
    )
    assert len(found) == 5


def test_no_group_role_is_a_member_of_another_or_of_the_owner(connection: Connection) -> None:
    for role in GROUP_ROLES:
        for other in (*GROUP_ROLES, "payroll_owner"):
            if role != other:
                assert not one(connection, "SELECT pg_has_role(%s, %s, 'MEMBER')", role, other), (role, other)


def test_the_owner_owns_everything_in_the_schema(connection: Connection) -> None:
    others = {
        (row["name"], row["owner"])
        for query in (FUNCTIONS, RELATIONS)
        for row in rows(connection, query)
        if row["owner"] != "payroll_owner"
    }
    assert others == set()


def test_every_function_that_runs_as_the_owner_has_a_pinned_path_with_the_temporary_schema_last(
    connection: Connection,
) -> None:
    definers = [row for row in rows(connection, FUNCTIONS) if row["definer"]]
    assert len(definers) >= len(POD_FUNCTIONS)
    for row in definers:
        path = [setting for setting in row["settings"] or [] if setting.startswith("search_path=")]
        assert path == ["search_path=pg_catalog, payroll, pg_temp"], row["signature"]


def test_whatever_people_or_pods_may_execute_runs_as_the_owner_or_touches_no_table(
    connection: Connection,
) -> None:
    """One that runs with the caller's rights could not reach a table anyway: such a grant is a mistake."""
    granted = {name for role in GROUP_ROLES for name in executable_by(connection, role)}
    for row in rows(connection, FUNCTIONS):
        if row["name"] in granted and not row["definer"]:
            assert not re.search(
                r"\bpayroll\.(pay_|payment|payee|channel|funding|organization|schedule_)", row["body"]
            ), row["signature"]


def test_no_function_has_a_namesake(connection: Connection) -> None:
    names = [row["name"] for row in rows(connection, FUNCTIONS)]
    assert sorted(names) == sorted(set(names))


def test_the_grants_file_says_what_the_catalog_says(connection: Connection) -> None:
    text = re.sub(r"--.*", "", GRANTS.read_text())
    written: dict[str, set[str]] = {role: set() for role in GROUP_ROLES}
    grants = re.findall(r"GRANT\s+EXECUTE\s+ON\s+FUNCTION\s+(.*?)\s+TO\s+([^;]+);", text, re.DOTALL)
    for names, grantees in grants:
        for role in re.findall(r"payroll_\w+", grantees):
            written[role] |= set(re.findall(r"payroll\.(\w+)\s*\(", names))
    assert written == {role: executable_by(connection, role) for role in GROUP_ROLES}


def test_a_pods_login_is_stopped_at_every_table_and_every_other_function(sql_database: Database) -> None:
    with sql_database.connect() as superuser:
        relations = [(row["name"], row["kind"]) for row in rows(superuser, RELATIONS) if row["kind"] != "S"]
        # The planner answers a strict function of NULL without calling it, or asking whether one may.
        others = [
            row["signature"]
            for row in rows(superuser, FUNCTIONS)
            if row["name"] not in POD_FUNCTIONS and not row["strict"]
        ]
    with sql_database.connect("payroll_pod", autocommit=False) as pod:
        for name, kind in relations:
            statements = ["SELECT FROM payroll.{}"]
            if kind != "v":
                statements += ["DELETE FROM payroll.{}", "TRUNCATE payroll.{}"]
            for statement in statements:
                with refused(pod, "42501"):
                    pod.execute(statement.format(name))
        for signature in others:
            name, _, arguments = signature.partition("(")
            nulls = ", ".join(f"NULL::{kind}" for kind in arguments.rstrip(")").split(",") if kind)
            with refused(pod, "42501"):
                pod.execute(f"SELECT {name}({nulls})")
        with refused(pod, "42501"):
            pod.execute("CREATE TABLE payroll.mine ()")
        with refused(pod, "42501"):
            pod.execute("SET ROLE payroll_owner")
        pod.rollback()


def test_tables_of_the_same_name_in_a_callers_temporary_schema_are_not_seen(sql_database: Database) -> None:
    with sql_database.connect("payroll_pod", autocommit=False) as pod:
        pod.execute(
            "CREATE TEMPORARY TABLE pod (pod text, lease interval, heartbeat_at timestamptz,"
            " retired_at timestamptz)"
        )
        pod.execute("INSERT INTO pod VALUES ('false', '1 hour', now(), NULL)")
        pod.execute(
            "CREATE FUNCTION pg_temp.read_clock() RETURNS timestamptz LANGUAGE sql AS $$ SELECT"
            " 'epoch'::timestamptz $$"
        )
        pod.execute("SET search_path = pg_temp, payroll")
        with refused(pod, "PL011"):
            pod.execute("SELECT payroll.heartbeat('false')")
        pod.rollback()


def test_a_pods_own_settings_do_not_reach_into_the_functions(sql_database: Database) -> None:
    """A caller may set any TimeZone, DateStyle or IntervalStyle: answers stay the same."""
    with sql_database.connect("payroll_pod", autocommit=False) as pod:
        pod.execute(
            "SET TimeZone = 'Pacific/Apia'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'sql_standard'"
        )
        assert pod.execute("SELECT * FROM payroll.claim_due_schedules('p')").fetchall() == []
        assert pod.execute("SELECT due_at FROM payroll.next_due_at()").fetchone() is not None
        pod.rollback()


def test_a_login_without_a_role_gets_nothing(database: Database) -> None:
    name = f"nobody_{database.name}"
    with database.connect() as superuser:
        superuser.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))
        try:
            superuser.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(name)))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                superuser.execute("SELECT payroll.heartbeat('x')")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                superuser.execute("SELECT FROM payroll.payment")
        finally:
            superuser.execute("RESET ROLE")
            superuser.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))
