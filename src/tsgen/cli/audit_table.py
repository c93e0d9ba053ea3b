"""An audit on the terminal."""

from collections.abc import Mapping

from rich import box
from rich.markup import escape
from rich.table import Table

from tsgen.docids.audit import Audit


def audit_table(audit: Audit) -> Table:
    """One row per fact."""
    table = Table(title=escape(audit.folder), box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(audit).items():
        table.add_row(name, escape(value))
    return table


def _rows(audit: Audit) -> dict[str, str]:
    tokens = audit.tokens
    return {
        "documents": f"{audit.documents:,}",
        "weights, N": f"{audit.weights}, {audit.n}",
        "terms a document": _listed(
            {f"{size}:": n for size, n in audit.terms_per_document.items()}
        ),
        "collisions resolved": f"{audit.moved:,}",
        "duplicates": f"{audit.duplicate_documents:,} in {audit.duplicate_groups:,} groups",
        "subset pairs": f"{audit.subset_pairs:,}",
        "unreachable": _unreachable(audit),
        "vocabulary": f"{audit.vocabulary:,} terms",
        "postings": f"{audit.postings:,}",
        "longest postings": _listed(audit.longest_postings),
        "terms and postings": _megabytes(audit.index_bytes),
        "with texts and weights": _megabytes(sum(audit.bytes.values())),
        "bytes a document": f"{audit.bytes_per_document:.1f}",
        "tokens a term": (
            f"{tokens.mean:.2f} ({tokens.tokenizer}), at most {tokens.most}, "
            f"{tokens.share_of_one:.0%} are one token"
        ),
        "since the base was written": f"{audit.added:,} added, {audit.removed:,} removed",
        "damage": "; ".join(audit.problems) or "none",
    }


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.2f} MB"


def _unreachable(audit: Audit) -> str:
    examples = f" (e.g. {', '.join(audit.unreachable_examples)})" if audit.unreachable else ""
    return f"{audit.unreachable:,}{examples}"
