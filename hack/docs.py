"""Build the documentation's site: hack/docs [FOLDER], or dist/docs; prints its index.

Pages stay where their subject is: the library's in asoreconcile/docs, the operator's in
deploy/docs, the extension author's in extensions. They are laid out as one tree here,
with their links, and mkdocs makes the site of it. Any warning ends it: a dead link, a
name that the reference lacks. The site needs no server and fetches nothing: open its
index.html. `--staged FOLDER` only lays the pages out. `--man FOLDER` writes man pages
of the commands instead: `man FOLDER/asoctl-explain.1`. `--pictures` runs a sandbox and
a browser and makes the pictures of both, which are kept with the pages.
"""

import argparse
import ast
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from docs_commands import alerts_page, command_pages, reasons_page
from docs_diagrams import drawn
from docs_man import man_pages
from docs_metrics import metrics_page
from docs_pictures import PICTURES, are_old, make

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import Extensions

ROOT = Path(__file__).resolve().parent.parent
HOME = PurePosixPath("asoreconcile/docs")
# The places of the repository's pages in the site. Pages in HOME go to its top.
PAGES = {
    "README.md": "overview.md",
    "asoreconcile/README.md": "library.md",
    "asoreconcile/resources/README.md": "internals/resources.md",
    "asoreconcile/testing/README.md": "testing.md",
    "deploy/README.md": "operator/index.md",
    "deploy/docs/alerts.md": "operator/runbooks.md",
    "deploy/docs/clusters.md": "operator/clusters.md",
    "deploy/docs/databases.md": "operator/databases.md",
    "deploy/docs/drift.md": "operator/drift.md",
    "deploy/docs/entra.md": "operator/entra.md",
    "deploy/docs/gitops.md": "operator/gitops.md",
    "deploy/docs/import.md": "operator/import.md",
    "deploy/docs/migration.md": "operator/migration.md",
    "deploy/docs/operations.md": "operator/operations.md",
    "deploy/docs/ownership.md": "operator/ownership.md",
    "deploy/docs/page.md": "operator/page.md",
    "deploy/docs/practices.md": "operator/practices.md",
    "deploy/docs/scale.md": "operator/scale.md",
    "deploy/docs/security.md": "operator/security.md",
    "deploy/docs/webhook-access.md": "operator/webhook-access.md",
    "extensions/README.md": "extensions/index.md",
    "tests/bench/README.md": "measurements.md",
    "CHANGELOG.md": "changelog.md",
}
# Programs that pages link to. Each is shown on a page of its own.
PROGRAMS = {
    "tests/examples/mirror_config_maps.py": "examples/mirror.md",
    "tests/examples/ephemeral_volumes.py": "examples/ephemeral_volumes.md",
    "tests/examples/memcached.py": "examples/memcached.md",
    "tests/examples/test_examples_others.py": "examples/test_others.md",
    "tests/examples/typed_websites.py": "examples/typed_websites.md",
    "tests/examples/websites.py": "examples/websites.md",
    "tests/examples/test_examples_websites.py": "examples/test_websites.md",
}
# The pages of the reference. A page has the public names that its modules define. Names
# of all other modules go to the last page.
REFERENCE = {
    "errors": (
        "Errors",
        "Exceptions, and what each means for the next try.",
        "base.errors kube.errors",
    ),
    "leaders": (
        "Leader election",
        "One of several replicas works.",
        "runtime.leaderelection",
    ),
    "reconciling": (
        "Reconciling",
        "Requests, results, and what makes requests of events.",
        (
            "runtime.reconciler runtime.predicates runtime.handlers runtime.sources "
            "runtime.controller runtime.worker queue base.backoff base.retry"
        ),
    ),
    "clients": (
        "Clients",
        "What asks the server and writes to it.",
        (
            "kube.client kube.cluster kube.create_or_patch kube.discovery kube.events "
            "kube.resources kube.selection kube.writes wire"
        ),
    ),
    "caches": ("Caches", "Informers, and what they hold.", "cache"),
    "objects": (
        "Objects",
        "Names, owners, conditions and finalizers of objects.",
        "base.objects kube",
    ),
    "typed": (
        "Typed resources",
        "Classes that are kinds, and their CRDs.",
        "resources",
    ),
    "webhooks": ("Webhooks", "Admission and conversion.", "webhooks"),
    "applications": ("Applications", "A process, and what runs in it.", ""),
}
_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_RULE = re.compile(
    r"\b(?:R\d+\.\d+|D\d+|(?:OW|CT|WQ|MG|LE|TH|PQ|RF|CL|HA|IN|PR|WH)-\d+)\b"
)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_IMAGE = re.compile(r"^!\[([^\]]*)\]\((\S+\.svg)\)$", re.MULTILINE)
_PICTURE = re.compile(r"!\[([^\]]*)\]\((\S+\.png)\)")


