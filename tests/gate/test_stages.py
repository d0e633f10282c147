"""`hack/ci`: stages that pass, fail and cannot run, and the output of each."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from gate import results, stages
from gate.stages import Stage

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(tmp_path):
    """Run stages, each a shell script; the exit code and the output."""

    def call(*some):
        made = []
        for name, script, more in some:
            path = tmp_path / name
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
            made.append(Stage(name, (name,), f"about {name}", **more))
        out = io.StringIO()
        code = stages.run(made, root=tmp_path, out=out)
        return code, re.sub(r" +\d+\.\d s", " T s", out.getvalue())

    return call


def found(**some):
    """A script that leaves what a run of pytest does."""
    text = json.dumps({**some})
    return f"""cat > "$ASORECONCILE_CI_RESULTS/$$.json" <<'E'\n{text}\nE"""


def test_each_stage_has_a_line_and_the_summary_has_all(run):
    passed = found(
        counts={"passed": 3, "skipped": 2, "flaky": 1},
        skipped={"no helm": 2},
        slowest={"t.py::test_slow": 12.0, "t.py::test_slower": 13.0},
        flaky=["t.py::test_a"],
    )
    more = found(counts={"passed": 2}, slowest={"u.py::test_middle": 12.5})
    code, said = run(
        ("quiet", "echo not shown", {"quiet": True}),
        ("tests", f"echo shown; {passed}", {}),
        ("more", more, {}),
        ("tool", "echo no tool >&2; exit 1", {"quiet": True, "tool": True}),
        ("real", "exit 1", {"needs": lambda _: "no such server"}),
    )
    assert code == 0
    assert "shown\n" in said
    assert "not shown" not in said
    table = said.partition("=== stages ===")[2].partition("\n\n")[0]
    assert [line.split(None, 3) for line in table.strip().splitlines()] == [
        ["quiet", "T", "s", "passed"],
        ["tests", "T", "s", "passed"],
        ["more", "T", "s", "passed"],
        ["tool", "T", "s", "SKIPPED: no tool"],
        ["real", "T", "s", "SKIPPED: no such server"],
        ["together", "T", "s"],
    ]
    for line in table.strip().splitlines()[:-1]:
        assert f"<== {line}\n" in said
    assert "    2  no helm\n" in said
    places = [said.index(f"test_{name}") for name in ("slower", "middle", "slow\n")]
    assert places == sorted(places)
    assert "=== FLAKY ===\nt.py::test_a\n" in said
    assert re.search(
        r"^=== 5 passed, 2 skipped, 1 flaky in [\d.]+s ===\n\Z", said, re.MULTILINE
    )


def test_the_first_failed_stage_ends_the_run_and_is_printed_again(run):
    script = found(
        counts={"failed": 2, "passed": 1},
        failures={"t.py::test_b": "first\nof two", "t.py::test_c": "second"},
    )
    code, said = run(
        ("good", "exit 0", {}),
        ("bad", f"{script}\nexit 1", {}),
        ("after", "echo never", {}),
    )
    assert code == 1
    assert "never" not in said
    assert "<== bad T s  FAILED (exit code 1)" in said
    assert re.search(r"^after +- +not run$", said, re.MULTILINE)
    end = said.partition("=== first failure, in bad ===\n")[2]
    assert end.startswith("t.py::test_b\nfirst\nof two\n\n=== FAILED: bad ===\n")
    assert "second" not in end
    assert re.search(r"=== 2 failed, 1 passed in [\d.]+s ===\n\Z", end)


@pytest.fixture
def meet(tmp_path):
    """Commands of two scripts that end only together: of one and of the other."""
    os.mkfifo(tmp_path / "met")
    return "timeout 60 sh -c 'echo > met' || exit 9", "timeout 60 cat met || exit 9"


def test_two_stages_that_share_run_at_once_and_one_that_does_not_runs_alone(run, meet):
    shares = {"shares": True}
    code, said = run(
        ("one", f"{meet[0]}; echo of one; touch one-ended", shares),
        ("two", f"{meet[1]}; echo of two; touch two-ended", shares),
        ("whole", "ls one-ended two-ended; touch whole-ended", {}),
        ("three", "ls whole-ended", shares),
    )
    assert code == 0
    texts = re.findall(r"^(?:==> \w+|of \w+|<== \w+|\w+-ended)", said, re.MULTILINE)
    assert texts == [
        *("==> one", "of one", "<== one", "==> two", "of two", "<== two"),
        *("==> whole", "one-ended", "two-ended", "<== whole"),
        *("==> three", "whole-ended", "<== three"),
    ]


def test_a_stage_beside_one_that_fails_goes_on_to_its_end(run, meet):
    of_one = found(failures={"t.py::test_of_one": "text one"})
    of_two = found(failures={"t.py::test_of_two": "text two"})
    shares = {"shares": True}
    code, said = run(
        ("one", f"{of_one}\n{meet[0]}; exit 3", shares),
        ("two", f"{of_two}\n{meet[1]}; echo to the end; exit 4", shares),
        ("three", "echo never", shares),
    )
    assert code == 1
    assert "to the end\n<== two T s  FAILED (exit code 4)\n" in said
    assert "never" not in said
    assert re.search(r"^three +- +not run$", said, re.MULTILINE)
    end = said[said.index("=== first failure, in one ===") :]
    assert end == (
        "=== first failure, in one ===\nt.py::test_of_one\ntext one\n\n"
        "=== first failure, in two ===\nt.py::test_of_two\ntext two\n\n"
        "=== FAILED: one, two ===\n"
    )


def test_a_stage_whose_command_cannot_run_fails(run, tmp_path, monkeypatch):
    monkeypatch.setattr("threading.excepthook", lambda _: None)  # it prints a traceback
    out = io.StringIO()
    some = [Stage("gone", ("gone",), "nothing"), Stage("after", ("gone",), "nothing")]
    assert stages.run(some, root=tmp_path, out=out) == 1
    assert re.search(r"^gone .* FAILED \(exit code 1\)$", out.getvalue(), re.MULTILINE)
    assert re.search(r"^after +- +not run$", out.getvalue(), re.MULTILINE)


@pytest.mark.parametrize("trap", ["", "trap '' TERM HUP"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_an_interrupted_run_ends_what_its_stages_started(tmp_path, number, trap):
    """Two stages run, with children that keep a pipe open until they end."""
    os.mkfifo(tmp_path / "alive")
    script = f"#!/bin/sh\n{trap}\nexec > alive\necho $0\nsleep 300 & wait; wait\n"
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    # A shell starts what runs in its background with SIGINT ignored.
    program = f"""
