"""The catalogue of the kinds that this project ships in `controllers/kinds/`."""

from functools import cache
from importlib.resources import files

from asoreconcile.azure.catalogue.files import KindFolder
from asoreconcile.azure.catalogue.kinds import Catalogue


@cache
def builtin() -> Catalogue:
    """Return the catalogue of all kinds of the project; one per process."""
    return Catalogue(KindFolder(files("asoreconcile.azure.controllers") / "kinds"))
