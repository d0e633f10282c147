"""The author of a text or a file that a person reads or opens with our commands.

Each command is a process of its own, with little memory and CPU time.
"""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from forkserver import ForkedPopen

from asoreconcile.azure.cmd.local_cluster import LocalCluster
from asoreconcile.azure.cmd.subprocesses import ChildProcess

MEMORY_BYTES = 1 << 30
SECONDS = 60
START = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
from asoreconcile.azure.cmd.asoctl import main
main()
"""
ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
HOSTILE = "a\nerror     forged\x1b[2J\u202e\x9b31m\u2028"


def run(*arguments, folder=None):
    """Run `asoctl`; return its exit code and all that it wrote."""
    process = ForkedPopen(
        [sys.executable, "-P", "-c", START, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
    )
    with process:
        output, _ = process.communicate()
    return process.returncode, output.decode()


def laughs():
    lines = ["a0: &a0 [" + ", ".join(["lol"] * 9) + "]"]
    for at in range(1, 12):
        again = ", ".join([f"*a{at - 1}"] * 9)
        lines.append(f"a{at}: &a{at} [{again}]")
    return "\n".join(lines)


FILES = {
    "aliases of aliases": ONE + laughs(),
    "merges of merges": ONE
    + "a0: &a0 {k: 1}\n"
    + "\n".join(
        f"a{at}: &a{at} {{<<: [*a{at - 1}, *a{at - 1}], k{at}: 1}}"
        for at in range(1, 40)
    ),
    "an alias of itself": ONE + "a: &a [*a]",
    "aliases of a long text": ONE
    + "a: &a "
    + "x" * 500_000
    + "\nb: ["
    + ", ".join(["*a"] * 10_000)
    + "]",
    "an integer of 200,000 digits": ONE + "a: " + "1" * 200_000,
    "a hexadecimal of 200,000 digits": ONE + "a: 0x" + "f" * 200_000,
    "a fraction of 200,000 digits": ONE + "a: 1." + "1" * 200_000,
    "a number beyond all numbers": ONE + "a: 1e999",
    "100,000 brackets": ONE + "a: " + "[" * 100_000,
    "100,000 braces": '{"a":' * 100_000,
    "100,000 dashes": "- " * 100_000,
    "a JSON integer of 200,000 digits": '{"apiVersion":"v1","kind":"A","a":%s}'
    % ("1" * 200_000),
    "a key given twice": '{"apiVersion":"v1","kind":"A","kind":"B","metadata":{}}',
    "a key given twice by an escape": (
        '{"apiVersion":"v1","kind":"A","\\u006bind":"B","metadata":{}}'
    ),
    "code for a loader": ONE + "a: !!python/object/apply:os.system [id]",
    "no text at all": "\x00\x01\x02",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_who_sends_a_manifest_wants_its_reader_s_memory_or_commands(tmp_path, text):
    (tmp_path / "m.yaml").write_text(text)
    code, output = run("render", "-f", "m.yaml", folder=tmp_path)
    assert code == 1
    assert "Traceback" not in output
    assert output.startswith("m.yaml")
    assert len(output) < 2000


def test_who_sends_a_manifest_wants_to_write_lines_of_a_terminal(tmp_path):
    meta = {"name": HOSTILE, "annotations": {HOSTILE: HOSTILE}}
    obj = {"apiVersion": HOSTILE, "kind": HOSTILE, "metadata": meta}
    group = {
        **obj,
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "spec": {HOSTILE: HOSTILE, "location": [HOSTILE]},
    }
    for number, document in enumerate((obj, group)):
        (tmp_path / f"m{number}.json").write_text(json.dumps(document))
        for command in ("render", "convert", "explain", "plan"):
            more = ["--to", "newest"] if command == "convert" else []
            _, output = run(command, "-f", f"m{number}.json", *more, folder=tmp_path)
            assert "Traceback" not in output
            assert not any(map(acts, output.replace("\n", "")))
            assert "\nerror     forged" not in output


def acts(char):
    return unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"}


@pytest.mark.parametrize("module", ["orjson", "click", "yaml", "sitecustomize"])
def test_who_writes_into_a_folder_wants_the_code_of_it_run(tmp_path, module):
    """A sandbox is started there: none of its processes imports from the folder."""
    mark = tmp_path / "taken"
    (tmp_path / f"{module}.py").write_text(f"open({str(mark)!r}, 'w')")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        child = ChildProcess(
            ["kinds", "list"], environment={}, log_path=tmp_path / "log"
        )
        child._process.wait(SECONDS)
        child.end()
    finally:
        os.chdir(before)
    assert not mark.exists()


def test_a_user_of_the_machine_wants_a_sandbox_s_control_token():
    """Arguments of processes are readable for every user."""
    with LocalCluster() as cluster:
        token = cluster._control_token
        for child in cluster._children:
            shown = Path(f"/proc/{child.pid}/cmdline").read_bytes()
            assert token.encode() not in shown
        assert "requests" in cluster.azure("counts") or cluster.azure("counts") == {}
