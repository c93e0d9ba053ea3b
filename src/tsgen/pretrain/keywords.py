"""Queries that are a bag of words."""

import numpy as np

from tsgen.pretrain.draw import weighted
from tsgen.pretrain.prepared import Prepared

FEWEST, MOST = 2, 6
SHUFFLED = 0.3


def keywords(document: Prepared, rng: np.random.Generator) -> str:
    """Two to six of the document's content words, the telling ones likelier; in the order of the
    text or, at times, in any."""
    size = FEWEST + int(rng.random() * (MOST - FEWEST + 1))
    places = weighted(document.rates, size, rng)
    if rng.random() >= SHUFFLED:
        places.sort()
    words = list(document.weights)
    return " ".join(words[place] for place in places)
