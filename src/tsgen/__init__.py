"""tsgen: generative retrieval by term sets.

The public names. Each is imported when it is first used, so that `import tsgen` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tsgen.version import __version__

if TYPE_CHECKING:
    from tsgen.corpus.load import load
    from tsgen.errors import TsgenError
    from tsgen.evaluate.calibration import calibrate
    from tsgen.evaluate.compare import compare
    from tsgen.evaluate.evaluation import evaluate_source as evaluate
    from tsgen.evaluate.reproduce import reproduce
    from tsgen.records import Document, Hit, Query
    from tsgen.retrieve.build import fit, index, pretrain
    from tsgen.retrieve.engine import Engine
    from tsgen.retrieve.systems import Retriever, open_retriever

__all__ = [
    "Document",
    "Engine",
    "Hit",
    "Query",
    "Retriever",
    "TsgenError",
    "__version__",
    "calibrate",
    "compare",
    "evaluate",
    "fit",
    "index",
    "load",
    "open_retriever",
    "pretrain",
    "reproduce",
]

_HOMES = {
    "Document": "tsgen.records",
    "Engine": "tsgen.retrieve.engine",
    "Hit": "tsgen.records",
    "Query": "tsgen.records",
    "Retriever": "tsgen.retrieve.systems",
    "TsgenError": "tsgen.errors",
    "calibrate": "tsgen.evaluate.calibration",
    "compare": "tsgen.evaluate.compare",
    "fit": "tsgen.retrieve.build",
    "index": "tsgen.retrieve.build",
    "load": "tsgen.corpus.load",
    "open_retriever": "tsgen.retrieve.systems",
    "pretrain": "tsgen.retrieve.build",
    "reproduce": "tsgen.evaluate.reproduce",
}


def __getattr__(name: str) -> Any:
    if name == "evaluate":  # a subpackage, and a function: the subpackage can be called
        return import_module("tsgen.evaluate")
    if name not in _HOMES:
        raise AttributeError(f"module 'tsgen' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
