"""The engine's process finds no file but libraries, and no other process."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from asoreconcile.azure.expressions.confinement import confine

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Landlock is of Linux")


def printed(code, **options):
    """Return the output of a Python program."""
    started = [sys.executable, "-P", "-c", textwrap.dedent(code)]
    done = subprocess.run(
        started, capture_output=True, text=True, check=True, timeout=60, **options
    )
    return done.stdout.split()


CONFINED = """
    import os, socket, sys
    from asoreconcile.azure.expressions.confinement import confine
    if not confine():
        print("unsupported")
        sys.exit()
    for act in (
        lambda: open(sys.argv[1] if len(sys.argv) > 1 else os.environ["TOKEN"]).read(),
        lambda: open(f"/proc/{os.getppid()}/environ", "rb").read(),
        lambda: open("/etc/passwd").read(),
        lambda: os.listdir("/tmp"),
        lambda: open(os.path.join(os.environ["FOLDER"], "new"), "w"),
        lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"]))),
        lambda: os.kill(os.getppid(), 0),
    ):
        try:
            act()
            print("done")
        except OSError as error:
            print(type(error).__name__)
    import colorsys, decimal
    print("imports")
"""


@LINUX
def test_a_confined_process_reads_libraries_and_nothing_else(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret")
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        found = printed(
            CONFINED,
            env={
                **os.environ,
                "TOKEN": str(token),
                "FOLDER": str(tmp_path),
                "PORT": str(server.getsockname()[1]),
            },
        )
    if found == ["unsupported"]:
        pytest.skip("this kernel has no Landlock")
    *files, connection, signal, imports = found
    assert files == ["PermissionError"] * 5
    assert imports == "imports"
    # Kernels before 6.7 and 6.12 do not forbid these.
    assert connection in {"PermissionError", "done"}
    assert signal in {"PermissionError", "done"}


@LINUX
def test_an_undumpable_process_shows_its_environment_to_no_user():
    """Its files below /proc belong to root."""
    owners = printed(
        """
        import os
        from asoreconcile.azure.expressions.confinement import forbid_dumps
        os.setuid(65532) if os.getuid() == 0 else None
        print(os.stat("/proc/self/environ").st_uid == os.getuid())
        forbid_dumps()
        print(os.stat("/proc/self/environ").st_uid)
        """,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert owners[-1] == "0"


def test_elsewhere_nothing_is_confined(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert confine() is False


def test_the_engine_s_process_confines_itself():
    source = Path(sys.modules[confine.__module__].__file__).with_name("worker_main.py")
    assert "    confine()\n" in source.read_text()
