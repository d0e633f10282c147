"""Run a program of this repository, which ends if its output is no longer read.

    python hack/run.py PROGRAM [ARGUMENT...]

So `hack/prose | head` ends without a traceback, with exit code 0.
"""

import os
import runpy
import sys
from pathlib import Path

del sys.argv[0]
sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
try:
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        sys.stdout.flush()
except BrokenPipeError:
    # Otherwise the interpreter would try to write the rest at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
