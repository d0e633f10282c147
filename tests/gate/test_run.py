"""Commands of contributors whose output is read in part."""

import re
import subprocess
import sys
from pathlib import Path

HACK = Path(__file__).resolve().parents[2] / "hack"
# pytest writes until its end: a half-read run would leave processes.
UNREAD = {"test", "image"}


def test_a_command_ends_when_its_output_is_no_longer_read(tmp_path):
    """Every command is run in this way, so `hack/prose | head -1` ends, too."""
    program = tmp_path / "long.py"
    program.write_text("import sys\nfor n in range(100_000): print(sys.argv, n)\n")
    command = [sys.executable, HACK / "run.py", program, "one"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == f"{[str(program), 'one']} 0\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0

    direct = re.compile(r"^exec .*python\" (?!.*run\.py)", re.MULTILINE)
    commands = [path for path in HACK.iterdir() if not path.suffix and path.is_file()]
    assert {one.name for one in commands if direct.search(one.read_text())} == UNREAD
