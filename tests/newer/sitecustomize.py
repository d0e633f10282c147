"""A newer release in the processes that a test starts: it knows one version more.

The folder is on their PYTHONPATH, so Python runs this before anything else.
"""

from asoreconcile.base import version

version.__version__ = "9.0.0"

from asoreconcile.azure.catalogue.files import KindFolder  # noqa: E402 - after the version

NEWEST = "v20990101"
_index, _group = KindFolder.index, KindFolder.group


def index(folder):
    groups = _index(folder)
    groups["network.azure.com"]["VirtualNetwork"]["versions"].append(NEWEST)
    return groups


def group(folder, name):
    found = _group(folder, name)
    if name == "network.azure.com":
        found["kinds"]["VirtualNetwork"]["versions"][NEWEST] = {"sameAs": "v20250301"}
    return found


KindFolder.index, KindFolder.group = index, group
