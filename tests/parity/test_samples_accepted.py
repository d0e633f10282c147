"""Published samples are accepted: by the sandbox's checks and by the strict simulator.

The recorded pairs have the samples that were recorded. `--samples FOLDER`, or
ASORECONCILE_SAMPLES, names a folder with a copy of all samples of ASO (`v2/samples`).
"""

import json

import pytest
from datafolder import data_folder

from asoreconcile.azure.catalogue.manifests import Manifest, read_manifests
from asoreconcile.azure.cmd.manifests import AppliedManifests, ManifestsError
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.testing.arm import ArmServer


def test_recorded_samples_and_their_requests_are_accepted():
    files = sorted(data_folder("golden").glob("*.json"))
    pairs = [json.loads(file.read_bytes()) for file in files]
    manifests = [
        Manifest(str(f), 1, p["cr"]) for f, p in zip(files, pairs, strict=True)
    ]
    AppliedManifests(builtin(), manifests, all_versions=True)
    azure = ArmServer()
    refused = {
        file.name: broken
        for file, put in zip(files, (pair["put"] for pair in pairs), strict=True)
        if (broken := azure.violations(put["path"], put["body"], put["api_version"]))
    }
    azure.close()
    assert (len(pairs) > 500, refused) == (True, {})


def test_all_samples_of_a_folder_are_accepted(request):
    folder = request.config.option.samples
    if not folder:
        pytest.skip("name a copy of v2/samples: --samples FOLDER")
    manifests = read_manifests([folder])
    refused = set()
    try:
        AppliedManifests(builtin(), manifests, all_versions=True)
    except ManifestsError as error:
        refused = {line.split(": ")[0] for line in str(error).splitlines()}
    # So many have a misspelt field, which ASO's own CRDs drop.
    assert (len(manifests) > 1000, len(refused) <= 15) == (True, True), refused
