"""The provenance of built files: an in-toto statement with SLSA's predicate.

It names the sources and locks that the files were made of. `hack/release` and
`hack/image` write one for their files.
"""

import hashlib
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def write(
    target: Path, files: Iterable[Path], *, command: str, locks: Iterable[str]
) -> None:
    """Write the statement about some files.

    command: name of the program that made them, `hack/release`. locks: paths in the
    repository of files that name the other inputs.
    """
    made = statement(files, command=command, locks=locks, commit=_commit())
    target.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")


def statement(
    files: Iterable[Path], *, command: str, locks: Iterable[str], commit: str
) -> dict[str, Any]:
    """Return the statement. commit: id of the sources' commit; "" if it is not
    known.
    """
    materials: list[dict[str, Any]] = [
        {"name": name, "digest": {"sha256": _sha256(ROOT / name)}} for name in locks
    ]
    if commit:
        materials.insert(0, {"name": "sources", "digest": {"gitCommit": commit}})
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": file.name, "digest": {"sha256": _sha256(file)}}
            for file in sorted(files)
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"urn:asoreconcile:{command}",
                "externalParameters": {"command": command},
                "resolvedDependencies": materials,
            },
            "runDetails": {"builder": {"id": f"urn:asoreconcile:{command}"}},
        },
    }


def _commit() -> str:
    """Return the commit of the sources if nothing differs from it, else ""."""
    git = ["git", "-C", str(ROOT)]
    status = subprocess.run(
        [*git, "status", "--porcelain"], capture_output=True, text=True, check=False
    )
    if status.returncode or status.stdout.strip():
        return ""
    done = subprocess.run(
        [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
