"""Paired significance tests over queries, corrected for several comparisons by Holm-Bonferroni.

With d the differences of two systems query by query, the t-test is Student's on mean(d), the
randomisation test flips the signs of d. Both are two-sided; equal values on all queries give p = 1.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from tsgen.errors import DataError
from tsgen.evaluate.metrics import Scores

LEVEL = 0.05
"""The paper's level: a difference with p < 0.05 is marked."""

PERMUTATIONS = 10_000
_CHUNK = 2**22  # signs drawn at once

Test = Literal["t", "randomisation"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system against the reference: the mean difference over `n` queries, and its p."""

    system: str
    measure: str
    mean_difference: float  # system − reference
    n: int
    p: float
    corrected_p: float  # Holm-Bonferroni over all systems compared with the reference

    @property
    def significant(self) -> bool:
        """Whether the corrected p is below the paper's level."""
        return self.corrected_p < LEVEL


def compare_with(
    reference: Scores,
    systems: Mapping[str, Scores],
    measure: str,
    *,
    test: Test = "t",
    seed: int = 0,
) -> list[Comparison]:
    """Test each system against the reference on one measure.

    Args:
        reference: The scores that the others are compared with.
        systems: Scores by system; p is corrected for as many comparisons.
        measure: A key of `tsgen.evaluate.metrics.MEASURES`.
        test: Student's paired t-test (`t`) or the paired `randomisation` test.
        seed: Of the randomisation test.
    """
    differences = {
        name: aligned_difference(name, scores, reference, measure)
        for name, scores in systems.items()
    }
    values = list(differences.values())
    if test == "t":
        ps = [paired_t_test(d) for d in values]
    else:
        ps = [randomisation_test(d, seed=seed) for d in values]
    return [
        Comparison(name, measure, float(d.mean()), len(d), p, corrected)
        for (name, d), p, corrected in zip(differences.items(), ps, holm(ps), strict=True)
    ]


def aligned_difference(name: str, system: Scores, reference: Scores, measure: str) -> Floats:
    """System − reference, query by query in the reference's order; both need the same queries."""
    if system.query_ids == reference.query_ids:
        return system.values[measure] - reference.values[measure]
    row = {id: i for i, id in enumerate(system.query_ids)}
    only_system = row.keys() - set(reference.query_ids)
    only_reference = set(reference.query_ids) - row.keys()
    if only_system or only_reference:
        raise DataError(
            f"{name} and the reference were not evaluated on the same queries: only {name} has "
            f"{_listed(only_system)}, only the reference has {_listed(only_reference)}. "
            "Evaluate both with the same judgments."
        )
    order = [row[id] for id in reference.query_ids]
    return system.values[measure][order] - reference.values[measure]


def paired_t_test(difference: Floats) -> float:
    """p of Student's paired t-test: t = mean(d) / (sd(d) / √n) with n − 1 degrees of freedom."""
    if len(difference) < 2 or not difference.any():
        return 1.0
    if np.ptp(difference) == 0:  # no spread: t is infinite
        return 0.0
    return float(ttest_1samp(difference, 0.0).pvalue)


def randomisation_test(difference: Floats, *, seed: int, permutations: int = PERMUTATIONS) -> float:
    """p of the paired randomisation test: the share of random sign flips of d that give a |mean| at
    least as large as the observed one.

    All 2^n sign patterns are tried where these are at most `permutations`; else the observed
    pattern counts as one of those drawn, so that p is never 0.
    """
    d = difference[difference != 0]  # the sign of a zero changes nothing
    # Sums of the same numbers in another order differ in their last bits.
    observed = float(abs(d.sum()) - 1e-12 * abs(d).sum())
    if 2 ** len(d) <= permutations:
        patterns = np.arange(2 ** len(d))[:, None] >> np.arange(len(d)) & 1  # 2^n × n
        return float((abs((2 * patterns - 1) @ d) >= observed).mean())
    drawn = _count_as_large(d, observed, np.random.default_rng(seed), permutations)
    return (1 + drawn) / (1 + permutations)


def _count_as_large(d: Floats, observed: float, rng: np.random.Generator, permutations: int) -> int:
    """How many random sign patterns give a |sum| of at least `observed`."""
    count, total = 0, d.sum()
    rows = max(1, _CHUNK // len(d))
    for start in range(0, permutations, rows):
        shape = (min(rows, permutations - start), len(d))
        flipped = rng.integers(0, 2, shape, dtype=np.uint8)  # rows × n
        count += int((abs(total - 2 * (flipped @ d)) >= observed).sum())
    return count


def holm(ps: Sequence[float]) -> list[float]:
    """Holm-Bonferroni: the i-th smallest of m p times m − i + 1, never falling, at most 1."""
    m, largest = len(ps), 0.0
    corrected = [1.0] * m
    for i, place in enumerate(np.argsort(ps, kind="stable")):
        largest = max(largest, min(1.0, (m - i) * ps[place]))
        corrected[place] = largest
    return corrected


def _listed(ids: Collection[str]) -> str:
    names = sorted(ids)[:3] + ["…"] * (len(ids) > 3)
    return f"{len(ids)} ({', '.join(names)})" if ids else "none"
