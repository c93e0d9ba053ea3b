"""What the commands print: hits, explanations, data reports, audits, as rich tables and text."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tsgen.retrieve.results import Marked, hit_snippet, mark, nearest_passage, query_keys
from tsgen.terms.words import Splitter

if TYPE_CHECKING:
    from tsgen.corpus.describe import DataReport
    from tsgen.corpus.sources import SourcedDataSet
    from tsgen.decode.observe import Fall, Standing
    from tsgen.docids.audit import Audit
    from tsgen.evaluate.demo import Search
    from tsgen.evaluate.pruning import Story
    from tsgen.records import Document, Hit
    from tsgen.retrieve.engine import Engine
    from tsgen.retrieve.explain import Explanation, Why

PUNCTUATION = '"“„”«»()[]{}.,;:!?…'  # around a word
SHOWN = 12  # terms of a permutation; --explain and --json have all


class Answering(Protocol):
    """An engine, or the answer of a server that has it."""

    def correct_query(self, query: str) -> str:
        """The query as it is searched for."""
        ...

    def document(self, document_id: str) -> Document:
        """The document with an id."""
        ...


def hits_view(
    source: Answering, splitter: Splitter, query: str, hits: Sequence[Hit], explain: bool
) -> Group:
    """All hits of a query; `explain` adds log p of each term and |Y| after it."""
    read_as = source.correct_query(query)
    keys = query_keys(read_as, splitter)
    lines: list[Any] = [Text(query, style="bold"), *correction_notes(query, read_as)]
    for rank, hit in enumerate(hits, 1):
        document = source.document(hit.document_id)
        name = mark(document.title, keys, splitter) if document.title else Marked(document.id, ())
        score = f"  {hit.score:.2f}" + f"  {document.id}" * bool(document.title)
        score += "" if hit.confidence is None else f"  confidence {hit.confidence:.2f}"
        lines.append(Text(f"{rank:>2}. ") + highlighted(name) + Text(score, style="dim"))
        shown = highlighted(hit_snippet(hit, document, keys, splitter))
        place, length = nearest_passage(hit, document), len(document.text)
        where = f"  (at {place.start:,} of {length:,} characters)" if place else ""
        lines.append(Text("    ") + shown + Text(where, style="dim"))
        if hit.reason is not None:
            marked = [highlighted(mark(term, keys, splitter)) for term in hit.reason.terms]
            lines.append(Text("    ") + permutation(marked))
            if explain:
                lines.append(_steps(hit, marked))
    return Group(*lines, *(() if hits else (Text("    no hits"),)))


def correction_notes(query: str, read_as: str) -> list[Text]:
    """A line that says which words were read in place of those that were typed; none if none
    were."""
    pairs = zip(query.split(), read_as.split(), strict=True)
    words = [[word.strip(PUNCTUATION) for word in pair] for pair in pairs if len(set(pair)) > 1]
    if not words:
        return []
    typed, read = (", ".join(column) for column in zip(*words, strict=True))
    return [Text(f"    searched for “{read}” instead of “{typed}”", style="dim")]


def permutation(marked: Sequence[Text]) -> Text:
    """The first terms of a hit, in the order they were generated."""
    more = [Text("…")] if len(marked) > SHOWN else []
    return Text(" › ").join([*marked[:SHOWN], *more])


def highlighted(marked: Marked) -> Text:
    """A text with the query's words in colour."""
    text = Text(marked.text)
    for start, end in marked.spans:
        text.stylize(HIGHLIGHT, start, end)
    return text


def _steps(hit: Hit, marked: Sequence[Text]) -> Table:
    table = Table("step", "term", "log p", "documents left", box=None, padding=(0, 1, 0, 4))
    assert hit.reason is not None
    path = zip(marked, hit.reason.log_probs, hit.reason.valid_documents, strict=True)
    for step, (term, log_prob, valid) in enumerate(path, 1):
        table.add_row(str(step), term, f"{log_prob:.2f}", f"{valid:,}")
    return table


def explanation_view(engine: Engine, document_id: str, found: Sequence[Explanation]) -> Group:
    """The document, and below it every query with its order."""
    document = engine.document(document_id)
    splitter = Splitter(engine.config.terms.words)
    heading = Text(document.title or document.id, style="bold")
    heading.append(f"  {document.id}" * bool(document.title), style="not bold dim")
    lines: list[RenderableType] = [heading]
    for one in found:
        lines += ["", *_lines(one, splitter)]
    return Group(*lines)


