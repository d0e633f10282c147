"""New tests are compiled before several workers collect them."""

import sys

from gate.compiled import compile_tests, new_tests


def test_tests_without_bytecode_are_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "kept"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take a second
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    root = tmp_path / "project"
    files = [root / "tests" / name / "test_it.py" for name in "abc"]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("def test_it():\n    assert True\n")
        (file.parent / "__init__.py").touch()
    (root / "pytest.ini").touch()
    assert new_tests(root) == files
    compile_tests(files, root)
    assert new_tests(root) == []
