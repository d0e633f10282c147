"""Each field that lets Azure change something has a row of moving values, or a reason
why it moves none.
"""

import re
import tomllib
from functools import cache
from pathlib import Path

from asoreconcile.azure.catalogue.body_shape import body_paths
from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.azure.controllers.catalogue import builtin

SWITCH = re.compile(
    r"auto.*|isauto.*|rotation.*|.*autorotation.*|uselatest.*|.*automatic.*"
    r"|enableauto.*|disableauto.*|.*autoscal.*|.*upgradechannel|.*upgradepolicy"
    r"|failoverpolicy|storageautogrow"
)


@cache
def switches():
    """(ARM type, path) of all versions, in lower case."""
    return {
        (version.arm_type.lower(), path)
        for kind in builtin().kinds()
        if kind.is_arm
        for version in map(kind.version, kind.versions)
        for path in body_paths(version)
        if SWITCH.fullmatch(path.rpartition("/")[2])
    }


@cache
def still():
    text = Path(__file__).with_name("switches.toml").read_text()
    return {name.lower(): reason for name, reason in tomllib.loads(text).items()}


def moves(arm_type, path):
    """Return whether a row has the field, or a member of it, as its switch."""
    for row in facts_of(arm_type).moving:
        switch = row.switch.removeprefix("/")
        if row.inside and switch == row.switch:
            switch = f"{row.inside}/{switch}"
        if f"{switch.lower()}/".startswith(f"{path}/"):
            return True
    return False


def test_ow8_each_switch_is_decided():
    undecided = sorted(
        f"{type_} {path}"
        for type_, path in switches()
        if not moves(type_, path) and path.rpartition("/")[2] not in still()
    )
    assert len(switches()) > 100
    assert not undecided, "add a row to type_facts.json, or a reason to switches.toml"


def test_each_reason_is_of_a_switch_that_exists():
    names = {path.rpartition("/")[2] for _, path in switches()}
    assert still().keys() <= names
    assert all(still().values())
