"""A failed test is run again alone, twice: `hack/test` in projects of one's own."""

import os
import re
import subprocess
import sys
import tomllib
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from gate import flaky, results

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = """
[tool.pytest.ini_options]
testpaths = ["tests"]
markers = ["real: x"]
"""
# Each call of `nth` in a test is counted over all processes.
COUNTED = """
from pathlib import Path

import pytest


def nth(name):
    path = Path(__file__).with_name(f"{name}.count")
    count = int(path.read_text()) if path.exists() else 0
    path.write_text(str(count + 1))
    return count + 1


"""


class Project:
    """A folder with tests, run by the program behind `hack/test`."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {}
        (folder / "pyproject.toml").write_text(PYPROJECT)

    def file(self, name, text):
        path = self.folder / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *arguments):
        """The exit code and the output."""
        kept = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("PYTEST_", "ASORECONCILE_"))
        }
        kept["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they take a second each time
        done = subprocess.run(
            [
                sys.executable,
                ROOT / "hack" / "test.py",
                "-p",
                "xdist",
                "-n0",
                *arguments,
            ],
            cwd=self.folder,
            env={**kept, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.stderr
        return done.returncode, done.stdout

    def entries(self):
        return {entry.test: entry for entry in flaky.read(self.folder)}

    def count(self, name):
        return int((self.folder / "tests" / f"{name}.count").read_text())


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def closing(said):
    return re.findall(r"=+ ([^=]*) in [\d.]+s", said)[-1]


FLAKY = (
    COUNTED
    + """
seen = []


def test_before():
    seen.append(1)


def test_after_others():
    assert not seen, "others ran before"


def test_once():
    assert nth("once") > 1, 'the "first" failure\\nof two lines'


@pytest.fixture
def ends_badly():
    yield
    assert nth("fixture") > 1


def test_with_a_fixture(ends_badly):
    pass
"""
)


def test_a_test_that_fails_in_a_run_and_passes_twice_alone_is_flaky(project):
    project.file("test_flaky.py", FLAKY)
    code, said = project.run("-n1", "--dist", "loadfile")
    assert code == 0, said
    assert closing(said) == "2 passed, 3 flaky"
    assert "= FLAKY =" in said
    assert "= FAILURES =" not in said
    assert "others ran before" in said
    assert project.count("once") == 3
    entries = project.entries()
    names = ["after_others", "once", "with_a_fixture"]
    assert list(entries) == [f"tests/test_flaky.py::test_{name}" for name in names]
    once = entries["tests/test_flaky.py::test_once"]
    assert once.failure == 'AssertionError: the "first" failure'
    assert once.date - datetime.now(UTC).date() <= timedelta(days=1)
    assert once.text() in said


FAILING = (
    COUNTED
    + """
def test_always():
    assert nth("always") == 0, "for ever"


def test_again_the_second_time_alone():
    assert nth("second") == 2


def test_skipped_when_alone():
    if nth("skipped") > 1:
        pytest.skip("not now")
    raise AssertionError
"""
)


def test_a_test_that_fails_again_alone_has_failed(project):
    project.file("test_failing.py", FAILING)
    deterministic = COUNTED + "def test_pair():\n    assert nth('pair') > 1\n"
    project.file("parity/test_pairs.py", deterministic)
    code, said = project.run()
    assert code == 1
    assert closing(said) == "4 failed"
    assert project.entries() == {}
    assert "FLAKY" not in said
    counts = {name: project.count(name) for name in ("always", "second", "skipped")}
    assert counts == {"always": 2, "second": 3, "skipped": 2}
    assert project.count("parity/pair") == 1
    assert "not run again, being deterministic: tests/parity/test_pairs.py" in said


def test_the_repeat_has_the_seed_and_the_options_of_the_run(project):
    """A seed that fails must not pass by luck."""
    project.file(
        "test_seed.py",
        COUNTED
        + """
import random


@pytest.mark.real
def test_by_the_seed(request):
    value = f"{random.random()} {request.config.getoption('markexpr')}"
    nth(value)
    raise AssertionError
