"""Mirrors ConfigMaps labelled `mirror: "yes"` into every namespace labelled so.

    python mirror_config_maps.py [--health-address :8081]

A change of a source, of a copy or of a namespace brings the copies in line again. There
is no finalizer and no memory: copies say where they come from, so that one whose source
went while nobody ran is found after the start.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import suppress

from asoreconcile import (
    CONFIG_MAPS,
    NAMESPACES,
    Application,
    Entry,
    NotFoundError,
    ObjectKey,
    Request,
    Result,
    labelled,
    log,
    map_to,
)

MIRROR = "mirror"  # the label of sources, and of the namespaces that get copies
SOURCE = "mirror/source"  # the annotation of copies


class Mirror:
    def __init__(self, app: Application) -> None:
        self.app = app
        self.config_maps = app.informer(CONFIG_MAPS)
        self.config_maps.add_index("source", source_of)
        self.config_maps.add_index("mirrored", lambda e: [e.labels.get(MIRROR, "")])
        self.namespaces = app.informer(NAMESPACES, metadata_only=True)
        self.namespaces.add_index("mirrored", lambda e: [e.labels.get(MIRROR, "")])

    def reconcile(self, request: Request) -> Result:
        targets = set(self.targets(request.key))
        for key in targets:
            self.bring_in_line(request.key, key)
        for key in self.config_maps.by_index("source", str(request.key)):
            copy = self.config_maps.entry(key)
            if copy and key not in targets:
                with suppress(NotFoundError):
                    self.app.client.delete(CONFIG_MAPS, key, uid=copy.uid)
        return Result()

    def targets(self, key: ObjectKey) -> Iterator[ObjectKey]:
        source = self.config_maps.entry(key)
        if source and source.labels.get(MIRROR) == "yes" and not source.deleting:
            for namespace in self.namespaces.by_index("mirrored", "yes"):
                if namespace.name != key.namespace:
                    yield ObjectKey(namespace.name, key.name)

    def bring_in_line(self, source_key: ObjectKey, key: ObjectKey) -> None:
        source, found = self.config_maps.get(source_key), self.config_maps.get(key)
        if source is None or (found and found.get("data") == source.get("data")):
            return
        if found and SOURCE not in found["metadata"].get("annotations", {}):
            self.app.recorder.event(source, "Warning", "NameTaken", f"{key} exists")
            return
        copy = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": key.name, "annotations": {SOURCE: str(source_key)}},
            "data": source.get("data", {}),
        }
        answer = self.app.client.patch(
            CONFIG_MAPS, key, copy, kind="apply", field_manager="mirror", force=True
        )
        self.config_maps.record_write(answer)

    def sources_for(self, _namespace: Entry) -> list[Request]:
        return [Request(k) for k in self.config_maps.by_index("mirrored", "yes")]


def source_of(copy: Entry) -> list[str]:
    return [copy.annotations[SOURCE]] if SOURCE in copy.annotations else []


def to_source(copy: Entry) -> list[Request]:
    keys = [source.partition("/") for source in source_of(copy)]
    return [Request(ObjectKey(namespace, name)) for namespace, _, name in keys]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--health-address", default="0")
    log.configure(json=False)
    app = Application("mirror", health_address=parser.parse_args().health_address)
    mirror = Mirror(app)
    mirrors = app.reconcile(CONFIG_MAPS, mirror, when=labelled(MIRROR, "yes"))
    mirrors.watches(CONFIG_MAPS, map_to(to_source))
    mirrors.watches(mirror.namespaces, map_to(mirror.sources_for))
    return app.run()


if __name__ == "__main__":
    sys.exit(main())
