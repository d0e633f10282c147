"""What an import shows while it reads: a bar on a terminal, lines in a log."""

import io

import pytest

from asoreconcile.azure.cmd.import_progress import LineReporter, progress
from asoreconcile.azure.reconcile.planning.resource_import.report import ImportOutcome
from asoreconcile.base.objects import GroupKind

KIND = GroupKind("network.azure.com", "VirtualNetwork")


def outcome(status="imported", **more):
    return ImportOutcome("/x", KIND, status, **more)


def test_a_short_import_says_nothing_in_a_log(capsys, clock):
    reporter = LineReporter(clock)
    reporter.found(2)
    reporter.outcome(outcome())
    clock.advance(9.9)
    reporter.outcome(outcome())
    assert capsys.readouterr() == ("", "")


def test_a_long_one_says_how_far_it_is_every_ten_seconds(capsys, clock):
    reporter = LineReporter(clock)
    reporter.found(40)
    for _ in range(4):
        clock.advance(5)
        reporter.outcome(outcome())
    reporter.outcome(outcome("failed"))
    clock.advance(10)
    reporter.outcome(outcome("failed", is_list=True))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "2 of 40 read;",
        "4 of 40 read;",
        "5 of 40 read; 1 failed",
    ]


def test_waits_are_said_at_once_and_not_each_of_them(capsys, clock):
    reporter = LineReporter(clock)
    for _ in range(5):
        reporter.waiting(17.0, "Azure throttles reads")
        clock.advance(4)
    assert capsys.readouterr().err.splitlines() == [
        "0 of 0 read; waiting 17 s: Azure throttles reads",
        "0 of 0 read; waiting 17 s: Azure throttles reads",
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Puts one in the place of standard error, which pytest has taken by then."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def placed():
        made = Terminal()
        monkeypatch.setattr("sys.stderr", made)
        return made

    return placed


def test_a_terminal_has_a_bar_which_goes_at_the_end(terminal):
    screen = terminal()
    with progress() as reporter:
        reporter.found(3)
        reporter.outcome(outcome())
        reporter.waiting(17.0, "Azure throttles [reads]")
        reporter.outcome(outcome("failed"))
    shown = screen.getvalue()
    assert "2/3" in shown
    assert "1 failed" in shown
    # The last line is erased: the report begins where the bar was.
    assert shown.endswith("\x1b[2K")


def test_a_bar_says_what_it_waits_for(terminal):
    screen = terminal()
    with progress() as reporter:
        reporter.found(3)
        reporter.waiting(17.0, "Azure throttles [reads]")
    assert "waiting 17 s: Azure throttles [reads]" in screen.getvalue()
