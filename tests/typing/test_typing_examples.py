"""A strict type checker accepts the example controllers, and so the API that they
use.
"""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = (
    "ephemeral_volumes.py",
    "memcached.py",
    "mirror_config_maps.py",
    "typed_websites.py",
    "websites.py",
)
# Tests are shown without types, as pytest's own pages do.
PAGES = ("README.md", "asoreconcile/README.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(300)  # a cold mypy reads the whole dependency tree
def test_examples_are_typed(monkeypatch):
    api = pytest.importorskip("mypy.api")
    monkeypatch.chdir(REPOSITORY)
    files = [f"tests/examples/{name}" for name in EXAMPLES]
    out, err, status = api.run(["--strict", "--follow-imports=silent", *files])
    assert (status, err) == (0, ""), out


@pytest.mark.timeout(300)
def test_what_the_pages_show_is_typed(monkeypatch, tmp_path):
    """Line by line: an error names the page's line."""
    api = pytest.importorskip("mypy.api")
    monkeypatch.chdir(REPOSITORY)
    files = []
    for page in PAGES:
        text = Path(page).read_text()
        found = list(BLOCK.finditer(text))
        assert found, page
        for number, block in enumerate(found):
            name = page.removesuffix(".md").replace("/", "_")
            file = tmp_path / f"{name}_{number}.py"
            above = text[: block.start(1)].count("\n")
            file.write_text("\n" * above + block[1])
            files.append(str(file))
    out, err, status = api.run(["--strict", "--follow-imports=silent", *files])
    assert (status, err) == (0, ""), out
