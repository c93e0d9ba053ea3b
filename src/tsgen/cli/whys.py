"""Why a document was or was not found, for a reader."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tsgen.decode.watch import Fall, Standing
from tsgen.retrieve.why import Why

CAUSES = {
    "beam": "better hypotheses filled the beam",
    "spelling": "its next term fell out while it was spelled",
    "look_ahead": "the prior preferred other documents",
    "outranked": "enough better documents had been found",
    "filtered": "it is not among the documents that were searched",
    "no_terms": "it has no terms",
}


def why_view(why: Why) -> Group:
    """The verdict, the document's terms, its places, its fall, the beam it needs."""
    parts: list[RenderableType] = [Text(verdict(why), style="bold")]
    parts.append(Text(f"its terms: {', '.join(why.terms)}", style="dim"))
    if why.standings:
        parts += ["", places_table(why.standings)]
    if why.fall is not None:
        parts += ["", *fall_lines(why.fall)]
        parts.append(Text(remedy(why)))
    return Group(*parts)


def verdict(why: Why) -> str:
    """One sentence."""
    with_beam = f"with a beam of {why.beam}"
    if why.rank is None:
        fall = why.fall
        where = f" fell out at step {fall.step}" if fall and fall.step else " was not looked at"
        reason = f": {CAUSES[fall.cause]}" if fall else ""
        return f"{why.document}{where} {with_beam}{reason}"
    beyond = "" if why.found else f", below the {why.k} that were asked for"
    return f"{why.document} is found at rank {why.rank} {with_beam}{beyond}"


def remedy(why: Why) -> str:
    """What beam would have kept it."""
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
