"""An installation without users of databases pays for none of their drivers."""

import subprocess
import sys

DRIVERS = ("OpenSSL", "pg8000", "pymysql", "pytds")


def test_no_driver_is_imported_before_a_user_needs_one():
    program = (
        "import sys\n"
        "from types import SimpleNamespace\n"
        "from asoreconcile.base.clock import SystemClock\n"
        "from asoreconcile.azure.controllers.azure_controllers import (\n"
        "    external_resources)\n"
        "closing = []\n"
        "app = SimpleNamespace(\n"
        "    clock=SystemClock(), fence=None, on_close=closing.append)\n"
        "made = external_resources(app)\n"
        "assert len(made) == 6 and len(closing) == 3, made\n"
        f"print([name for name in {DRIVERS!r} if name in sys.modules])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
