"""Results of runs of pytest, kept as JSON for `hack/ci`, and the cost of each file.

Each run adds a file to the folder that ASORECONCILE_CI_RESULTS names. The costs of a
run of all tests are a table, `dist/ci/costs.tsv`; its second column is the run before.
"""

import json
import os
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from gate.second_chance import SecondChance

FOLDER_VARIABLE = "ASORECONCILE_CI_RESULTS"
COSTS = Path("dist", "ci", "costs.tsv")
SLOWEST = 10
# As pytest orders them in its closing line.
OUTCOMES = ("failed", "error", "passed", "skipped", "xfailed", "flaky")


@dataclass
class Results:
    """Results of one or more runs of pytest.

    counts: how many tests had each outcome. skipped: how many tests each reason kept
    from running. slowest: seconds of the slowest tests. failures: ids of failed tests,
    with the text that pytest prints of each.
    """

    counts: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    slowest: dict[str, float] = field(default_factory=dict)
    flaky: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, other: "Results") -> None:
        """Add the results of a further run."""
        self.counts = dict(Counter(self.counts) + Counter(other.counts))
        self.skipped = dict(Counter(self.skipped) + Counter(other.skipped))
        self.slowest = slowest(self.slowest | other.slowest)
        self.flaky += other.flaky
        self.failures |= other.failures


def slowest(seconds: dict[str, float]) -> dict[str, float]:
    """Return the slowest tests, the slowest first."""
    return dict(sorted(seconds.items(), key=lambda one: -one[1])[:SLOWEST])


def read(folder: Path) -> Results:
    """Return the results of all runs of a folder together."""
    together = Results()
    for path in sorted(folder.glob("*.json")):
        together.add(Results(**json.loads(path.read_text())))
    return together


class ResultsFile:
    """The plugin, for the process that reports."""

    def __init__(self, second_chance: SecondChance) -> None:
        self._second_chance = second_chance
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the time of a test: its fixtures, and itself."""
        self._seconds[report.nodeid] += report.duration

    def pytest_terminal_summary(
        self, terminalreporter: "pytest.TerminalReporter", config: pytest.Config
    ) -> None:
        """Write the files, once the second chance has judged."""
        if folder := os.environ.get(FOLDER_VARIABLE):
            found = self._found(terminalreporter)
            path = Path(folder, f"{time.time_ns()}.json")
            path.write_text(json.dumps(asdict(found)))
        if runs_everything(config):
            write_costs(config.rootpath / COSTS, self._seconds)

    def _found(self, reporter: "pytest.TerminalReporter") -> Results:
        stats = reporter.stats
        bad = stats.get("failed", []) + stats.get("error", [])
        return Results(
            counts={key: len(stats[key]) for key in OUTCOMES if stats.get(key)},
            skipped=dict(Counter(map(reason, stats.get("skipped", [])))),
            slowest=slowest(self._seconds),
            flaky=[report.nodeid for report in self._second_chance.flaky],
            failures={report.nodeid: report.longreprtext for report in bad},
        )


def reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr)


def runs_everything(config: pytest.Config) -> bool:
    """Return whether a run is of all tests, none of them left out by an option."""
    chosen = config.getoption("keyword", "") or config.getoption("markexpr", "")
    whole = config.args_source != pytest.Config.ArgsSource.ARGS
    return whole and not chosen and not config.getoption("collectonly", default=False)


def write_costs(path: Path, seconds: dict[str, float]) -> None:
    """Write seconds, seconds of the run before, and tests of each file as a table."""
    tests: Counter[str] = Counter()
    now: defaultdict[str, float] = defaultdict(float)
    for test, spent in seconds.items():
        file = test.partition("::")[0]
        tests[file] += 1
        now[file] += spent
    before = read_costs(path)
    rows = [
        f"{now[file]:.2f}\t{before.get(file, 0):.2f}\t{tests[file]}\t{file}"
        for file in sorted(now, key=lambda file: (-now[file], file))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["seconds\tbefore\ttests\tfile", *rows]) + "\n")


def read_costs(path: Path) -> dict[str, float]:
    """Return the seconds of each file in a table; none if there is no table."""
    if not path.exists():
        return {}
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    return {row[3]: float(row[0]) for row in rows}
