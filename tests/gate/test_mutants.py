"""The mutation script: on a small program, whose tests overlook what they are to."""

import mutants
import pytest

PROGRAM = """
def is_small(number):
    return number < 10


def doubled(number):
    return (number, number)


def unused(number):
    return [number]
"""
# The first sees every change, the second looks at nothing, the third always fails.
TESTS = """
import small

def test_small():
    assert small.is_small(9) and not small.is_small(10)

def test_doubled():
    small.doubled(2)

def test_fails():
    small.unused(1)
    assert False
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "__init__.py").write_text(PROGRAM)
    (tmp_path / "test_small.py").write_text(TESTS)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "_PER_FILE", 100)
    # Each mutant is a process, and the other plugins take a second each time.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin,pytest_timeout")


def test_what_no_test_notices_is_named(program, capsys):
    assert mutants.main(["--in=small", "--seed=1", "--workers=1", "test_small.py"]) == 1
    said = capsys.readouterr().out
    survivors = [line for line in said.splitlines() if line.startswith("survived")]
    at = "survived: small/__init__.py"
    assert sorted(survivors) == [
        f"{at}:11: 'return [number]' -> 'return None' (no test runs it)",
        f"{at}:7: 'return (number, number)' -> 'return None' (1 tests run it)",
    ]
    assert "2 tests pass unchanged" in said
    assert "mutants: 3 of 5 noticed (60 %)" in said


def test_a_seed_draws_the_same_mutants_again(program):
    first = mutants.drawn(["small"], seed="7", count=4)
    assert first == mutants.drawn(["small"], seed="7", count=4)
    assert first != mutants.drawn(["small"], seed="8", count=4)
    assert len(first) == 4


def test_a_run_that_hangs_is_ended(program, tmp_path):
    (tmp_path / "test_hangs.py").write_text(
        "import signal\ndef test_hangs(): signal.pause()"
    )
    assert mutants.Copy(tmp_path / "copies").pytest("test_hangs.py", seconds=1) is None