def pages() -> dict[str, str]:
    """Return each page of the repository that the site has, with its place
    in the site.
    """
    own = sorted((ROOT / HOME).rglob("*.md"))
    inside = {path.relative_to(ROOT / HOME).as_posix() for path in own}
    return {f"{HOME}/{name}": name for name in sorted(inside)} | PAGES


def rewritten(text: str, source: str, places: dict[str, str]) -> str:
    """Return a page's text with the links of the site.

    A link to a file that the site lacks becomes the file's name, because the address of
    the repository is not known.
    """
    here = PurePosixPath(places[source]).parent

    def link(found: re.Match[str]) -> str:
        label, target = found[1], found[2]
        path, mark, anchor = target.partition("#")
        if "://" in target or not path:
            return found[0]
        folder = PurePosixPath(source).parent
        named = os.path.normpath(folder / path)
        if named not in places and f"{named}/README.md" in places:
            named = f"{named}/README.md"
        if named in places:
            return f"[{label}]({os.path.relpath(places[named], here)}{mark}{anchor})"
        if not (ROOT / named).exists():
            sys.exit(f"hack/docs: {source}: there is no {target}")
        return label if "`" in label else f"{label} (`{named}`)"

    def drawing(found: re.Match[str]) -> str:
        drawn = ROOT / PurePosixPath(source).parent / found[2]
        svg = drawn.read_text().strip()
        svg = svg.replace("<svg ", f'<svg aria-label="{html.escape(found[1])}" ', 1)
        return f'<figure class="drawing" markdown="0">\n{svg}\n</figure>'

    def picture(found: re.Match[str]) -> str:
        kept = PurePosixPath("pictures", PurePosixPath(found[2]).name)
        if not (PICTURES / kept.name).exists():
            sys.exit(f"hack/docs: {source}: there is no {found[2]}")
        return f"![{found[1]}]({os.path.relpath(kept, here)})"

    def changed(part: str) -> str:
        return _PICTURE.sub(picture, _LINK.sub(link, _IMAGE.sub(drawing, part)))

    return _outside_code(text, changed)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts, last = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, change(text[last:])])


def public_names() -> dict[str, str]:
    """Return the defining module of each public name. Nothing is imported."""
    tree = ast.parse((ROOT / "asoreconcile" / "__init__.pyi").read_text())
    return {
        alias.name: (node.module or "").removeprefix("asoreconcile.")
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module != "asoreconcile.base"
        for alias in node.names
    }


def reference() -> dict[str, str]:
    """Return the pages of the reference: their places, and their texts."""
    names: dict[str, list[str]] = {page: [] for page in REFERENCE}
    for name, home in sorted(public_names().items()):
        if name != "__version__":
            names[_page_of(name, home)].append(name)
    texts = {}
    index = (
        "# Reference\n\nThe public surface: what `asoreconcile` exports, with what its "
        "docstrings say.\n"
    )
    for page, (title, about, _) in sorted(REFERENCE.items()):
        blocks = "\n".join(f"::: asoreconcile.{name}" for name in names[page])
        texts[f"reference/{page}.md"] = f"# {title}\n\n{about}\n\n{blocks}\n"
        links = ", ".join(f"[`{x}`][asoreconcile.{x}]" for x in names[page])
        index += f"\n## {title}\n\n{about}\n\n{links}\n"
    return texts | {"reference/index.md": index}


def _page_of(name: str, home: str) -> str:
    if name.endswith("Error"):
        return "errors"
    for page, (_, _, homes) in REFERENCE.items():
        if any(f"{home}.".startswith(f"{one}.") for one in homes.split()):
            return page
    return "applications"


def chains() -> dict[str, str]:
    """Return the page of extension chains: its place, and its text."""
    found = Extensions.of_catalogue(builtin_sets(), builtin()).describe()
    text = (
        "# Chains\n\nThe built-in extensions of each kind as they run. Each link can "
        "call the next one; the last step is the operator's own. At points that are "
        "not listed only that step runs. `asoctl extensions list --extensions NAME` "
        "prints the same with a set of your own.\n"
    )
    group = ""
    for row in sorted(found, key=lambda row: (row.kind.group, row.kind.kind)):
        if row.kind.group != group:
            group = row.kind.group
            text += f"\n## {group}\n\n| Kind | Point | Links, then |\n|---|---|---|\n"
        links = ", ".join(f"`{link.name}`" for link in row.links)
        text += f"| {row.kind.kind} | {row.point} | {links}, then {row.end} |\n"
    return {"extensions/chains.md": text}


