"""`asoctl export template`: which line is replaced, and what is refused."""

import http.server
import threading
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from asoreconcile.azure.cmd import export_template
from asoreconcile.azure.cmd.asoctl import main

OPERATOR = Path(__file__).parents[4] / "deploy" / "operator.yaml"
PATTERN = "network.azure.com/*"


def run(*arguments):
    return CliRunner().invoke(main, ["export", "template", *arguments])


def arguments_in(text):
    for document in yaml.safe_load_all(text):
        if document["kind"] == "Deployment":
            (container,) = document["spec"]["template"]["spec"]["containers"]
            return container["args"]
    raise AssertionError(text)


def test_our_manifests_get_the_patterns_and_nothing_else_changes():
    done = run("--source", str(OPERATOR), "-p", PATTERN, "-p", "sql.azure.com/Server")
    assert done.exit_code == 0, done.output
    assert f"--crd-pattern={PATTERN};sql.azure.com/Server" in arguments_in(done.stdout)
    before, after = OPERATOR.read_text().splitlines(), done.stdout.splitlines()
    changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    assert len(changed) == 1
    assert done.stderr == ""


def test_raw_prints_what_is_there():
    done = run("--source", str(OPERATOR), "--raw")
    assert done.stdout == OPERATOR.read_text()


@pytest.mark.parametrize(
    "line", ["- --crd-pattern=", '- "--crd-pattern=a/b"', "- '--crd-pattern=x'"]
)
def test_the_argument_is_found_however_it_is_written(line):
    text = f"args:\n        {line}\n        - --other=1\n"
    found = yaml.safe_load(export_template.with_pattern(text, "a.com/x y: #*"))
    assert found == {"args": ["--crd-pattern=a.com/x y: #*", "--other=1"]}


def test_a_pattern_of_no_kind_is_warned_of_and_taken():
    done = run("--source", str(OPERATOR), "-p", "netwrk.azure.com/*")
    assert done.exit_code == 0
    assert "did you mean network.azure.com" in done.stderr
    assert "--crd-pattern=netwrk.azure.com/*" in arguments_in(done.stdout)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--raw"], 2, "either --source or --version"),
        (["--source", "x", "--version", "v1.2.3", "--raw"], 2, "either --source"),
        (["--source", "x"], 2, "either --crd-pattern or --raw"),
        (["--source", "x", "--raw", "-p", PATTERN], 2, "either --crd-pattern or"),
        (["--version", "2.13", "--raw"], 2, "write vN.N.N"),
        (["--source", "/none/x.yaml", "--raw"], 1, "cannot be read"),
        (["--source", __file__, "-p", PATTERN], 1, "cannot be read"),
    ],
)
def test_a_wrong_call_says_what_to_write(arguments, code, message, tmp_path):
    if arguments[:2] == ["--source", __file__]:
        empty = tmp_path / "empty.yaml"
        empty.write_text("kind: List\n")
        arguments, message = ["--source", str(empty), "-p", PATTERN], "no argument"
    done = run(*arguments)
    assert done.exit_code == code
    assert message in done.stderr
    assert done.stdout == ""


class Release(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path == "/v2.13.0/azureserviceoperator_v2.13.0.yaml"
        body = b"args:\n- --crd-pattern=\n" if found else b"not here"
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def releases(monkeypatch):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Release) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        place = f"http://127.0.0.1:{server.server_port}"
        own = "https://github.com/Azure/azure-service-operator/releases/download"
        moved = export_template._RELEASE.replace(own, place)
        monkeypatch.setattr(export_template, "_RELEASE", moved)
        yield place
        server.shutdown()
        thread.join()


def test_a_release_is_fetched(releases):
    done = run("--version", "v2.13.0", "-p", PATTERN)
    assert done.stdout == f"args:\n- --crd-pattern={PATTERN}\n", done.output
    missing = run("--version", "v9.9.9", "--raw")
    assert missing.exit_code == 1
    assert "v9.9.9.yaml: cannot be fetched: 404" in missing.stderr
    assert missing.stdout == ""
    url = f"{releases}/v2.13.0/azureserviceoperator_v2.13.0.yaml"
    assert run("--source", url, "--raw").stdout == "args:\n- --crd-pattern=\n"


def test_a_host_that_does_not_answer_is_an_error():
    done = run("--source", "http://127.0.0.1:1/x.yaml", "--raw")
    assert done.exit_code == 1
    assert "cannot be fetched" in done.stderr
