"""The image as `.ci/run` built it, run as Kubernetes runs it: no root, read-only, no rights."""

import os
import subprocess

import pytest

pytestmark = pytest.mark.needs("pod image")


def _run(*arguments: str, entrypoint: str | None = None) -> "subprocess.CompletedProcess[str]":
    command = [
        "podman", "run", "--rm", "--pull=never", "--network=none", "--read-only", "--read-only-tmpfs=false",
        "--cap-drop=ALL", "--security-opt=no-new-privileges",
    ]  # fmt: skip
    if entrypoint is not None:
        command += ["--entrypoint", entrypoint]
    return subprocess.run(
        [*command, os.environ["PAYLOCK_TEST_POD_IMAGE"], *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_answers_on_a_read_only_root() -> None:
    result = _run("--help")
    assert result.returncode == 0, result.stderr
    assert "migrate" in result.stdout
    assert "pod" in result.stdout


def test_it_runs_as_an_account_without_rights() -> None:
    assert _run("-c", "id -u; id -g", entrypoint="/bin/sh").stdout.split() == ["65532", "65532"]


def test_a_pod_without_configuration_refuses_and_says_what_is_missing() -> None:
    result = _run("pod")
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    for name in ("PAYLOCK_DATABASE_URL", "PAYLOCK_HORIZON_URL", "PAYLOCK_NETWORK_PASSPHRASE"):
        assert name in result.stderr


def test_it_carries_the_sql_that_it_installs() -> None:
    result = _run("migrate", "--dump-sql")
    assert result.returncode == 0, result.stderr
    assert "CREATE OR REPLACE FUNCTION payroll.claim_due_schedules" in result.stdout


@pytest.mark.parametrize("program", ["gcc", "make", "pip", "pip3", "git", "curl", "postgres", "psql"])
def test_no_tool_is_in_it_that_a_pod_does_not_need(program: str) -> None:
    assert _run("-c", f"command -v {program}", entrypoint="/bin/sh").returncode != 0
