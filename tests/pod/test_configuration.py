"""What a pod accepts from its environment."""

from pathlib import Path

import pytest

from notifier.configuration import ConfigurationError, read_configuration

GIVEN = {
    "PAYLOCK_DATABASE_URL": "postgresql://pod:hidden@localhost/paylock",
    "PAYLOCK_HORIZON_URL": "http://localhost:8000/",
    "PAYLOCK_NETWORK_PASSPHRASE": "Test network",
    "PAYLOCK_CHANNEL_SEED": "00" * 32,
    "PAYLOCK_FUNDING_SECRETS": "SAAA, SBBB\nSCCC",
}


def problems(environment: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(environment)
    return caught.value.problems


def test_required_variables_alone_make_a_configuration() -> None:
    configuration = read_configuration(GIVEN)
    assert configuration.horizon_url == "http://localhost:8000"
    assert configuration.funding_secrets == ("SAAA", "SBBB", "SCCC")
    assert (configuration.lease_seconds, configuration.poll_seconds, configuration.http_port) == (
        30,
        5.0,
        8080,
    )


def test_all_problems_are_listed_at_once() -> None:
    found = problems(
        {
            "PAYLOCK_HORIZON_URL": "localhost:8000",
            "PAYLOCK_POLL_SECONDS": "0.1",
            "PAYLOCK_HTTP_PORT": "http",
            "PAYLOCK_LOGLEVEL": "debug",
            "PAYLOCK_CRASH_AT": "after_claim",
        }
    )
    assert len(found) == 9
    for name in ("DATABASE_URL", "HORIZON_URL", "NETWORK_PASSPHRASE", "CHANNEL_SEED", "FUNDING_SECRETS"):
        assert any(f"PAYLOCK_{name}" in problem for problem in found), name
    for name in ("POLL_SECONDS", "HTTP_PORT", "LOGLEVEL", "CRASH_AT"):
        assert any(f"PAYLOCK_{name}" in problem for problem in found), name


def test_no_network_is_assumed() -> None:
    without = {
        k: v for k, v in GIVEN.items() if k not in ("PAYLOCK_HORIZON_URL", "PAYLOCK_NETWORK_PASSPHRASE")
    }
    assert problems(without) == [
        "PAYLOCK_HORIZON_URL is required",
        "PAYLOCK_NETWORK_PASSPHRASE is required",
    ]


def test_a_misspelt_variable_is_an_error_but_foreign_ones_are_left_alone() -> None:
    assert problems(GIVEN | {"PAYLOCK_CONCURENCY": "5"}) == [
        "PAYLOCK_CONCURENCY is not a variable that the pod knows"
    ]
    read_configuration(GIVEN | {"PAYLOCK_TEST_DATABASE_URL": "x", "PAYLOCK_DEMO_KEEP": "1", "HOME": "/"})


def test_secrets_come_from_files_too_but_not_from_both(tmp_path: Path) -> None:
    seed = tmp_path / "seed"
    seed.write_text("11" * 32 + "\n")
    from_file = {k: v for k, v in GIVEN.items() if k != "PAYLOCK_CHANNEL_SEED"}
    from_file["PAYLOCK_CHANNEL_SEED_FILE"] = str(seed)
    assert read_configuration(from_file).channel_seed == "11" * 32
    assert problems(GIVEN | {"PAYLOCK_CHANNEL_SEED_FILE": str(seed)}) == [
        "give only one of PAYLOCK_CHANNEL_SEED and PAYLOCK_CHANNEL_SEED_FILE"
    ]
    seed.write_text("\n")
    assert problems(from_file) == ["PAYLOCK_CHANNEL_SEED_FILE names an empty file"]
    from_file["PAYLOCK_CHANNEL_SEED_FILE"] = str(tmp_path / "missing")
    assert problems(from_file) == ["PAYLOCK_CHANNEL_SEED_FILE can't be read: FileNotFoundError"]


def test_crash_points_need_a_second_switch() -> None:
    assert (
        read_configuration(
            GIVEN
            | {"PAYLOCK_CRASH_AT": "after_claim", "PAYLOCK_ALLOW_CRASH": "1", "PAYLOCK_CRASH_COUNT": "3"}
        ).crash_count
        == 3
    )
    assert len(problems(GIVEN | {"PAYLOCK_CRASH_AT": "nowhere", "PAYLOCK_ALLOW_CRASH": "1"})) == 1


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "", "1e400"])
def test_odd_numbers_are_refused_or_default(text: str) -> None:
    environment = GIVEN | {"PAYLOCK_GRACE_SECONDS": text}
    if text == "":
        assert read_configuration(environment).grace_seconds == 25.0
    else:
        assert len(problems(environment)) == 1


def test_the_cap_is_not_below_the_base_fee() -> None:
    assert problems(GIVEN | {"PAYLOCK_BASE_FEE": "500", "PAYLOCK_MAX_FEE": "400"}) == [
        "PAYLOCK_MAX_FEE must not be less than PAYLOCK_BASE_FEE"
    ]


def test_secrets_show_in_no_representation() -> None:
    text = repr(read_configuration(GIVEN))
    assert "hidden" not in text
    assert "SAAA" not in text
    assert "00" * 32 not in text


@pytest.mark.parametrize(
    "url",
    ["postgress://pod:TopSecret@host/db", "postgresql://pod:TopSecret%t@host/db", "x=1 password=TopSecret"],
)
def test_a_database_url_that_does_not_parse_is_refused_without_repeating_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read_configuration({"PAYLOCK_DATABASE_URL": url})
    assert any(problem.startswith("PAYLOCK_DATABASE_URL") for problem in refusal.value.problems)
    assert "TopSecret" not in str(refusal.value)
