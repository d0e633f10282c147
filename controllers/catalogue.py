"""The kinds this project ships: `controllers/kinds/`, as a catalogue."""

from functools import cache
from importlib.resources import files

from asoreconcile.azure.catalogue.files import KindFolder
from asoreconcile.azure.catalogue.kinds import Catalogue


@cache
def builtin() -> Catalogue:
    """The catalogue of all kinds that come with the project; one per process."""
    return Catalogue([KindFolder(files("asoreconcile.azure.controllers") / "kinds")])
