"""The options that ASO's asoctl has for every command."""

import pytest
from click.testing import CliRunner

from asoreconcile.azure.cmd import aso_options, import_progress
from asoreconcile.azure.cmd.asoctl import main


def run(*arguments):
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    "words",
    [
        ["--verbose", "version"],
        ["version", "--verbose"],
        ["version", "-v", "-q"],
        ["--quiet", "--simple-logging", "version"],
    ],
)
def test_flags_are_taken_before_and_after_the_command(words, monkeypatch):
    monkeypatch.setattr(aso_options.log, "configure", lambda **_: None)
    done = run(*words)
    assert (done.exit_code, done.output.split()[0]) == (0, "asoctl")


@pytest.mark.parametrize(
    ("words", "reporter"),
    [
        (["--quiet"], "Reporter"),
        (["-q", "--verbose"], "LineReporter"),
        (["--simple-logging"], "LineReporter"),
    ],
)
def test_progress_is_shown_as_the_flags_say(words, reporter, monkeypatch):
    monkeypatch.setattr(aso_options.log, "configure", lambda **_: None)
    context = main.make_context("asoctl", [*words, "version"])
    with context, import_progress.progress() as shown:
        assert type(shown).__name__ == reporter


def test_help_of_a_command_is_that_of_its_own_option():
    assert run("help", "clean", "crds").output == run("clean", "crds", "--help").output
    assert run("help").output == run("--help").output
    wrong = run("help", "cleen")
    assert (wrong.exit_code, "cleen" in wrong.output) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_that_of_the_shell(shell):
    done = run("completion", shell)
    assert done.exit_code == 0
    assert f"_ASOCTL_COMPLETE={shell}_complete" in done.output


def test_completion_for_another_shell_names_those_that_there_are():
    done = run("completion", "powershell")
    assert done.exit_code == 2
    assert "fish" in done.output
