"""Evaluation: measures, significance, comparisons of systems, tables and plots."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsgen.evaluate.tables import Table


class _CallablePackage(ModuleType):
    """This package as a function: `tsgen.evaluate(engine, data)` is `evaluate_source`."""

    def __call__(self, *arguments: Any, **options: Any) -> "Table":
        from tsgen.evaluate.evaluation import evaluate_source

        return evaluate_source(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
