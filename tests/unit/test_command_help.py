"""Every command teaches how it is used."""

import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from kubeapi import kube_server

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.cmd.asoctl import main as asoctl
from asoreconcile.azure.cmd.asoreconcile import main as asoreconcile
from asoreconcile.azure.cmd.lazy_group import HELP_NAMES
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind
from asoreconcile.testing.arm import ArmServer

ROOT = Path(__file__).resolve().parents[2]
WEBSITES = """
import attrs
from asoreconcile import ObjectMeta, resource


@resource("example.com/v1", plural="websites")
@attrs.define
class Website:
    metadata: ObjectMeta
"""
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
        context = click.Context(command, **HELP_NAMES)
        for name in command.list_commands(context):
            yield from below(command.get_command(context, name), [*path, name])


COMMANDS = [*below(asoreconcile, ["asoreconcile"]), *below(asoctl, ["asoctl"])]


# These read or change the whole cluster, or run once.
WHOLE_CLUSTER = {
    "clean crds": {"-n", "-A", "-l", "-w"},
    "doctor": {"-A", "-l"},
    "uninstall": {"-n", "-A", "-l", "-o", "-w"},
    "ui": {"-l", "-o", "-w"},
}


def test_commands_that_read_a_cluster_have_kubectl_s_options():
    for path, command in COMMANDS:
        options = {name for one in command.params for name in one.opts}
        if "--context" in options:
            wanted = {"--kubeconfig", "-n", "-A", "-l", "-o", "-w"}
            wanted -= WHOLE_CLUSTER.get(" ".join(path[1:]), set())
            assert wanted <= options, path


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS]
)
def test_help_says_what_a_command_does_and_shows_an_example(path, command):
    # A command keeps the names of its help from its first call in a process.
    done = CliRunner().invoke(command, ["--help"], **HELP_NAMES)
    assert done.exit_code == 0, done.output
    assert command.help
    if not isinstance(command, click.Group):
        assert "Example" in done.output


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS]
)
def test_an_unknown_option_is_bad_usage(path, command):
    done = CliRunner().invoke(command, ["--no-such-option"], **HELP_NAMES)
    assert done.exit_code == 2


@pytest.mark.parametrize(
    "command",
    [
        "from asoreconcile.azure.cmd.asoreconcile import main; main(['kinds', 'crd'])",
        "from asoreconcile.azure.cmd.asoctl import main; main(['render', '-f', 'many.yaml'])",
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
# The exit code and output of an example, in a cluster and an Azure that have the
# objects of these manifests. Other examples serve, and are only parsed.
RUN = {
    "kinds": (0, ""),
    "render": (0, "method: PUT"),
    "convert": (0, "kind: VirtualNetwork"),
    "extensions": (0, ""),
    "version": (0, "kinds"),
    "crds": (0, "kind: CustomResourceDefinition"),
    "explain": (0, "To do:"),
    "doctor": (1, "there is no Deployment"),
    "clean": (0, "(CRDs looked at: 2)"),
    "export objects": (0, "kind: VirtualNetwork"),
    "export template": (0, "network.azure.com"),
    "plan": (2, "VirtualNetwork"),
    "graph": (0, "VirtualNetwork"),
    "import": (0, "kind: ResourceGroup"),
}
SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def around():
    """A cluster with a network in two namespaces, and an Azure with a group."""
    with (
        kube_server() as (server, client),
        ArmServer(subscription_id=SUBSCRIPTION) as az,
    ):
        az.seed(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/shop", {"location": "x"})
        client.post("/api/v1/namespaces", {"metadata": {"name": "shop"}}).expect(201)
        for text in MANIFESTS.values():
            obj = yaml.safe_load(text)
            group, _, version = obj["apiVersion"].partition("/")
            kind = builtin().kind(GroupKind(group, obj["kind"]))
            client.post(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                crd(kind, versions=[version]),
            ).expect(201)
            for namespace, name in (
                ("default", obj["metadata"]["name"]),
                ("shop", "net"),
            ):
                path = f"/apis/{obj['apiVersion']}/namespaces/{namespace}/{kind.plural}"
                client.post(path, {**obj, "metadata": {"name": name}}).expect(201)
        yield server, az


@pytest.mark.parametrize("words", EXAMPLES, ids=" ".join)
def test_an_example_does_what_it_says(words, tmp_path, monkeypatch, around):
    """In an empty folder, but for the files that the example names."""
    cluster, azure = around
    monkeypatch.chdir(tmp_path)
    files = {
        **MANIFESTS,
        "shop.yaml": "---".join(MANIFESTS.values()),
        "ca.pem": "pem",
        "operator.yaml": (ROOT / "deploy" / "operator.yaml").read_text(),
        "websites.py": WEBSITES,
    }
    for name in set(words) & set(files):
        Path(name).write_text(files[name])
    Path("my-manifests").mkdir()
    cluster.write_kubeconfig("kubeconfig")
    azure.write_ca("azure.pem")
    environment = {**azure.settings(), "REQUESTS_CA_BUNDLE": "azure.pem"}
    for name, value in {**environment, "KUBECONFIG": "kubeconfig"}.items():
        monkeypatch.setenv(name, value)
    main = {"asoctl": asoctl, "asoreconcile": asoreconcile}[words[0]]
    expected = RUN.get(" ".join(words[1:3])) or RUN.get(words[1])
    # Packages and modules of somebody's.
    if expected and not {"--extensions", "example.kinds"} & set(words):
        done = CliRunner().invoke(main, words[1:])
        assert done.exit_code == expected[0], done.output
        assert expected[1] in done.stdout
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


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not there")
def test_the_operator_beside_both_test_servers_starts_as_printed(tmp_path):
    """The first example of `testserver arm`, by a shell, until the operator serves."""
    (arm,) = (one for path, one in COMMANDS if path[1:] == ["testserver", "arm"])
    _, _, text = arm.help.partition("Examples:\n")
    bin_ = Path(sys.executable).parent
    with subprocess.Popen(
        ["bash", "-ec", text.partition("\b")[0]],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as shell:
        try:
            lines = iter(shell.stderr.readline, "")
            assert any('"Watching"' in line for line in lines)
        finally:
            os.killpg(shell.pid, signal.SIGTERM)
            shell.stderr.read()


def test_every_leaf_but_few_has_an_example_that_runs():
    assert len(EXAMPLES) >= 12, EXAMPLES


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("name", ["asoctl", "asoreconcile"])
def test_a_shell_is_told_how_to_complete(name, shell):
    main = {"asoctl": asoctl, "asoreconcile": asoreconcile}[name]
    variable = f"_{name.upper()}_COMPLETE"

    def ask(instruction, **environment):
        runner = CliRunner(env={variable: f"{shell}_{instruction}", **environment})
        return runner.invoke(main, prog_name=name)

    done = ask("source")
    assert done.exit_code == 0, done.output
    assert f"{variable}={shell}_complete" in done.stdout
    words = {"COMP_WORDS": f"{name} ", "COMP_CWORD": "" if shell == "fish" else "1"}
    known = {"asoctl": "render", "asoreconcile": "sandbox"}[name]
    assert known in ask("complete", **words).stdout
