"""The stages of `hack/ci`: checks that must pass before a change lands, and long ones.

A stage is a command. Its output goes on to the terminal, or is kept back and printed
if the command fails; all of it is kept in `dist/ci/NAME.log`. If two stages run at
once (`schedule`), the output of the second waits for the end of the first. No stage
starts after a failure. At the end come a table of the stages, the results of the tests,
and the first failure of each failed stage, whole.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TextIO

from gate import results
from gate.schedule import LOGS, Environment, Schedule, Stage, Turn, last_line

ROOT = Path(__file__).resolve().parents[2]
# How much is printed once more of a stage that failed without a failed test.
LAST_LINES = 100
# For runs of tests that are not alone on the machine.
FEWER_WORKERS = {"ASORECONCILE_TEST_WORKERS": "2"}


def recordings(root: Path) -> str | Environment:
    """Return why recorded estates cannot be replayed, if they cannot."""
    folder = os.environ.get("ASORECONCILE_DATA") or root.parent / "shared" / "data"
    if Path(folder, "replay-sets").is_dir():
        return {}
    return f"no replay-sets in {folder} (ASORECONCILE_DATA)"


def folder_of(command: str, variable: str) -> Callable[[Path], str | Environment]:
    """Return a check that a tool's folder is made; the variable names it to tests."""

    def check(root: Path) -> str | Environment:
        done = subprocess.run(
            [root / command, "--check"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            return last_line(done.stderr)
        return {variable: done.stdout.strip()}

    return check


real_server = folder_of("hack/envtest", "KUBEBUILDER_ASSETS")


def program(path: str) -> Callable[[Path], str | Environment]:
    """Return a check that a file is there."""

    def check(root: Path) -> str | Environment:
        return {} if (root / path).exists() else f"there is no {path}"

    return check


check = partial(Stage, quiet=True, shares=True)
tool = partial(Stage, quiet=True, tool=True)


def go_program(name: str, about: str) -> Stage:
    """Return the stage that builds a program in Go that tests run."""
    return tool(name, ("hack/go-program", name), f"{about}, for tests")


STAGES = (
    check("check", ("hack/check",), "format, lint, types, import contracts"),
    check("rules", ("hack/rules",), "each claimed rule has a test"),
    check("docs", ("hack/docs",), "the site builds without a warning"),
    tool("helm", ("hack/helm",), "a real helm, for tests"),
    tool("databases", ("hack/databases",), "real servers of databases, for tests"),
    tool("prometheus", ("hack/prometheus",), "a real prometheus, for tests"),
    go_program("clientcmd", "kubectl's reading of kubeconfigs"),
    go_program("clientgo", "client-go"),
    go_program("crdvalidation", "Kubernetes' validation of CRDs"),
    go_program("kro", "a controller that composes our kinds"),
    Stage("test", ("hack/test",), "the test suite"),
    tool("envtest", ("hack/envtest",), "a real kube-apiserver, for tests"),
    Stage(
        "real",
        (
            *("hack/test", "tests/contract", "tests/acceptance", "tests/deploy"),
            *("tests/security", "-m", "real"),
        ),
        "operator, contract and installation on a real kube-apiserver",
        shares=True,
        more=FEWER_WORKERS,
        needs=real_server,
    ),
    Stage(
        *("replay", ("hack/replay",), "recorded estates, by the whole operator"),
        shares=True,
        needs=recordings,
    ),
    Stage(
        # A gate that is run again on the same commit must not find anything new.
        *("explore", ("hack/explore", "--seed", "tree"), "what a new seed finds"),
        shares=True,
        more=FEWER_WORKERS,
    ),
)
LONG = (
    # Two minutes each, on two cores: too long for each change.
    go_program("certmanager", "cert-manager"),
    go_program("externalsecrets", "external-secrets"),
    Stage(
        *("long", ("hack/test", "-m", "long"), "tests that are long by nature"),
        more={"ASORECONCILE_LONG": "1"},
    ),
    tool("chromium", ("hack/browser",), "a Chromium and what drives it, for tests"),
    Stage(
        *("browser", ("hack/test", "tests/browser", "-n", "0")),
        "the page in a real browser; pictures: dist/ci/browser",
        needs=folder_of("hack/browser", "ASORECONCILE_BROWSER"),
    ),
    Stage("matrix", ("hack/matrix",), "every cell of the crash and race matrix"),
    Stage(
        *("crd-rules", ("hack/test", "tests/contract/test_contract_crd_validation.py")),
        "apiextensions' own validation of 2,500 CRDs",
        more={"ASORECONCILE_LONG": "1"},
    ),
    Stage(
        *("lives", ("hack/lives",)),
        "ten thousand lives of an estate, and each crossing of two features",
    ),
    Stage("chaos", ("hack/chaos", "--count", "20"), "twenty chaos trials"),
    Stage(
        *("rollouts", ("hack/test", "tests/acceptance/test_rollouts.py")),
        "thirty upgrades and rollbacks while clients write, on a real kube-apiserver",
        more={"ASORECONCILE_ROLLOUTS": "30"},
        needs=real_server,
    ),
    Stage(
        "properties",
        ("hack/test", "tests/unit", "tests/contract", "-m", "hypothesis and not real"),
        "two thousand new examples of each property",
        more={"HYPOTHESIS_PROFILE": "explore"},
    ),
    Stage("newest", ("hack/versions", "newest"), "the newest dependencies allowed"),
    Stage("oldest", ("hack/versions", "oldest"), "the oldest dependencies allowed"),
    Stage(
        *("mutants", ("hack/mutants",), "tests notice what is changed in the code"),
        needs=program("hack/mutants"),
    ),
)
BY_NAME = {stage.name: stage for stage in (*STAGES, *LONG)}


def chosen(names: list[str]) -> list[Stage]:
    """Return the stages of some names: `long` is all that take long.

    Raises KeyError for a name that no stage has.
    """
    if not names:
        return list(STAGES)
    found: list[Stage] = []
    for name in names:
        found += LONG if name == "long" else [BY_NAME[name]]
    return found


def run(stages: list[Stage], *, root: Path = ROOT, out: TextIO = sys.stdout) -> int:
    """Run stages until one fails, and print a summary. Returns an exit code."""
    began = time.monotonic()
    found = root / LOGS / "results"
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    with Schedule(stages, root, found) as schedule:
        schedule.start()
        for turn in schedule.turns:
            for text in turn.output():
                print(text, end="", file=out, flush=True)
            if turn.done is not None:
                print(f"<== {turn.line()}", file=out, flush=True)
    summary(schedule.turns, time.monotonic() - began, root / LOGS, out)
    return 1 if any(turn.has_failed for turn in schedule.turns) else 0


def closing_line(counts: Mapping[str, int]) -> str:
    """Return how many tests had each outcome, in the words of pytest."""
    return ", ".join(
        f"{counts[what]} {what}" for what in results.OUTCOMES if what in counts
    )


def summary(turns: list[Turn], seconds: float, logs: Path, out: TextIO) -> None:
    """Print the table of stages, the results of the tests, and the first failures."""

    def say(*lines: str) -> None:
        for line in lines:
            print(line, file=out)

    found = {
        turn.stage.name: results.read(logs / "results" / turn.stage.name)
        for turn in turns
    }
    tests = results.Results()
    for some in found.values():
        tests.add(some)
    say("", "=== stages ===", *(turn.line() for turn in turns))
    say(f"{'together':<12} {seconds:7.1f} s")
    if tests.skipped:
        say("", "=== skipped tests ===")
        for why, count in sorted(tests.skipped.items(), key=lambda one: -one[1]):
            say(f"{count:5}  {why}")
    if tests.slowest:
        say("", "=== slowest tests ===")
        say(*(f"{spent:7.1f} s  {test}" for test, spent in tests.slowest.items()))
    if tests.flaky:
        say("", "=== FLAKY ===", *tests.flaky)
        say("Commit their entries in tests/flaky.toml.")
    failed = [turn.stage.name for turn in turns if turn.has_failed]
    for name in failed:
        say("", f"=== first failure, in {name} ===")
        if found[name].failures:
            say(*next(iter(found[name].failures.items())))
        else:
            say(*(logs / f"{name}.log").read_text().splitlines()[-LAST_LINES:])
    if failed:
        say("", f"=== FAILED: {', '.join(failed)} ===")
    if tests.counts:
        say("", f"=== {closing_line(tests.counts)} in {seconds:.2f}s ===")
    out.flush()
