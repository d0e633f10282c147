"""Every command teaches how it is used."""

import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from asoreconcile.azure.cmd.asoctl import main as asoctl
from asoreconcile.azure.cmd.asoreconcile import main as asoreconcile

MANIFESTS = {
    "group.yaml": """
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: rg}
spec: {location: westeurope}
""",
    "vnet.yaml": """
apiVersion: network.azure.com/v1api20240301
kind: VirtualNetwork
metadata: {name: vnet}
spec:
  owner: {name: rg}
  location: westeurope
  addressSpace: {addressPrefixes: [10.0.0.0/16]}
""",
}


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
        "from asoreconcile.azure.cmd.asoreconcile import main; main(['kinds', 'crd'])",
        "from asoreconcile.azure.cmd.asoreconcile import main; main(['kinds', 'list'])",
        "from asoreconcile.azure.cmd.asoctl import main; main(['render', '-f', 'many.yaml'])",
        (
            "from asoreconcile.azure.cmd.asoctl import main; "
            "main(['convert', '-f', 'many.yaml', '--to', 'newest'])"
        ),
    ],
)
def test_a_reader_that_has_seen_enough_is_no_failure(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AZURE_SUBSCRIPTION_ID", "s")
    group = MANIFESTS["group.yaml"]
    many = "---".join(group.replace("rg", f"rg{n}") for n in range(2000))
    (tmp_path / "many.yaml").write_text(many)
    with subprocess.Popen(
        [sys.executable, "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


def examples(path, command):
    """The commands of ours in its help, continued lines joined."""
    text = re.sub(r"(\\|(\|))\n\s*", r"\2 ", command.help.replace("\b", ""))
    for line in text.splitlines():
        if path[0] not in line:
            continue
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>")
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            words = list(lexer)
        except ValueError:
            continue  # prose with an apostrophe
        for is_between, part in itertools.groupby(words, lambda w: w[0] in ";|&<>"):
            given = list(part)
            while given and re.fullmatch(r"[A-Z_]+=.*", given[0]):
                given.pop(0)
            if not is_between and given[:1] == [path[0]] and given[1:]:
                yield given


EXAMPLES = [words for path, command in COMMANDS for words in examples(path, command)]
RUN = ("kinds", "render", "convert", "extensions")


@pytest.mark.parametrize("words", EXAMPLES, ids=" ".join)
def test_an_example_is_taken_as_it_stands(words, tmp_path, monkeypatch):
    """Those that look and print are run; those that serve are only parsed."""
    monkeypatch.chdir(tmp_path)
    for name in set(words) & {"group.yaml", "vnet.yaml", "ca.pem"}:
        Path(name).write_text(MANIFESTS.get(name, "pem"))
    Path("my-manifests").mkdir()
    main = {"asoctl": asoctl, "asoreconcile": asoreconcile}[words[0]]
    if words[1] in RUN and "--extensions" not in words:  # a package of somebody's
        done = CliRunner().invoke(main, words[1:])
        assert done.exit_code == 0, done.output
        assert done.stdout
        return
    context, rest = None, words
    while rest:
        context = main.make_context(rest[0], list(rest[1:]), parent=context)
        if not isinstance(main, click.Group):
            break
        _, main, after = main.resolve_command(
            context, context._protected_args + context.args
        )
        rest = [main.name, *after]


def test_every_leaf_but_few_has_an_example_that_runs():
    assert len(EXAMPLES) >= 12, EXAMPLES


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("name", ["asoctl", "asoreconcile"])
def test_a_shell_is_told_how_to_complete(name, shell):
    command = (
        f"from asoreconcile.azure.cmd.{name} import main; main(prog_name={name!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", command],
        env={**os.environ, f"_{name.upper()}_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"_{name.upper()}_COMPLETE={shell}_complete" in done.stdout
    asked = subprocess.run(
        [sys.executable, "-c", command],
        env={
            **os.environ,
            f"_{name.upper()}_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": f"{name} ",
            "COMP_CWORD": "" if shell == "fish" else "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    known = {"asoctl": "render", "asoreconcile": "sandbox"}[name]
    assert known in asked.stdout
