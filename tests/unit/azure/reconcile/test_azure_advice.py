"""Each sentence of `asoctl explain` about causes and advice: all are kept in a file.

After an intended change: python tests/unit/azure/reconcile/test_azure_advice.py, and
read the difference.
"""

import json
import tarfile
from pathlib import Path

from datafolder import data_folder

from asoreconcile.azure.reconcile.planning import advice
from asoreconcile.azure.reconcile.planning.advice import ADVICE, advice_on, cause_of

KEPT = Path(__file__).with_name("explain_sentences.txt")
NETWORK = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network"
MESSAGES = {
    "AuthorizationFailed": (
        "The client 'shop' with object id '11111111' does not have authorization to "
        "perform action 'Microsoft.Resources/subscriptions/resourceGroups/write' over "
        "scope '/subscriptions/s/resourceGroups/rg' or the scope is invalid."
    ),
    "LinkedAuthorizationFailed": (
        "The client 'shop' with object id '11111111' has permission to perform action "
        f"'Microsoft.Compute/x/write' on scope '{NETWORK}/x'; however, it does not have "
        "permission to perform action(s) 'Microsoft.Network/join/action' on the linked "
        f"scope(s) '{NETWORK}/virtualNetworks/net' (respectively)."
    ),
    "RequestDisallowedByPolicy": (
        "Resource 'net' was disallowed by policy. Policy identifiers: "
        '\'[{"policyAssignment":{"name":"Allowed locations","id":"x"}}]\'.'
    ),
    "ScopeLocked": (
        "The scope cannot perform delete operation because following scope(s) are "
        "locked: '/subscriptions/s/resourceGroups/rg'. Please remove the lock."
    ),
    "InUseSubnetCannotBeDeleted": (
        f"Subnet web is in use by {NETWORK}/networkInterfaces/nic/ipConfigurations/a "
        "and cannot be deleted."
    ),
}


def sentences():
    for reason in sorted(ADVICE):
        yield f"{reason}: {cause_of(reason, deleting=False)} {ADVICE[reason]}".rstrip()
    codes = {"QuotaExceeded", "SkuNotAvailable", "StorageAccountAlreadyTaken"}
    codes |= {"InvalidAuthenticationToken", "SomeCodeOfAzure"}
    codes |= {*advice._BUSY, *advice._THROTTLED, *advice._AZURE, *advice._PARSED}
    for code in sorted(codes):
        told = advice_on(code, "Warning", MESSAGES.get(code, ""), deleting=False)
        yield f"{code}: {cause_of(code, deleting=False)} {told}"
    told = advice_on("ScopeLocked", "Warning", "", deleting=True)
    yield f"ScopeLocked of a deletion: {told}"
    told = advice_on("BadRequest", "Warning", f"used by {NETWORK}/a", deleting=True)
    yield f"BadRequest of a deletion: {cause_of('BadRequest', deleting=True)} {told}"


def test_the_sentences_are_those_that_were_read():
    assert list(sentences()) == KEPT.read_text().splitlines()


def test_each_code_of_the_recordings_has_advice_of_its_own():
    found = {}
    with tarfile.open(data_folder("recordings-dev.tar.xz")) as packed:
        for member in packed:
            if member.isfile():
                for one in json.load(packed.extractfile(member))["exchanges"]:
                    if isinstance(one["body"], dict) and one["method"] != "POST":
                        codes_in(one["body"].get("error"), found)
    assert len(found) > 25
    known = {*(advice._BUSY | advice._THROTTLED), *advice._AZURE, *advice._PARSED}
    assert found.keys() - known == set()


def codes_in(error, found):
    if isinstance(error, dict) and error.get("code") not in (None, "None"):
        found[error["code"]] = str(error.get("message"))


if __name__ == "__main__":
    KEPT.write_text("\n".join(sentences()) + "\n")
