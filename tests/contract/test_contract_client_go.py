"""client-go with its defaults, protobuf among them: built-in kinds and widgets.

`hack/go-program clientgo` builds the program; the tests are skipped if it is not there.
"""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import goprograms
import pytest
from contractclient import Server
from learnmessages import KINDS

from asoreconcile.testing.kube import kubeconfigs
from asoreconcile.testing.kube.wire import protobuf

SEED = int(os.environ.get("ASORECONCILE_CONTRACT_SEED", "1"))
SAMPLES = 30


@pytest.fixture(scope="module")
def program() -> str:
    return goprograms.built("clientgo")


@pytest.mark.timeout(120)
def test_a_program_of_client_go_does_its_work(
    server: Server, namespace: str, program: str, tmp_path: Path
):
    config = tmp_path / "kubeconfig"
    authority = server.authority_pem.encode()
    document = kubeconfigs.kubeconfig(server.url, authority, server.token)
    kubeconfigs.write(config, kubeconfigs.text(document))
    done = subprocess.run(
        [program, "scenario", namespace],
        env={"KUBECONFIG": str(config), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_bodies_in_protobuf_are_read_as_kubernetes_reads_them(program: str):
    done = subprocess.run(
        [program, "samples", str(SEED), str(SAMPLES)],
        input="\n".join(KINDS),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == SAMPLES * len(KINDS)
    for line in lines:
        found = protobuf.decode(base64.b64decode(line["protobuf"]))
        assert without_nulls(found) == without_nulls(line["json"]), f"seed {SEED}"


def without_nulls(value: Any) -> Any:
    """Return a value without members that are null: Go's JSON writes some, and a
    server drops them.
    """
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value
