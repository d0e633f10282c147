"""What the documents show is what runs."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    return _BLOCK.findall((ROOT / path).read_text())


def test_the_readme_shows_the_example_controller():
    """Whole, after its docstring."""
    program = (ROOT / "tests/examples/mirror_config_maps.py").read_text()
    _, _, shown = program.partition('"""\n\n')
    assert shown in blocks("README.md")


def test_the_test_of_a_controller_passes(tmp_path):
    (program,) = blocks("asoreconcile/README.md")
    names = {}
    exec(compile(program, "asoreconcile/README.md", "exec"), names)
    names["test_greeting"](tmp_path)
