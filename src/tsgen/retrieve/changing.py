"""Many documents into a collection, some at a time."""

from collections.abc import Iterable
from itertools import islice

from tsgen.errors import DataError, named
from tsgen.progress import show
from tsgen.records import Document
from tsgen.retrieve.collection import Changed, Collection

TOGETHER = 1000  # documents of one change


def put_all(
    collection: Collection, documents: Iterable[Document], together: int = TOGETHER
) -> Changed:
    """Put documents, so many in one change; how many were new, how many replaced others."""
    added = updated = 0
    source = iter(documents)
    while some := list(islice(source, together)):
        changed = collection.put(some)
        added, updated = added + changed.added, updated + changed.updated
        show("putting documents", added + updated)
    return Changed(added, updated)


def require_known(collection: Collection, ids: Iterable[str]) -> None:
    """`DataError` with the ids that the collection does not have."""
    engine = collection.engine
    unknown = [id for id in ids if engine.documents.number(id) is None]
    if unknown:
        raise DataError(
            f"{collection.folder}: does not have {named(unknown)}; expected ids of its documents. "
            "Nothing was changed. `tsgen add` takes documents with new ids."
        )