import signal
from pathlib import Path
from gate import schedule, stages
signal.signal(signal.SIGINT, signal.default_int_handler)
schedule.END_SECONDS = {0.2 if trap else 60}
some = [schedule.Stage(n, (n,), n, shares=True) for n in ("one", "two", "three")]
stages.run(some, root=Path({str(tmp_path)!r}))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / "hack")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with ExitStack() as stack:
        stack.enter_context(process)
        stack.callback(process.kill)
        alive = stack.enter_context((tmp_path / "alive").open())
        started = {Path(alive.readline().strip()).name for _ in range(2)}
        process.send_signal(number)
        assert alive.read() == ""  # until no process holds the pipe
        process.wait()
    assert started == {"one", "two"}
    assert process.returncode == (128 + number if number != signal.SIGINT else -number)


def test_what_a_quiet_stage_said_is_printed_where_it_fails_and_at_the_end(run):
    code, said = run(("check", "echo wrong; exit 7", {"quiet": True}))
    assert code == 1
    assert said.count("wrong\n") == 2
    assert "FAILED (exit code 7)" in said


@pytest.mark.parametrize("code", [2, 3, 4, 5])
def test_no_exit_code_of_pytest_is_taken_for_a_skip(run, code):
    assert run(("test", f"exit {code}", {}))[0] == 1


def test_a_stage_s_variables_reach_its_command(run):
    code, said = run(
        ("one", 'echo "<$ASKED$GIVEN>"', {"more": {"ASKED": "a"}}),
        ("two", 'echo "<$GIVEN>"', {"needs": lambda _: {"GIVEN": "b"}}),
        ("three", "cat", {}),  # nothing to read: no terminal is asked
    )
    assert code == 0
    assert "<a>\n" in said
    assert "<b>\n" in said


def test_recordings_that_are_absent_are_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setenv("ASORECONCILE_DATA", str(tmp_path))
    assert stages.recordings(ROOT) == (
        f"no replay-sets in {tmp_path} (ASORECONCILE_DATA)"
    )
    (tmp_path / "replay-sets").mkdir()
    assert stages.recordings(ROOT) == {}


def test_stages_are_chosen_by_name():
    names = [stage.name for stage in stages.chosen([])]
    assert names == [stage.name for stage in stages.STAGES]
    assert [s.name for s in stages.chosen(["docs", "check"])] == ["docs", "check"]
    assert stages.chosen(["long"]) == list(stages.LONG)
    with pytest.raises(KeyError):
        stages.chosen(["lnog"])


def test_each_stage_s_command_is_there():
    for stage in stages.BY_NAME.values():
        if isinstance(stage.needs and stage.needs(ROOT), str):
            continue
        assert (ROOT / stage.command[0]).exists(), stage.name


def test_the_command_lists_its_stages_and_refuses_others():
    command = [sys.executable, ROOT / "hack" / "ci.py"]
    listed = subprocess.run(
        [*command, "--list"], capture_output=True, text=True, check=True
    ).stdout
    assert all(f"  {name} " in listed for name in stages.BY_NAME)
    wrong = subprocess.run(
        [*command, "tset"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "there is no stage 'tset'" in wrong.stderr


def test_results_of_several_runs_are_added_up(tmp_path):
    one = results.Results(counts={"passed": 1}, slowest={"a": 1.0}, flaky=["x"])
    many = results.Results(slowest={str(n): float(n) for n in range(20)})
    one.add(many)
    assert one.counts == {"passed": 1}
    assert list(one.slowest) == [str(n) for n in range(19, 9, -1)]
    assert one.flaky == ["x"]


def test_the_table_of_costs_has_the_run_before(tmp_path):
    table = tmp_path / "dist" / "costs.tsv"
    results.write_costs(table, {"a.py::x": 1.0, "a.py::y": 2.0, "b.py::z": 4.0})
    results.write_costs(table, {"a.py::x": 0.5, "b.py::z": 0.25})
    assert table.read_text().splitlines() == [
        "seconds\tbefore\ttests\tfile",
        "0.50\t3.00\t1\ta.py",
        "0.25\t4.00\t1\tb.py",
    ]
