"""The protobuf fields of built-in kinds, taken from Go's types:
`hack/kube-messages`.
"""

import json
import subprocess
import sys
from pathlib import Path

from asoreconcile.testing.kube.kinds.resources import BUILT_IN

TARGET = Path(__file__).parents[2] / "asoreconcile/testing/kube/wire/messages.json"
# Kinds that are sent, and stored nowhere.
_SENT = (
    *("/v1/DeleteOptions", "/v1/Binding", "policy/v1/Eviction"),
    *("autoscaling/v1/Scale", "authentication.k8s.io/v1/TokenRequest"),
    *("authentication.k8s.io/v1/TokenReview",),
    *("authentication.k8s.io/v1/SelfSubjectReview",),
    *("authorization.k8s.io/v1/LocalSubjectAccessReview",),
    *("authorization.k8s.io/v1/SelfSubjectAccessReview",),
    *("authorization.k8s.io/v1/SelfSubjectRulesReview",),
    *("authorization.k8s.io/v1/SubjectAccessReview",),
)
KINDS = (*(f"{one.group}/{one.version}/{one.kind}" for one in BUILT_IN), *_SENT)


def main() -> None:
    program, *options = sys.argv[1:]
    done = subprocess.run(
        [program, "messages"],
        input="\n".join(KINDS),
        capture_output=True,
        text=True,
        check=True,
    )
    rows = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(fields, separators=(',', ':'))}"
        for name, fields in sorted(json.loads(done.stdout).items())
    )
    text = f"{{\n{rows}\n}}\n"
    if "--check" not in options:
        TARGET.write_text(text)
    elif TARGET.read_text() != text:
        sys.exit(f"{TARGET} is not what Go's types say: run hack/kube-messages")


if __name__ == "__main__":
    main()
