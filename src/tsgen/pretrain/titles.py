"""Queries that are little more than a title."""

import numpy as np

from tsgen.pretrain.draw import pick, weighted
from tsgen.pretrain.prepared import Prepared, content_words

BARE = 0.35  # how often a title stands alone
LEAD_WORDS = 12  # of the first sentence that may be added


def title(document: Prepared, rng: np.random.Generator) -> str:
    """The title, with or without its qualifier: `mercury`, `mercury planet`; often with one or two
    telling words of the first sentence after it, or before."""
    qualifier = document.qualifier if rng.random() < 0.5 else ""
    name = f"{document.name} {qualifier}".strip()
    if rng.random() < BARE:
        return name
    added = _telling(document, name, rng)
    parts = (name, *added) if rng.random() < 0.8 else (*added, name)
    return " ".join(parts).strip()


def _telling(document: Prepared, name: str, rng: np.random.Generator) -> list[str]:
    said = content_words(name)
    lead = dict.fromkeys(content_words(document.lead))
    found = [word for word in lead if word not in said and word.isalpha()][:LEAD_WORDS]
    lengths = np.fromiter((min(len(word), 8) for word in found), np.float64, len(found))
    return [found[i] for i in sorted(weighted(lengths, pick((1, 1, 2), rng), rng))]
