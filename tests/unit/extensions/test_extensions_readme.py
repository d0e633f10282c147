"""The README's example runs, and its own test passes; its table names every point."""

import re
from pathlib import Path

from extensions_chains import _kinds

from asoreconcile.middleware import factories, points
from asoreconcile.middleware.chain import Extensions

README = Path(__file__).resolve().parents[3] / "extensions" / "README.md"


def python_blocks():
    return re.findall(
        r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL
    )


def test_the_example_passes_its_own_tests():
    module = {"__name__": "readme_example"}
    for block in python_blocks():
        exec(compile(block, str(README), "exec"), module)
    tests = [name for name in module if name.startswith("test_")]
    assert len(tests) == 3
    for name in tests:
        module[name]()
    composed = Extensions.compose([module["EXTENSIONS"]], kinds=_kinds())
    assert composed.has(points.PRE_RECONCILE_OWNER, module["DATABASE"])


def test_every_point_and_factory_is_told_of():
    text = README.read_text()
    names = {name for name, value in vars(points).items() if value in points.POINTS}
    made = {
        name for name in factories.__all__ if name.startswith(("block_", "export_"))
    }
    made |= {"reclassify", "keep_children"}
    assert {name for name in names | made if f"`{name}" not in text} == set()
