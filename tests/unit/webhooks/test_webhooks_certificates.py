"""Certificates that were made, not mounted."""

import sys
import tempfile

import pytest

from asoreconcile.base.clock import SystemClock
from asoreconcile.webhooks.serving_certificates import SelfSignedCertificate


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a file is needed")
def test_wh7_a_pair_in_memory_needs_no_folder(monkeypatch):
    """As in a pod whose root is read-only."""

    def refuse(*_args, **_options):
        raise FileNotFoundError("No usable temporary directory found")

    for name in ("mkdtemp", "mkstemp", "NamedTemporaryFile"):
        monkeypatch.setattr(tempfile, name, refuse)

    certificate = SelfSignedCertificate("tests", clock=SystemClock())

    assert certificate.context() is certificate.context()
