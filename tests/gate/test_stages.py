"""`hack/ci`: stages that pass, fail and cannot run, and the output of each."""

import io
import json
import re
import subprocess
import sys
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
