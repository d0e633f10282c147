"""Every command teaches how it is used."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from asoreconcile.cmd.asoctl import main as asoctl
from asoreconcile.cmd.asoreconcile import main as asoreconcile


def below(command, path):
    """A command and all those under it, with their words."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from below(command.get_command(context, name), [*path, name])


COMMANDS = [*below(asoreconcile, ["asoreconcile"]), *below(asoctl, ["asoctl"])]


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS]
)
def test_help_says_what_a_command_does_and_shows_an_example(path, command):
    done = CliRunner().invoke(command, ["--help"])
    assert done.exit_code == 0, done.output
    assert command.help
    if not isinstance(command, click.Group):
        assert "Example" in done.output


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS]
)
def test_an_unknown_option_is_bad_usage(path, command):
    assert CliRunner().invoke(command, ["--no-such-option"]).exit_code == 2


@pytest.mark.parametrize(
    "command",
    [
        "from asoreconcile.cmd.asoreconcile import main; main(['kinds', 'crd'])",
        "from asoreconcile.cmd.asoreconcile import main; main(['kinds', 'list'])",
    ],
)
def test_a_reader_that_has_seen_enough_is_no_failure(command):
    with subprocess.Popen(
        [sys.executable, "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0