def stage(folder: Path) -> None:
    """Write all pages below a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    texts = reference() | chains() | command_pages() | reasons_page() | metrics_page()
    texts |= alerts_page(ROOT / "deploy/helm/asoreconcile/files/alerts.yaml")
    made = {f"{HOME}/{place}": place for place in texts}
    places = pages() | PROGRAMS | made
    for source, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source in made:
            target.write_text(texts[place])
            continue
        text = (ROOT / source).read_text()
        if source in PROGRAMS:
            title = PurePosixPath(source).name
            text = f"# {title}\n\n`{source}`\n\n````python\n{text}````\n"
        else:
            text = drawn(rewritten(text, source, places))
        target.write_text(text)
    for name in ("theme", "pictures"):
        # Drawings are in the pages themselves.
        drawings = shutil.ignore_patterns("*.svg", "*.txt")
        shutil.copytree(ROOT / HOME / name, folder / name, ignore=drawings)


def build(target: Path) -> Path:
    """Make the site; return its first page. Exits with the error of mkdocs."""
    found = subprocess.run(
        [ROOT / "hack" / "env", "docs"], check=False, stdout=subprocess.PIPE, text=True
    )
    if found.returncode:
        sys.exit(found.returncode)
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / "pages"
        if are_old():
            _say("the page has changed since its pictures: hack/docs --pictures")
        _say("laying out the pages")
        stage(staged)
        command = [f"{found.stdout.strip()}/python", "-W", "ignore", "-m", "mkdocs"]
        command += ["build", "--strict", "--clean"]
        command += ["--config-file", str(ROOT / HOME / "mkdocs.yml")]
        command += ["--site-dir", str(target)]
        environment = {
            **os.environ,
            "DOCS_STAGED": str(staged),
            "DOCS_SOURCES": str(ROOT),
            "DOCS_EXTENSION": str(ROOT / "hack" / "docs_parameters.py"),
            "NO_MKDOCS_2_WARNING": "1",
        }
        _say(f"building {sum(1 for _ in staged.rglob('*.md'))} pages")
        code = _run(command, environment)
    if code:
        sys.exit(code)
    if fetched := fetches(target):
        sys.exit(f"hack/docs: the site would fetch {', '.join(fetched)}")
    if named := rules(target):
        sys.exit(f"hack/docs: pages for users name rules: {', '.join(named)}")
    return target / "index.html"


def _say(text: str) -> None:
    print(f"hack/docs: {text}", file=sys.stderr)


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run mkdocs, which prints nothing for a while: on a terminal, a dot each second.
    Return its exit code.
    """
    with subprocess.Popen(command, env=environment) as process:
        while True:
            try:
                return process.wait(1)
            except subprocess.TimeoutExpired:
                if sys.stderr.isatty():
                    print(".", end="", file=sys.stderr, flush=True)


def fetches(site: Path) -> list[str]:
    """Return the foreign addresses from which pages would load scripts, styles, fonts
    or pictures.
    """
    found = set()
    for page in site.rglob("*.html"):
        text = page.read_text()
        found |= set(
            re.findall(r'<(?:script|img|iframe)[^>]*src="(https?:[^"]+)', text)
        )
        found |= set(re.findall(r'<link[^>]*href="(https?:[^"]+)', text))
    for sheet in site.rglob("*.css"):
        found |= set(re.findall(r"url\([\"']?(https?:[^)\"']+)", sheet.read_text()))
    return sorted(found)


def rules(site: Path) -> list[str]:
    """Return the names of rules in the pages, with the page: only contributors know
    what they mean.
    """
    return [
        f"{found} ({page.relative_to(site)})"
        for page in sorted(site.rglob("*.html"))
        for found in sorted(set(_RULE.findall(page.read_text())))
    ]


def main() -> None:
    """Parse the arguments and make the site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist" / "docs")
    parser.add_argument("--staged", type=Path, metavar="FOLDER")
    parser.add_argument("--man", type=Path, metavar="FOLDER")
    parser.add_argument("--pictures", action="store_true")
    given = parser.parse_args()
    if given.pictures:
        make()
        print(PICTURES)
    elif given.staged:
        stage(given.staged)
    elif given.man:
        given.man.mkdir(parents=True, exist_ok=True)
        for name, text in man_pages().items():
            (given.man / name).write_text(text)
        print(given.man)
    else:
        print(build(given.folder.resolve()))


if __name__ == "__main__":
    main()
