"""The main job as people run it: one command, and afterwards nothing is left of it."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from paylock.demo.processes import environment

CHECKOUT = Path(__file__).parents[2]
FIGURES = [
    "payees", "payable", "paid_once", "paid_twice", "unpaid_payable", "failed_with_reason",
    "pods", "pods_killed", "ledgers", "transactions",
]  # fmt: skip
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo"), pytest.mark.timeout(600)]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a space in its name. Afterwards no process of a demo in it is alive."""
    place = tmp_path / "a folder of mine"
    place.mkdir()
    yield place
    demo(place, "--stop").communicate()
    for process in processes_in(place):
        process.kill()


def demo(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "paylock", "demo", *options],
        cwd=folder,
        env=environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processes_in(folder: Path) -> list[psutil.Process]:
    """Everything alive that belongs to a demo in that folder, by working directory or command line."""
    found = []
    for process in psutil.process_iter():
        try:
            where = [process.cwd(), *process.cmdline()]
        except psutil.Error:
            continue
        if any(str(place) in text for text in where for place in places_of(folder)):
            found.append(process)
    return found


def places_of(folder: Path) -> list[Path]:
    """The folder, and the database's where it had to go elsewhere (noted by `note_places`)."""
    note = folder.with_name("places")
    return [folder, *([Path(note.read_text())] if note.is_file() else [])]


def note_places(folder: Path) -> None:
    """As root the server runs as somebody who may have no access to the folder: its files are elsewhere."""
    state = json.loads((folder / ".demo" / "postgres" / "server.json").read_text())
    folder.with_name("places").write_text(state["place"])


def is_clean(folder: Path) -> bool:
    _, *elsewhere = places_of(folder)
    return (
        not processes_in(folder)
        and list(folder.iterdir()) == []
        and not any(place.exists() for place in elsewhere)
    )


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.05)


