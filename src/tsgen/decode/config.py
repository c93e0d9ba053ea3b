"""The settings of the beam search."""

from typing import Literal, Self

from pydantic import Field

from tsgen.config import StageConfig, unset

COMPARED = 2


class DecodeConfig(StageConfig):
    """How hypotheses are scored, merged and pruned."""

    beam: int = Field(100, ge=1)
    """B, the number of hypotheses that a query keeps after each term."""

    normalise: Literal["full", "docid", "valid"] = "full"
    """What log p is normalised over: all outputs of the model (the paper), the tokens that occur in
    identifiers, or the tokens that are valid at that point."""

    merge: Literal["max", "sum", "none"] = "max"
    """What happens to hypotheses with equal sets: the best one stays, their probabilities are added
    (the best one's prefix stays), or they are kept apart (the paper's text)."""

    temperature: float = Field(1.0, gt=0)
    """u: probabilities are softmax(logits / u)."""

    per_document: int = Field(0, ge=0)
    """The most hypotheses whose only possible document is the same; 0: no limit. There are many
    subsets of one set: without a limit those of a few documents may fill the beam, and no others
    are found."""

    orders: int = Field(1, ge=1)
    """In how many orders of its terms a document is found, each with its own score; more than one
    needs `merge = "none"`."""

    early_stop: bool = True
    """Drop what can no longer reach the best k. Never changes the answer; a switch for tests."""

    batch: int = Field(8, ge=1)
    """How many queries are decoded together."""

    pool: int = Field(0, ge=0)
    """Search only among the best so many documents of the set prior; 0: among all."""

    fill: int = Field(0, ge=0, exclude_if=unset)
    """So many of the prior's best documents are added to what was generated (see `fill`)."""

    look_ahead: float = Field(0.0, ge=0)
    """How much the prior of the best document that is left counts when hypotheses are chosen."""

    compared: int = Field(COMPARED, ge=1, exclude_if=COMPARED.__eq__)
    """How many times B hypotheses, the best by score, what looks ahead chooses from."""

    rescore: float = Field(0.0, ge=0)
    """λ: how much the weights of a document's terms count when what was found is put in order (see
    `rescore`); 0: not at all, as in the paper. Needs term sets."""

    overlap: float = Field(0.0, ge=0, exclude_if=unset)
    """μ: how much the query's own words among a document's terms count in that order, and in the
    prior `meant` (see `overlap`); 0: not at all, as in the paper. Needs term sets."""

    prior: Literal["mean", "sum", "matched", "meant"] = "matched"
    """How the set prior adds up a document's terms (see `plan`)."""

    in_order: bool = Field(False, exclude_if=unset)
    """Of all orders of a document's terms only that by weight is valid: the same terms as a
    sequence, to see what the set is worth. Needs term sets; without `pool`, `fill` and
    `look_ahead`."""

    @property
    def planned(self) -> bool:
        """Whether the set prior has a part in the search."""
        return bool(self.pool or self.fill or self.look_ahead)

    @property
    def ordered(self) -> bool:
        """Whether what was found is put in another order."""
        return bool(self.rescore or self.overlap)

    def with_beam(self, beam: int | None) -> Self:
        """The same settings with another beam, if one is given."""
        return self if beam is None else self.from_mapping(self.model_dump() | {"beam": beam})
