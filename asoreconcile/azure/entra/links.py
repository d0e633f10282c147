"""Members and owners of a group: which the spec names, and what differs. Pure."""

import re
from collections.abc import Callable, Sequence

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.base.objects import JsonObject

# How many a creation takes at once, as Microsoft documents it.
MOST_AT_CREATION = 20
# A group that is adopted may have thousands too many: others are served in between.
MOST_CHANGES = 50
_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@attrs.frozen
class LinkChanges:
    """Object ids to add, and then to take out; more: some are left for another time."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    more: bool = False


def object_ids(
    spec: JsonObject, link: str, config_map: Callable[[JsonObject], str]
) -> tuple[str, ...] | None:
    """The object ids of `members` or `owners`, in lower case, each once.

    None: the spec says nothing of them, and they are nobody's business here; an empty
    list is one that nobody is in. config_map: the value of a `{name, key}`.
    Raises ConditionError for what is no object id, and what `config_map` raises.
    """
    given = spec.get(link)
    if given is None:
        return None
    found = []
    for number, entry in enumerate(given):
        where = f"spec.{link}[{number}]"
        stated, config = entry.get("objectID"), entry.get("objectIDFromConfig")
        if bool(stated) == bool(config):
            raise _wrong(f"{where}: give either objectID or objectIDFromConfig")
        text = str(stated or config_map(config)).strip()
        if not _ID.fullmatch(text):
            source = "" if stated else f" in ConfigMap {config.get('name')!r}"
            raise _wrong(f"{where}: {text!r}{source} is no object id of Entra's")
        found.append(text.lower())
    return tuple(dict.fromkeys(found))


def link_changes(
    wanted: Sequence[str], present: Sequence[str], *, most: int = MOST_CHANGES
) -> LinkChanges:
    """What makes the present ones the wanted ones: additions first, so that nobody is
    out who is only to be replaced.
    """
    there, meant = set(present), set(wanted)
    added = [id_ for id_ in wanted if id_ not in there]
    removed = [id_ for id_ in present if id_ not in meant]
    taken = added[:most]
    left = removed[: max(most - len(added), 0)]
    return LinkChanges(
        tuple(taken), tuple(left), more=len(taken + left) < len(added + removed)
    )


def _wrong(message: str) -> ConditionError:
    return ConditionError(message, reason="Failed", severity="Error")
