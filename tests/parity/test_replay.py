"""Recorded estates go through the whole operator: the recorded PUTs, and no more.

Some sets, each of which shows something else; `hack/replay` runs all sets.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from datafolder import data_folder
from replaysets import RECORDINGS, read_sets, replay

from asoreconcile.testing.replay import read_recordings

_SHOWN = {
    # Done at once, with a relative Location; its ids into a ConfigMap and Secrets.
    "Test_Managedidentity_v1api20230131_CreationAndDeletion",
    # 202 and a body that is an operation's; first refused for an identity not yet there.
    "Test_Dbformysql_v20210501_CreationAndDeletion",
    # The resource's own state is polled; two lists of keys into one Secret.
    "Test_Search_v1api20231101_CreationAndDeletion",
}


def test_recorded_estates_are_made_as_recorded_and_deleted_again(tmp_path):
    sets = [s for s in read_sets([data_folder("replay-sets")]) if s.name in _SHOWN]
    recordings = read_recordings(data_folder(RECORDINGS), _SHOWN)
    if missing := _SHOWN - ({s.name for s in sets} & recordings.keys()):
        pytest.skip(f"recorded data is without {', '.join(sorted(missing))}")

    def problems_of(estate):
        folder = tmp_path / estate.name
        folder.mkdir()
        return replay(estate, recordings[estate.name], folder).problems

    # All at once: most of its time, a run waits for a Retry-After to pass.
    with ThreadPoolExecutor(len(sets)) as pool:
        found = list(pool.map(problems_of, sets))

    assert {s.name: p for s, p in zip(sets, found, strict=True) if p} == {}