def _lines(one: Explanation, splitter: Splitter) -> list[Text]:
    keys = query_keys(one.query, splitter)
    terms = [
        highlighted(mark(term, keys, splitter)) + Text(f" {log_prob:.2f}", style="dim")
        for term, log_prob in zip(one.terms, one.log_probs, strict=True)
    ]
    likelihoods = f"log p = {one.log_prob:.2f}, by weight {one.by_weight:.2f}"
    return [
        Text(one.query, style="bold"),
        Text("  ") + Text(" › ").join(terms),
        Text(f"  {likelihoods}", style="dim"),
    ]


CAUSES = {
    "beam": "better hypotheses filled the beam",
    "spelling": "its next term fell out while it was spelled",
    "look_ahead": "the prior preferred other documents",
    "outranked": "enough better documents had been found",
    "filtered": "it is not among the documents that were searched",
    "no_terms": "it has no terms",
}


def why_view(why: Why) -> Group:
    """What became of a document: the verdict, its terms, its places, where it fell out, the beam it
    needs."""
    parts: list[RenderableType] = [Text(verdict(why), style="bold")]
    parts.append(Text(f"its terms: {', '.join(why.terms)}", style="dim"))
    if why.passage is not None:
        parts.append(Text(f"its nearest passage: {' '.join(why.passage.split())}", style="dim"))
    if why.standings:
        parts += ["", places_table(why.standings)]
    if why.fall is not None:
        parts += ["", *fall_lines(why.fall)]
        parts.append(Text(remedy(why)))
    return Group(*parts)


def verdict(why: Why) -> str:
    """One sentence that says whether the document was found."""
    with_beam = f"with a beam of {why.beam}"
    if why.rank is None:
        fall = why.fall
        where = f" fell out at step {fall.step}" if fall and fall.step else " was not looked at"
        reason = f": {CAUSES[fall.cause]}" if fall else ""
        return f"{why.document}{where} {with_beam}{reason}"
    beyond = "" if why.found else f", below the {why.k} that were asked for"
    return f"{why.document} is found at rank {why.rank} {with_beam}{beyond}"


def remedy(why: Why) -> str:
    """One sentence that says what beam would have kept the document."""
    if why.needed_beam is not None:
        return f"A beam of {why.needed_beam} finds it, at rank {why.rank_then}."
    if why.fall is not None and why.fall.cause in ("beam", "spelling", "look_ahead"):
        return f"No beam up to {why.widest} that was tried finds it."
    return "No beam would have found it."


def places_table(standings: tuple[Standing, ...]) -> Table:
    """The places of the best of a document's hypotheses, step by step."""
    table = Table("step", "place", "its best terms", "score", "worst kept", box=None)
    for step, one in enumerate(standings, 1):
        place = f"{one.place} of {one.kept}"
        scores = f"{one.score:.2f}", f"{one.worst:.2f}"
        table.add_row(str(step), place, " › ".join(one.terms), *scores)
    return table


def fall_lines(fall: Fall) -> list[Text]:
    """Where a document fell out, and what was better."""
    if not fall.step:
        return []
    lines = [Text(f"step {fall.step}: ", style="bold") + _scored(fall.terms, fall.score)]
    lines += [Text("  last place: ") + _scored(fall.worst, fall.bar)] * bool(fall.worst)
    for one in fall.rivals:
        rival = (*fall.terms[:-1], one.term)
        lines.append(Text("  instead: ") + _scored(rival, one.score))
    return lines


def _scored(terms: tuple[str, ...], score: float | None) -> Text:
    shown = Text(" › ".join(terms))
    return shown if score is None else shown + Text(f"  {score:.2f}", style="dim")


def introduction(data: SourcedDataSet, preset: str) -> str:
    """What the demo is about to do, with which documents and questions."""
    from tsgen.corpus.stdlib import missing_names
    from tsgen.evaluate.demo import SPLIT, SYSTEMS

    lines = [
        f"Documents: {len(data.document_ids()):,} modules, classes, functions and methods of the "
        f"standard library, read from this Python {platform.python_version()}.",
        f"Questions: {len(data.judgments(SPLIT)):,}, written by hand, not in the documents' words.",
    ]
    if missing := missing_names(SPLIT):
        lines.append(
            f"Left out {len(missing)} answers unknown to this Python: {', '.join(missing)}"
        )
    lines.append(
        f"Comparing {', '.join(SYSTEMS)}. Preset {preset}: tsgen learns the documents alone."
    )
    return "\n".join(lines)


