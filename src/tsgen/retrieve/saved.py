"""Opening a saved retriever, whatever system it is."""

from pathlib import Path

from tsgen.artifact import open_artifact
from tsgen.errors import ArtifactError, nearest
from tsgen.retrieve.registry import system, system_names
from tsgen.retrieve.retriever import Retriever


def open_retriever(folder: Path) -> Retriever:
    """Load a folder that a fit wrote; its manifest's `kind` is the name of the system."""
    kind = open_artifact(folder).kind
    if kind not in system_names():
        raise ArtifactError(
            f"{folder}: holds {kind!r}, not a retriever; {nearest(kind, system_names())}"
        )
    return system(kind).load(folder)
