"""`asoctl ui` opens the page in a browser, but only if it runs at a terminal."""

import re
import sys
import threading
import webbrowser
from contextlib import nullcontext

import pytest
from kubeapi import kube_server

from asoreconcile.azure.cmd.ui import command


@pytest.mark.parametrize(
    ("flags", "is_terminal", "count"),
    [([], True, 1), (["--open"], False, 0), (["--no-open"], True, 0)],
)
def test_the_page_is_opened_in_a_browser(
    monkeypatch, tmp_path, flags, is_terminal, count
):
    over, opened = threading.Event(), []
    over.set()
    monkeypatch.setattr(command, "stop_event", lambda: nullcontext(over))
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    with kube_server() as (server, _):
        server.write_kubeconfig(tmp_path / "config")
        arguments = ["--kubeconfig", str(tmp_path / "config"), *flags]
        command.ui.main(arguments, standalone_mode=False)
    assert len(opened) == count
    # A file: every user of the machine sees a browser's arguments.
    assert all(re.fullmatch(r"file:///\S+/page\.html", one) for one in opened)