def search_view(engine: Engine, search: Search) -> Group:
    """The first hits of a question: name, first words, and the terms that led there."""
    splitter = Splitter(engine.config.terms.words)
    keys = query_keys(search.query, splitter)
    lines = [Text(search.query, "bold")]
    for hit in search.hits:
        mark_right = "✓" if hit.document_id in search.answers else " "
        text = " ".join(engine.document(hit.document_id).text.split())
        name = Text(f"  {mark_right} {hit.document_id}  ").append(text, "dim")
        name.truncate(SHOWN_CHARACTERS, overflow="ellipsis")
        lines.append(name)
        if hit.reason is not None:
            marked = [highlighted(mark(term, keys, splitter)) for term in hit.reason.terms]
            lines.append(Text("      ") + permutation(marked))
    return Group(*lines, Text())


def stories_view(stories: Sequence[Story]) -> Group:
    """The stories of several schemes, one below the other."""
    return Group(*(part for story in stories for part in (*_parts(story), "")))


def _parts(story: Story) -> list[RenderableType]:
    joint = " › " if story.ordered else ", "
    parts: list[RenderableType] = [Text(_verdict(story), style="bold")]
    parts.append(Text(joint.join(story.identifier), style="dim"))
    if story.standings:
        parts.append(places_table(story.standings))
    return parts if story.fall is None else [*parts, *fall_lines(story.fall)]


def _verdict(story: Story) -> str:
    beam = f"with a beam of {story.beam}"
    if story.rank is not None:
        return f"{story.scheme}: {story.document} is found at rank {story.rank} {beam}"
    fate = "found below all that are ranked"
    if story.fall is not None:
        fate = f"lost at step {story.fall.step} {beam}: {CAUSES[story.fall.cause]}"
    return f"{story.scheme}: {story.document} is {fate}"


def print_report(report: DataReport, console: Console) -> None:
    """Counts, splits, lengths, samples and problems, in this order."""
    console.print(_sizes(report))
    if report.splits:
        console.print(_splits(report))
    if report.empty_splits:
        console.print(f"Splits without judgments: {', '.join(report.empty_splits)}")
    console.print(_samples(report))
    _print_problems(report, console)


def _sizes(report: DataReport) -> Table:
    table = Table(title=escape(report.name), box=box.SIMPLE_HEAD)
    for column in ("", "count", "words: mean", "median", "p95", "max"):
        table.add_column(column, justify="right" if column else "left")
    rows = (
        ("documents", report.documents, report.document_words),
        ("queries", report.queries, report.query_words),
    )
    for name, count, words in rows:
        figures = (f"{words.mean:,.1f}", f"{words.median:,.0f}", f"{words.p95:,.0f}")
        table.add_row(name, f"{count:,}", *figures, f"{words.max:,}")
    if report.titles < report.documents:
        table.caption = f"{report.titles:,} documents have a title"
    return table


def _splits(report: DataReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("split", "queries", "judgments", "relevant", "seen", "unseen"):
        table.add_column(column, justify="left" if column == "split" else "right")
    for name, split in report.splits.items():
        counts = (split.queries, split.judgments, split.relevant, split.seen, split.unseen)
        table.add_row(escape(name), *("–" if n is None else f"{n:,}" for n in counts))
    return table


def _samples(report: DataReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="samples")
    for column in ("id", "title", "text", "a query of it"):
        table.add_column(column, overflow="fold")
    for sample in report.samples:
        document = sample.document
        text = " ".join(document.text.split())
        snippet = text if len(text) <= SNIPPET else text[: SNIPPET - 1] + "…"
        cells = (document.id, document.title, snippet, sample.query or "–")
        table.add_row(*(escape(cell) for cell in cells))
    return table


def _print_problems(report: DataReport, console: Console) -> None:
    if not report.problems:
        console.print("No problems found.")
        return
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in report.problem_counts.items())
    console.print(f"[bold red]{len(report.problems):,} problems[/]: {escape(kinds)}")
    for problem in report.problems:
        console.print(escape(str(problem)), highlight=False, soft_wrap=True)


def audit_table(audit: Audit) -> Table:
    """A table of an audit's facts, one in a row."""
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


HIGHLIGHT = "bold yellow"


SHOWN_CHARACTERS = 100


SNIPPET = 160  # characters of a sample
