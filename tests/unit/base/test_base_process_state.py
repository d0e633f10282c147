"""Tests share a process, and see nothing of each other in it (`tests/processstate.py`)."""

import logging
import os
import sys
from pathlib import Path

from processstate import kept

from asoreconcile.base import log


def test_what_a_command_sets_up_ends_with_the_test():
    level, handlers = logging.root.level, list(logging.root.handlers)
    interval = sys.getswitchinterval()
    azure = logging.getLogger("azure.identity")
    with kept():
        log.configure(level=logging.DEBUG, errors_only=["azure.identity"])
        sys.setswitchinterval(interval / 2)
        assert not azure.isEnabledFor(logging.WARNING)
    assert azure.isEnabledFor(logging.WARNING)
    assert logging.root.level == level
    assert set(logging.root.handlers) <= set(handlers)
    assert sys.getswitchinterval() == interval


def test_environment_and_paths_are_put_back(monkeypatch, tmp_path):
    monkeypatch.setenv("KEPT", "yes")
    environment, path, folder = dict(os.environ), list(sys.path), Path.cwd()
    with kept():
        os.environ["LEFT_BEHIND"] = "yes"
        os.environ["KEPT"] = "no"
        sys.path.append("left")
        os.chdir(tmp_path)
    assert (dict(os.environ), sys.path, Path.cwd()) == (environment, path, folder)
