"""Things that readers look for, and the page that they mean.

The score is that of the site's search in short: a word counts more in a title, then in a
heading, then in the text, and less if many pages have it.
"""

import math
import re
from collections import Counter

import docs
import pytest

QUERIES = {
    "install with helm": "operator/index.md",
    "uninstall": "operator/operations.md",
    "upgrade rollback": "operator/operations.md",
    "migrate from ASO check list": "operator/migration.md",
    "active passive clusters": "operator/clusters.md",
    "best practices least privilege": "operator/practices.md",
    "workqueue_depth metric": "operator/metrics.md",
    "kyverno policy": "operator/gitops.md",
    "sandbox try without cluster": "overview.md",
    "what is missing": "overview.md",
    "how it differs from ASO": "overview.md",
    "argo cd health": "operator/gitops.md",
    "flux prune": "operator/gitops.md",
    "validatingadmissionpolicy location": "operator/gitops.md",
    "asoctl explain option namespace": "commands/asoctl.md",
    "asoctl doctor fix": "commands/asoctl.md",
    "asoctl plan subscription": "commands/asoctl.md",
    "asoreconcile testserver arm style": "commands/asoreconcile.md",
    "asoreconcile manager crd-pattern": "commands/asoreconcile.md",
    "reason WaitingForOwner": "operator/reasons.md",
    "reason SecretNotFound": "operator/reasons.md",
    "alert AsoReconcileDown": "operator/alerts.md",
    "alert no leader": "operator/alerts.md",
    "import existing azure resources": "operator/import.md",
    "keep a resource from being deleted": "operator/ownership.md",
    "maintenance window annotation": "operator/ownership.md",
    "who may write which annotation": "operator/security.md",
    "postgresql user password": "operator/databases.md",
    "entra security group": "operator/entra.md",
    "drift sync": "operator/drift.md",
    "graph of objects in a browser": "operator/page.md",
    "split by namespaces workers": "operator/scale.md",
    "write an extension": "extensions/index.md",
    "extension chains of a kind": "extensions/chains.md",
    "tutorial website controller": "tutorial.md",
    "finalizer clean up": "how-to/finalizers.md",
    "set condition status event": "how-to/status.md",
    "owned children apply": "how-to/children.md",
    "webhook certificate validate": "how-to/webhooks.md",
    "logging level info extra": "how-to/logging.md",
    "opentelemetry traces spans": "how-to/tracing.md",
    "several clusters": "how-to/clusters.md",
    "leader election replicas": "how-to/replicas.md",
    "typed resource class crd": "how-to/typed.md",
    "dockerfile ship image role": "how-to/ship.md",
    "compare kopf controller-runtime": "comparison.md",
}
WORD = re.compile(r"[a-z][a-z-]+")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search") / "pages"
    docs.stage(folder)
    pages = {}
    for path in folder.rglob("*.md"):
        name, text = path.relative_to(folder).as_posix(), path.read_text()
        if name.startswith(("examples/", "reference/")) or name == "changelog.md":
            continue
        title, _, _ = text.lstrip("- \n").partition("\n")
        headings = " ".join(re.findall(r"^#+ (.*)$", text, re.MULTILINE))
        weights = Counter()
        for part, weight in ((title, 12.0), (headings, 3.0)):
            for word in stems(part):
                weights[word] += weight
        words = Counter(stems(text))
        for word, count in words.items():
            weights[word] += count / (count + 2.0)
        pages[name] = weights
    return pages


def stems(text):
    return [word.rstrip("s") for word in WORD.findall(text.lower().replace("`", " "))]


def found(index, query):
    scores = Counter()
    for word in stems(query):
        having = [name for name in index if index[name][word]]
        for name in having:
            rare = math.log(1 + len(index) / len(having))
            scores[name] += rare * min(index[name][word], 20.0)
    return [name for name, _ in scores.most_common(3)]


@pytest.mark.parametrize("query", QUERIES)
def test_a_search_finds_the_page_that_is_meant(index, query):
    assert QUERIES[query] in found(index, query)
