"""What became of the right document under each scheme, for a reader."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tsgen.cli.whys import CAUSES, fall_lines, places_table
from tsgen.evaluate.pruned_query import Story


def stories_view(stories: Sequence[Story]) -> Group:
    """One scheme below the other."""
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
