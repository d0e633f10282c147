"""The example controllers, and so what they use, stand before a strict type checker."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = ("mirror_config_maps.py", "websites.py")


@pytest.mark.timeout(300)  # a cold mypy reads the whole dependency tree
def test_examples_are_typed(monkeypatch):
    api = pytest.importorskip("mypy.api")
    monkeypatch.chdir(REPOSITORY)
    files = [f"tests/examples/{name}" for name in EXAMPLES]
    out, err, status = api.run(["--strict", "--follow-imports=silent", *files])
    assert (status, err) == (0, ""), out