""",
    )
    code, _ = project.run(
        *("tests/test_seed.py", "-m", "real"),
        *("-p", "pytest_randomly", "--randomly-seed=7"),
    )
    assert code == 1
    (kept,) = (project.folder / "tests").glob("*.count")
    assert kept.name.endswith(" real.count")
    assert kept.read_text() == "2"


def test_after_more_than_ten_failures_nothing_is_run_again(project):
    each = "@pytest.mark.parametrize('n', range(COUNT))\n"
    each += "def test_n(n):\n    assert nth(n) > 1\n"
    project.file("test_many.py", COUNTED + each.replace("COUNT", "11"))
    code, said = project.run()
    assert (code, closing(said)) == (1, "11 failed")
    assert "more than 10 are not run again" in said
    assert {project.count(n) for n in range(11)} == {1}


def test_what_cannot_be_collected_is_not_run_again(project):
    project.file("test_broken.py", "import nothing_of_that_name\n")
    code, said = project.run()
    assert code != 0
    assert "running again" not in said


def test_a_run_that_stops_at_the_first_failure_has_no_second_chance(project):
    """The tests after it did not run."""
    project.file(
        "test_stop.py",
        COUNTED + "def test_a():\n    assert nth('a') > 1\n" + "def test_b(): pass\n",
    )
    assert project.run("-x")[0] != 0
    assert project.count("a") == 1


def entry(number, day=date(2026, 1, 1)):
    return flaky.Entry(f"tests/test_a.py::test_{number}", day, "AssertionError")


def test_an_entry_is_added_once_and_reads_as_it_was_written(tmp_path):
    (tmp_path / "tests").mkdir()
    odd = flaky.Entry('t.py::test[\x7f"\\é😀]', date(2026, 2, 3), "a\tb", "c")
    assert flaky.add(tmp_path, [odd, entry(1)]) == [odd, entry(1)]
    assert flaky.add(tmp_path, [entry(1, date(2026, 5, 5)), entry(2)]) == [entry(2)]
    assert flaky.read(tmp_path) == [odd, entry(1), entry(2)]
    lone = flaky.Entry("t.py::test[\ud83d]", date(2026, 2, 3), "x")
    assert tomllib.loads(lone.text())["flaky"][0]["test"] == "t.py::test[?]"


def test_old_entries_are_named_and_fail_nothing(tmp_path, capsys):
    (tmp_path / "tests").mkdir()
    flaky.add(tmp_path, [entry(1, date(2026, 3, 1)), entry(2, date(2026, 3, 2))])
    assert flaky.main(tmp_path, date(2026, 3, 16)) == 0
    said = capsys.readouterr().err
    assert said == "tests/flaky.toml: since 2026-03-01: tests/test_a.py::test_1\n"


def test_a_file_whose_last_entry_was_mended_has_no_entries(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "flaky.toml").write_text(flaky.HEAD)
    assert flaky.read(tmp_path) == []


def test_the_project_s_own_entries_can_be_read():
    assert len(flaky.read(ROOT)) <= flaky.MOST_ENTRIES


def test_a_run_keeps_its_results_its_costs_and_ten_entries(project):
    """A run with a failure names its flaky test too; an eleventh entry fails a run."""
    project.file(
        "test_kept.py",
        COUNTED
        + "def test_once():\n    assert nth('once') > 1\n"
        + "def test_bad():\n    assert 'this' == 'that'\n"
        + "def test_good(): pass\n"
        + "def test_elsewhere(): pytest.skip('no helm')\n",
    )
    folder = project.folder / "results"
    folder.mkdir()
    project.environment[results.FOLDER_VARIABLE] = str(folder)
    code, said = project.run()
    assert code == 1
    assert closing(said) == "1 failed, 1 passed, 1 skipped, 1 flaky"
    assert list(project.entries()) == ["tests/test_kept.py::test_once"]
    kept = results.read(folder)
    assert kept.counts == {"failed": 1, "passed": 1, "skipped": 1, "flaky": 1}
    assert kept.skipped == {"no helm": 1}
    assert kept.flaky == ["tests/test_kept.py::test_once"]
    (failed,) = kept.failures.items()
    assert failed[0] == "tests/test_kept.py::test_bad"
    assert "assert 'this' == 'that'" in failed[1]
    costs = project.folder / results.COSTS
    assert costs.read_text().splitlines()[1].endswith("\t4\ttests/test_kept.py")
    costs.unlink()
    flaky.add(project.folder, [entry(number) for number in range(9)])
    assert project.run("tests/test_kept.py::test_good")[0] == 0
    flaky.add(project.folder, [entry(9)])
    code, said = project.run("-k", "good")
    assert code == 1
    assert "tests/flaky.toml has 11 entries" in said
    assert not costs.exists()
