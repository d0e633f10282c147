"""A pytest plugin: a failed test is run again alone, twice, in a fresh process.

If both runs pass, the test is flaky: it fails nothing, is printed under FLAKY with its
first failure, and gets an entry in `tests/flaky.toml`. If one of the two fails, the
test has failed. The repeats use the options of the run, its seeds included.
Deterministic tests get no second chance; after more than ten failures no test does.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gate import flaky

MOST_FAILURES = 10
REPEATS = 2
# Longer than any test may take (`timeout` in pyproject.toml), with its fixtures.
REPEAT_SECONDS = 600
# Golden pairs and replayed recordings are here too.
DETERMINISTIC = ("tests/parity/",)


class SecondChance:
    """The plugin, for the process that reports: with xdist, not for its workers."""

    def __init__(self, *, today: date | None = None) -> None:
        self._today = today or datetime.now(UTC).date()
        self.flaky: list[pytest.TestReport] = []
        self._lines: list[str] = []

    @pytest.hookimpl(trylast=True)  # by then the workers of xdist are gone
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Run failed tests again, before the terminal prints its summary."""
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        assert reporter is not None
        if exitstatus == pytest.ExitCode.TESTS_FAILED and not session.shouldfail:
            failed = reporter.stats.get("failed", []) + reporter.stats.get("error", [])
            if self._judge(session.config, reporter, failed):
                session.exitstatus = pytest.ExitCode.OK
        entries = flaky.read(session.config.rootpath)
        if len(entries) > flaky.MOST_ENTRIES:
            self._lines.append(
                f"{flaky.FILE} has {len(entries)} entries: more than "
                f"{flaky.MOST_ENTRIES} fail the run; mend their causes"
            )
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _judge(
        self,
        config: pytest.Config,
        reporter: "pytest.TerminalReporter",
        failed: Sequence[pytest.TestReport | pytest.CollectReport],
    ) -> bool:
        """Run failed tests again; return whether all of them were flaky."""
        tests = [report for report in failed if isinstance(report, pytest.TestReport)]
        ids = list(dict.fromkeys(report.nodeid for report in tests))
        if len(tests) < len(failed):
            return False  # a file that cannot be collected cannot be run again
        if len(ids) > MOST_FAILURES:
            self._lines.append(
                f"{len(ids)} tests failed: more than {MOST_FAILURES} are not run again"
            )
            return False
        passed = {test for test in ids if self._passes(config, reporter, test)}
        first = {report.nodeid: report for report in reversed(tests)}
        self.flaky = [first[test] for test in ids if test in passed]
        if self.flaky:
            self._forgive(reporter)
            self._keep(config.rootpath)
        return len(passed) == len(ids)

    def _passes(
        self, config: pytest.Config, reporter: "pytest.TerminalReporter", test: str
    ) -> bool:
        if test.startswith(DETERMINISTIC):
            self._lines.append(f"not run again, being deterministic: {test}")
            return False
        for number in range(1, REPEATS + 1):
            reporter.write_line(f"\nrunning again alone ({number}): {test}")
            if not passes_alone(repeat_command(config, test), config.rootpath):
                self._lines.append(f"failed again alone ({number}): {test}")
                return False
        return True

    def _forgive(self, reporter: "pytest.TerminalReporter") -> None:
        """Move the reports of flaky tests: the closing line counts them apart."""
        flaky_ids = {report.nodeid for report in self.flaky}
        for outcome in ("failed", "error"):
            reports = reporter.stats.pop(outcome, [])
            kept = [report for report in reports if report.nodeid not in flaky_ids]
            if kept:
                reporter.stats[outcome] = kept
        reporter.stats["flaky"] = list(self.flaky)

    def _keep(self, root: Path) -> None:
        entries = [
            flaky.Entry(report.nodeid, self._today, first_line(report))
            for report in self.flaky
        ]
        for entry in flaky.add(root, entries):
            self._lines.append(f"added to {flaky.FILE}, to be committed:{entry.text()}")

    def pytest_terminal_summary(
        self, terminalreporter: "pytest.TerminalReporter"
    ) -> None:
        """Print flaky tests with their first failures, and the fate of others."""
        if self.flaky:
            terminalreporter.section("FLAKY")
            for report in self.flaky:
                terminalreporter.write_line(
                    f"{report.nodeid} failed, then passed twice"
                )
                terminalreporter.write_line(report.longreprtext)
        if self._lines:
            terminalreporter.section("second chance")
            for line in self._lines:
                terminalreporter.write_line(line)


def repeat_command(config: pytest.Config, test: str) -> list[str]:
    """Return the command that runs one test as this run does, but alone."""
    given = [str(argument) for argument in config.invocation_params.args]
    if config.args_source == pytest.Config.ArgsSource.ARGS:
        given = [text for text in given if text not in config.args]
    command = [sys.executable, "-m", "pytest", *given, "-n0", "--quiet"]
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        command.append(f"--randomly-seed={seed}")
    path, mark, rest = test.partition("::")
    return [*command, f"{config.rootpath / path}{mark}{rest}"]


def passes_alone(command: list[str], folder: Path) -> bool:
    """Return whether a pytest command runs at least one test and all of them pass.

    A skipped test has not passed.
    """
    with tempfile.TemporaryDirectory(prefix="asoreconcile-") as place:
        results = Path(place, "results.xml")
        try:
            done = subprocess.run(
                [*command, f"--junitxml={results}"],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=REPEAT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        if done.returncode or not results.exists():
            return False
        suite = ET.parse(results).getroot().find("testsuite")
        assert suite is not None
        bad = sum(int(suite.get(k, "0")) for k in ("errors", "failures", "skipped"))
        return int(suite.get("tests", "0")) > 0 and bad == 0


def first_line(report: pytest.TestReport) -> str:
    """Return the first line of a test's failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    return (text.strip().splitlines() or ["?"])[0][:300]
