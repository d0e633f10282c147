"""Members and owners of a group: read them from the spec, and compute changes. Pure."""

from collections.abc import Callable, Collection, Iterable, Sequence

import attrs

from asoreconcile.azure.arm.condition_error import unusable
from asoreconcile.azure.graph.client import OBJECT_ID, GroupLink
from asoreconcile.base.objects import JsonObject

# How many a creation takes at once, as Microsoft documents it.
MOST_AT_CREATION = 20
# A group that is adopted may have thousands too many: others are served in between.
MOST_CHANGES = 50


def creation_links(
    links: Iterable[GroupLink],
    ids_of: Callable[[GroupLink], Sequence[str] | None],
    reference: Callable[[str], str],
) -> tuple[dict[str, list[str]], bool]:
    """Return the references that a creation can make, by link, and whether these are
    all. Owners and members share the limit of a creation.
    """
    made: dict[str, list[str]] = {}
    room, is_whole = MOST_AT_CREATION, True
    for link in links:
        ids = ids_of(link) or ()
        made[link] = [reference(id_) for id_ in ids[:room]]
        is_whole = is_whole and len(ids) <= room
        room -= len(made[link])
    return made, is_whole


@attrs.frozen
class LinkChanges:
    """Object ids to add, and then to remove.

    more: true if some are left for later, besides those whose addition failed before.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    more: bool = False


def object_ids(
    spec: JsonObject, link: str, config_map: Callable[[JsonObject], str]
) -> tuple[str, ...] | None:
    """Return the object ids of `members` or `owners`, in lower case, without
    duplicates.

    config_map: returns the value of a `{name, key}`.

    None means that the spec has no such list, and the operator does not change it; an
    empty list means that all are removed. Raises ConditionError for a text that is not
    an object id, and the errors of `config_map`.
    """
    given = spec.get(link)
    if given is None:
        return None
    found = []
    for number, entry in enumerate(given):
        where = f"spec.{link}[{number}]"
        stated, config = entry.get("objectID"), entry.get("objectIDFromConfig")
        if bool(stated) == bool(config):
            raise unusable(f"{where}: give either objectID or objectIDFromConfig")
        text = str(stated or config_map(config)).strip()
        if not OBJECT_ID.fullmatch(text):
            source = "" if stated else f" in ConfigMap {config.get('name')!r}"
            raise unusable(f"{where}: {text!r}{source} is no object id of Entra's")
        found.append(text.lower())
    return tuple(dict.fromkeys(found))


def link_changes(
    desired: Sequence[str],
    present: Sequence[str],
    *,
    failed: Collection[str] = (),
    most: int = MOST_CHANGES,
) -> LinkChanges:
    """Return the changes from the present ids to the desired ones.

    failed: ids whose addition failed before; they are tried last. most: the limit of
    additions, and of removals.

    Additions are first, so that a replacement never leaves the group without both. Each
    direction has a limit of its own: ids that cannot be added keep no other id in the
    group.
    """
    there, meant = set(present), set(desired)
    new = [id_ for id_ in desired if id_ not in there]
    added = sorted(new, key=lambda id_: id_ in failed)
    removed = [id_ for id_ in present if id_ not in meant]
    left = [id_ for id_ in added[most:] if id_ not in failed]
    return LinkChanges(
        tuple(added[:most]),
        tuple(removed[:most]),
        more=bool(left) or len(removed) > most,
    )
