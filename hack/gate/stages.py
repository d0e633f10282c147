"""The stages of `hack/ci`: checks that must pass before a change lands, and long ones.

A stage is a command. Its output goes on to the terminal, or is kept back and printed
if the command fails; all of it is kept in `dist/ci/NAME.log`. The first stage that
fails ends the run. At the end come a table of the stages, the results of the tests, and
the first failure whole.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from gate import results

ROOT = Path(__file__).resolve().parents[2]
LOGS = Path("dist", "ci")
# How much is printed once more of a stage that failed without a failed test.
LAST_LINES = 100
Environment = Mapping[str, str]


@dataclass(frozen=True)
class Stage:
    """One stage.

    command: words of the command. about: the subject, for the list of stages. quiet: if
    true, its output is printed only if it fails. tool: if true, it only fetches or
    builds a program that tests skip without, so its failure is a skip. more: variables
    of its environment. needs: returns why the stage cannot run here, or variables that
    it needs.
    """

    name: str
    command: tuple[str, ...]
    about: str
    quiet: bool = False
    tool: bool = False
    more: Environment = field(default_factory=dict)
    needs: Callable[[Path], str | Environment] | None = None


@dataclass
class Done:
    """The end of a stage. skipped: why it did not run. failed: its exit code, or 0."""

    stage: Stage
    seconds: float
    skipped: str = ""
    failed: int = 0

    def line(self) -> str:
        """Return the stage's line of the table."""
        outcome = "passed"
        if self.skipped:
            outcome = f"SKIPPED: {self.skipped}"
        elif self.failed:
            outcome = f"FAILED (exit code {self.failed})"
        return f"{self.stage.name:<12} {self.seconds:7.1f} s  {outcome}"


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


def go_program(name: str, about: str) -> Stage:
    """Return the stage that builds a program in Go that tests run."""
    command = ("hack/go-program", name)
    return Stage(name, command, f"{about}, for tests", quiet=True, tool=True)


STAGES = (
    Stage(
        "check", ("hack/check",), "format, lint, types, import contracts", quiet=True
    ),
    Stage("rules", ("hack/rules",), "each claimed rule has a test", quiet=True),
    Stage("docs", ("hack/docs",), "the site builds without a warning", quiet=True),
    Stage("helm", ("hack/helm",), "a real helm, for tests", quiet=True, tool=True),
    Stage(
        *("databases", ("hack/databases",), "real servers of databases, for tests"),
        quiet=True,
        tool=True,
    ),
    Stage(
        *("prometheus", ("hack/prometheus",), "a real prometheus, for tests"),
        quiet=True,
        tool=True,
    ),
    go_program("clientcmd", "kubectl's reading of kubeconfigs"),
    go_program("clientgo", "client-go"),
    go_program("crdvalidation", "Kubernetes' validation of CRDs"),
    go_program("kro", "a controller that composes our kinds"),
    Stage("test", ("hack/test",), "the test suite"),
    Stage("explore", ("hack/explore",), "what a new seed finds"),
    Stage(
        *("replay", ("hack/replay",), "recorded estates, by the whole operator"),
        needs=recordings,
    ),
    Stage(
        *("envtest", ("hack/envtest",), "a real kube-apiserver, for tests"),
        quiet=True,
        tool=True,
    ),
    Stage(
        "real",
        (
            *("hack/test", "tests/contract", "tests/acceptance", "tests/deploy"),
            *("tests/security", "-m", "real"),
        ),
        "operator, contract and installation on a real kube-apiserver",
        needs=real_server,
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
    Stage(
        *("chromium", ("hack/browser",), "a Chromium and what drives it, for tests"),
        quiet=True,
        tool=True,
    ),
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
        "rivals",
        ("hack/test", "tests/wire/test_azure_rivals.py"),
        "two thousand lives of two objects that declare one resource",
        more={"ASORECONCILE_RIVALS_COUNT": "2000"},
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
        (
            *("hack/test", "tests/unit", "tests/contract"),
            *("-m", "hypothesis and not real"),
        ),
        "two thousand new examples of each property",
        more={"HYPOTHESIS_PROFILE": "explore"},
    ),
    Stage(
        *("newest", ("hack/versions", "newest"), "the newest dependencies allowed"),
    ),
    Stage(
        *("oldest", ("hack/versions", "oldest"), "the oldest dependencies allowed"),
    ),
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
    logs = root / LOGS
    found = logs / "results"
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    everything = []
    for stage in stages:
        print(f"==> {stage.name}: {stage.about}", file=out, flush=True)
        done = run_stage(stage, root, found, out)
        everything.append(done)
        print(f"<== {done.line()}", file=out, flush=True)
        if done.failed:
            break
    summary(everything, stages[len(everything) :], results.read(found), logs, out)
    return 1 if everything[-1].failed else 0


def run_stage(stage: Stage, root: Path, found: Path, out: TextIO) -> Done:
    """Run one stage. found: the folder that runs of pytest write their results to."""
    began = time.monotonic()
    needed = stage.needs(root) if stage.needs else {}
    if isinstance(needed, str):
        return Done(stage, time.monotonic() - began, skipped=needed)
    environment = {
        **os.environ,
        **stage.more,
        **needed,
        results.FOLDER_VARIABLE: str(found),
    }
    log = root / LOGS / f"{stage.name}.log"
    with (
        log.open("w") as kept,
        subprocess.Popen(
            [root / stage.command[0], *stage.command[1:]],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            kept.write(line)
            if not stage.quiet:
                print(line, end="", file=out, flush=True)
        code = process.wait()
    seconds = time.monotonic() - began
    if code and stage.tool:
        return Done(stage, seconds, skipped=last_line(log.read_text()))
    if code and stage.quiet:
        print(log.read_text(), end="", file=out, flush=True)
    return Done(stage, seconds, failed=code)


def last_line(text: str) -> str:
    """Return the last line that says something."""
    return ([line for line in text.splitlines() if line.strip()] or ["no reason"])[-1]


def closing_line(counts: Mapping[str, int]) -> str:
    """Return how many tests had each outcome, in the words of pytest."""
    return ", ".join(
        f"{counts[what]} {what}" for what in results.OUTCOMES if what in counts
    )


def summary(
    everything: list[Done],
    rest: list[Stage],
    tests: results.Results,
    logs: Path,
    out: TextIO,
) -> None:
    """Print the table of stages, the results of the tests, and the first failure."""

    def say(*lines: str) -> None:
        for line in lines:
            print(line, file=out)

    say("", "=== stages ===", *(done.line() for done in everything))
    say(*(f"{stage.name:<12}         -  not run" for stage in rest))
    seconds = sum(done.seconds for done in everything)
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
    if everything and everything[-1].failed:
        name = everything[-1].stage.name
        say("", f"=== first failure, in {name} ===")
        if tests.failures:
            test, text = next(iter(tests.failures.items()))
            say(test, text)
        else:
            say(*(logs / f"{name}.log").read_text().splitlines()[-LAST_LINES:])
        say("", f"=== FAILED: {name} ===")
    if tests.counts:
        say("", f"=== {closing_line(tests.counts)} in {seconds:.2f}s ===")
    out.flush()
