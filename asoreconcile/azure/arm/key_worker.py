"""The process that opens one encrypted key, within limits of CPU time and memory.

Run by `key_files` as `python -m asoreconcile.azure.arm.key_worker SECONDS`. Standard
input is JSON with `content` in base64 and `password`; standard output is JSON with
`pem` or `problem`. A key that takes too long ends this process without an output.
"""

import base64
import sys
from contextlib import suppress
from pathlib import Path

from asoreconcile.azure.arm.key_content import opened
from asoreconcile.azure.arm.key_files import MOST_BYTES, UnusableKeyError
from asoreconcile.base import jsontext

# In addition to the derivation: the parts of the file, and OpenSSL's own tables.
_MORE_BYTES = 64 * 1024 * 1024


def _bound(cpu_seconds: int) -> None:
    """Limit the CPU time and the growth of this process, if the system supports
    that.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MOST_BYTES + _MORE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        # If the container runs out of memory, the kernel should end this process.
        Path("/proc/self/oom_score_adj").write_text("1000")


def main() -> None:
    """Answer the one request on standard input."""
    # Imported before the limit, which is about the key and not about libraries.
    import cryptography.hazmat.primitives.serialization.pkcs12
    import cryptography.x509  # noqa: F401

    request = jsontext.loads(sys.stdin.buffer.read())
    content = base64.b64decode(request["content"])
    _bound(int(sys.argv[1]))
    try:
        answer = {"pem": opened(content, request["password"]).decode()}
    except UnusableKeyError as error:
        answer = {"problem": str(error)}
    sys.stdout.buffer.write(jsontext.dumps(answer))


if __name__ == "__main__":
    main()