def read_until(process: subprocess.Popen[str], pattern: str) -> str:
    """The first line that matches."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if re.search(pattern, line):
            return line
    raise AssertionError(f"no line like {pattern!r} in:\n{''.join(seen)}")


def readme_commands() -> list[str]:
    """The lines that README.md tells a DBA, an SRE and a clerk to type."""
    sections = re.split(r"^## For ", (CHECKOUT / "README.md").read_text(), flags=re.MULTILINE)[1:]
    assert len(sections) == 3
    blocks = [block for text in sections for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)]
    return [line for block in blocks for line in block.splitlines()]


def type_readme_line(folder: Path, line: str) -> None:
    """Types it in a kept demo's folder that looks like a checkout, and expects success. `less` doesn't page,
    a pod is stopped once it has started, and programs that are not installed are passed over."""
    for name in ("examples", "k8s"):
        if not (folder / name).exists():
            (folder / name).symlink_to(CHECKOUT / name)
    program = next(word for word in line.split() if "=" not in word)
    if program != "paylock" and shutil.which(program) is None:
        return
    runs_pod = line.split("#")[0].strip().endswith("paylock pod")
    prelude = f'. .demo/env; paylock() {{ "{sys.executable}" -m paylock "$@"; }}; less() {{ cat; }}'
    typed = line.replace("paylock pod", f'exec "{sys.executable}" -m paylock pod') if runs_pod else line
    typing = subprocess.Popen(
        ["sh", "-c", f"{prelude}\n{typed}"],
        cwd=folder,
        env=environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if runs_pod:
        read_until(typing, '"started"')
        typing.send_signal(signal.SIGINT)
    output, _ = typing.communicate()
    assert typing.returncode == 0, f"{line}\n{output}"


def figures_of(output: str) -> dict[str, int]:
    figures: dict[str, int] = json.loads(output.strip().splitlines()[-1])
    return figures


def test_it_pays_everybody_once_though_a_pod_dies_and_leaves_nothing_behind(folder: Path) -> None:
    running = demo(folder)
    read_until(running, "three pods are ready")
    note_places(folder)
    output, _ = running.communicate()
    assert running.returncode == 0, output
    figures = figures_of(output)
    assert list(figures) == FIGURES
    assert figures["payees"] == 250
    assert figures["paid_once"] == figures["payable"] < figures["payees"]
    assert figures["failed_with_reason"] == figures["payees"] - figures["payable"]
    assert (figures["paid_twice"], figures["unpaid_payable"]) == (0, 0)
    assert (figures["pods"], figures["pods_killed"]) == (3, 1)
    assert re.search(r"SIGKILL: it held [1-9]\d* signed batches with [1-9]\d* payments", output)
    assert is_clean(folder)


def test_kept_it_goes_on_running_and_all_that_the_readme_says_works_until_it_is_stopped(folder: Path) -> None:
    running = demo(folder, "--keep")
    output, _ = running.communicate()
    assert running.returncode == 0, output
    note_places(folder)
    assert processes_in(folder)
    for line in readme_commands():
        type_readme_line(folder, line)
    variables = dict(
        re.findall(r"^export (\w+)='?([^'\n]*)'?$", (folder / ".demo" / "env").read_text(), re.MULTILINE)
    )
    with psycopg.connect(variables["PAYLOCK_DATABASE_URL"]) as connection:
        rows = connection.execute("SELECT paid FROM payroll.run_overview").fetchall()
    assert sum(paid for (paid,) in rows) == figures_of(output)["payable"]
    with urllib.request.urlopen(variables["PAYLOCK_DEMO_POD"] + "/readyz") as answer:
        assert answer.status == 200
    stopping = demo(folder, "--stop")
    output, _ = stopping.communicate()
    assert stopping.returncode == 0, output
    for name in ("examples", "k8s"):
        (folder / name).unlink()
    assert is_clean(folder)
    nothing = demo(folder, "--stop")
    assert nothing.communicate()[0].strip() == "no demo was left running here"


@pytest.mark.parametrize(
    ("number", "moment"), [(signal.SIGINT, "three pods are ready"), (signal.SIGTERM, "PostgreSQL .* is up")]
)
def test_interrupted_it_leaves_nothing_behind(folder: Path, number: signal.Signals, moment: str) -> None:
    running = demo(folder)
    read_until(running, moment)
    note_places(folder)
    running.send_signal(number)
    output, _ = running.communicate()
    assert running.returncode == 130, output
    assert is_clean(folder)


def test_killed_it_takes_its_children_with_it_and_the_next_one_can_start(folder: Path) -> None:
    running = demo(folder)
    read_until(running, "three pods are ready")
    note_places(folder)
    running.kill()
    running.communicate()
    until(lambda: is_clean(folder))


def test_killed_while_its_database_is_being_made_it_leaves_nothing_behind(folder: Path) -> None:
    running = demo(folder)
    until((folder / ".demo" / "postgres" / "server.json").exists)
    until(lambda: (folder / ".demo" / "postgres" / "server.json").read_text() != "")
    note_places(folder)
    running.kill()
    running.communicate()
    until(lambda: is_clean(folder))


def test_with_its_guard_killed_as_well_the_next_one_cleans_up_first(folder: Path) -> None:
    running = demo(folder)
    read_until(running, "three pods are ready")
    note_places(folder)
    victims = [psutil.Process(running.pid), *psutil.Process(running.pid).children()]
    guards = [one for one in victims if "paylock.demo.guard" in one.cmdline()]
    assert len(guards) == 1
    guards[0].kill()
    running.kill()
    running.communicate()
    assert processes_in(folder)
    stopping = demo(folder, "--stop")
    output, _ = stopping.communicate()
    assert stopping.returncode == 0, output
    assert is_clean(folder)


def test_a_second_one_in_the_same_folder_is_refused_while_the_first_runs(folder: Path) -> None:
    running = demo(folder)
    read_until(running, "PostgreSQL")
    second = demo(folder)
    output, _ = second.communicate()
    assert second.returncode == 1
    assert "another demo is running" in output
    running.send_signal(signal.SIGINT)
    running.communicate()
    assert list(folder.iterdir()) == []


def test_a_folder_of_that_name_that_is_something_else_is_left_alone(folder: Path) -> None:
    (folder / ".demo").mkdir()
    (folder / ".demo" / "my slides").write_text("important")
    for options in ((), ("--stop",)):
        running = demo(folder, *options)
        output, _ = running.communicate()
        assert (folder / ".demo" / "my slides").read_text() == "important", output
    assert [entry.name for entry in (folder / ".demo").iterdir()] == ["my slides"]
