"""kubectl's habits: completion, `-w`, `-o`, colour, and a name that was mistyped."""

import base64
import json
import sys
import threading
from datetime import UTC, datetime

import click
import pytest
import yaml
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from kubeapi import kube_server

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.cmd import sharedoptions, start, terminal
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.certificates import Authority
from asoreconcile.base.objects import GroupKind

GROUPS = "/apis/resources.azure.com/v1api20200601/namespaces/default/resourcegroups"


@pytest.fixture(scope="module")
def server():
    with kube_server() as (kube, client):
        kind = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        client.post(path, crd(kind, versions=["v1api20200601"])).expect(201)
        group = {
            "apiVersion": "resources.azure.com/v1api20200601",
            "kind": "ResourceGroup",
            "metadata": {"name": "shop"},
            "spec": {"location": "x"},
        }
        client.post(GROUPS, group).expect(201)
        yield kube, client


@pytest.fixture(autouse=True)
def cluster(server, tmp_path, monkeypatch):
    server[0].write_kubeconfig(tmp_path / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    return server[1]


@pytest.mark.parametrize(
    ("words", "incomplete", "found"),
    [
        (["explain", "--context"], "", lambda given: given == [context()]),
        (["explain", "-n"], "def", lambda given: given == ["default"]),
        (["explain"], "resourceg", lambda given: given == ["resourcegroup"]),
        (["explain", "resourcegroup"], "s", lambda given: given == ["shop"]),
        (["explain", "rg"], "", lambda given: given == ["shop"]),
        (["explain", "--context", "no", "-n"], "", lambda given: given == []),
        (["doctor", "--operator-namespace"], "default", lambda given: len(given) == 1),
    ],
)
def test_contexts_namespaces_kinds_and_names_are_completed(words, incomplete, found):
    given = ShellComplete(main, {}, "asoctl", "").get_completions(words, incomplete)
    assert found([one.value for one in given])


def context():
    import os
    from pathlib import Path

    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    return config["current-context"]


def test_kubectl_is_told_the_same(monkeypatch, capsys):
    words = ["kubectl_complete-aso", "explain", "resourcegroup", ""]
    monkeypatch.setattr(sys, "argv", words)
    start.complete()
    assert capsys.readouterr().out.splitlines() == ["shop", ":4"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explian"], "No such command 'explian'; did you mean explain?"),
        (["export", "objcts"], "No such command 'objcts'; did you mean objects?"),
        (["extensions", "lst"], "No such command 'lst'; did you mean list?"),
    ],
)
def test_a_mistyped_command_is_told_with_the_nearest(words, said):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize("words", [["export", "objects"], ["clean", "crds"]])
def test_output_is_json_if_asked(words):
    done = CliRunner().invoke(main, [*words, "-o", "json"])
    assert done.exit_code == 0
    assert [json.loads(line) for line in done.stdout.splitlines()]


def test_a_watch_prints_again_only_what_changed(monkeypatch, cluster):
    paused = []

    def sleep(_seconds):
        paused.append(len(paused))
        if len(paused) == 2:
            cluster.delete(f"{GROUPS}/gone").expect(200)
        if len(paused) == 4:
            raise KeyboardInterrupt

    gone = {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": "gone"},
        "spec": {"location": "x"},
    }
    cluster.post(GROUPS, gone).expect(201)
    monkeypatch.setattr(sharedoptions.time, "sleep", sleep)
    done = CliRunner().invoke(main, ["explain", "-w"])
    assert done.exit_code == 0
    assert done.stdout.count("Azure object") == 2
    assert "2 Azure objects, 2 not Ready" in done.stdout
    assert done.stdout.endswith("1 Azure object, 1 not Ready\n")


@pytest.mark.parametrize("is_plain", [True, False])
def test_a_terminal_gets_colour_and_hanging_indents(monkeypatch, capsys, is_plain):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("NO_COLOR", "1" if is_plain else "")
    monkeypatch.setattr(click, "echo", lambda text, **_: sys.stdout.write(f"{text}\n"))
    terminal.say_wrapped("error  one two three four", hang=7, colour="red")
    error = "error" if is_plain else click.style("error", fg="red")
    assert capsys.readouterr().out == f"{error}  one two three\n       four\n"


def test_a_command_that_waits_says_so_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(terminal, "_SILENT_SECONDS", 0.001)
    with terminal.waiting_shown("asoctl"):
        while "waiting for an answer" not in sys.stderr.getvalue():
            threading.Event().wait(0.001)
        terminal.say("done")
        written = sys.stderr.getvalue()
        terminal.say("more")
        terminal.say_step("and on")
        while sys.stderr.getvalue() == written:
            threading.Event().wait(0.001)
    assert written.startswith("\rasoctl: waiting for an answer, 0 s")
    assert written.endswith("\r\x1b[K")
    assert capsys.readouterr().out == "done\nmore\nand on\n"


def test_a_user_and_a_server_that_are_not_the_ones_meant_are_told(tmp_path):
    file = tmp_path / "kubeconfig"
    config = yaml.safe_load(file.read_text())
    config["users"][0]["user"] = {"token": "unknown"}
    file.write_text(yaml.safe_dump(config))
    for command in ("explain", "doctor"):
        said = CliRunner().invoke(main, [command]).output
        assert "does not accept the credentials of the kubeconfig: sign in" in said
        assert len(said.splitlines()) == 1
    other = Authority.make("other", now=datetime.now(UTC), days=1).pem
    trusted = {"certificate-authority-data": base64.b64encode(other).decode()}
    config["clusters"][0]["cluster"] |= trusted
    file.write_text(yaml.safe_dump(config))
    said = CliRunner().invoke(main, ["explain"]).output
    assert "the authority in the kubeconfig did not sign the certificate" in said
