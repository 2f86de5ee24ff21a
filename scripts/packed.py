"""Results files, alone or packed in an archive (.tar.xz)."""
import json
import pathlib
import tarfile


def documents_of(path):
    """(name within the archive, document) of each JSON file in an archive, or ("", document) of a file that is none."""
    if not pathlib.Path(path).name.endswith(".tar.xz"):
        yield "", json.loads(pathlib.Path(path).read_text())
        return
    with tarfile.open(path) as archive:
        for member in archive:
            if member.name.endswith(".json"):
                yield member.name, json.load(archive.extractfile(member))
