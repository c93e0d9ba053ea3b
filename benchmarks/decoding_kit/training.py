"""A mini backbone trained for a few minutes, so that its distributions are as peaked as real ones.

Title → T(D) and training query → T(D), terms in weight order, softmax over the batch's symbols and
some random ones. It is no retrieval model to report; it gives the search something real to decode.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from tsgen.corpus.dataset import DataSet
from tsgen.docids.spelling import Spelling, subwords, words
from tsgen.docids.term_set import TermSets
from tsgen.model.mini import Mini
from tsgen.settings import MiniConfig

BATCH = 32
NEGATIVES = 2_000
PAD = -1

Pair = tuple[str, int]


def make_spelling(backbone: Mini, sets: TermSets) -> Spelling:
    """How the sets' terms are written in this backbone's symbols."""
    if backbone.config.spelling == "word":
        return words(len(sets.vocabulary))
    tokenizer = backbone.tokenizer

    def pieces(terms: list[str]) -> list[list[int]]:
        return tokenizer(list(terms), add_special_tokens=False)["input_ids"]

    comma = tokenizer.convert_tokens_to_ids(",")
    return subwords([sets.term(t) for t in range(len(sets.vocabulary))], pieces, comma)


def trained_mini(
    kind: str, data: DataSet, sets: TermSets, cache: Path, steps: int
) -> tuple[Mini, Spelling]:
    """The backbone from the cache, or trained now."""
    folder = cache / f"mini-{kind}-{data.name}-{steps}"
    if not (folder / "model.safetensors").exists():
        torch.manual_seed(0)
        vocabulary = [sets.term(t) for t in range(len(sets.vocabulary))]
        terms = vocabulary if kind == "word" else None
        backbone = Mini.create(MiniConfig(spelling=kind), terms)  # type: ignore[arg-type]
        _train(backbone, make_spelling(backbone, sets), sets, pairs(data, sets), steps)
        backbone.save(folder)
    backbone = Mini.load(folder)
    return backbone, make_spelling(backbone, sets)


def pairs(data: DataSet, sets: TermSets) -> list[Pair]:
    """Training queries and titles with the number of their document."""
    number = sets.document_numbers()
    queries = data.queries()
    judged = [
        (queries[query].text, number[document])
        for query, grades in data.judgments("train").items()
        for document in grades
    ]
    titled = [(document.title, number[document.id]) for document in data.documents()]
    return judged + titled


def _train(
    backbone: Mini, spelling: Spelling, sets: TermSets, examples: list[Pair], steps: int
) -> None:
    backbone.encoder.get_input_embeddings().weight.requires_grad_(False)
    given = [weight for weight in backbone.encoder.parameters() if weight.requires_grad]
    fresh = [w for name, w in backbone.named_parameters() if not name.startswith("encoder.")]
    groups = [{"params": fresh, "lr": 1e-3}, {"params": given, "lr": 1e-4}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    plan = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 50, 1 - 0.9 * step / steps)
    )
    alphabet = torch.from_numpy(spelling.alphabet).long()
    backbone.train()
    for step, (queries, targets) in enumerate(_batches(spelling, sets, examples, steps)):
        loss = _loss(backbone, alphabet, queries, targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(backbone.parameters(), 1.0)
        optimizer.step()
        plan.step()
        if step % 50 == 0:
            print(f"  training the {backbone.config.spelling} model: step {step}, loss {loss:.2f}")
    backbone.eval()


def _batches(
    spelling: Spelling, sets: TermSets, examples: list[Pair], steps: int
) -> Iterator[tuple[list[str], torch.Tensor]]:
    """Queries and their spelled targets [Q, T], padded."""
    rng = np.random.default_rng(0)
    for _ in range(steps):
        chosen = [examples[i] for i in rng.integers(len(examples), size=BATCH)]
        rows = [torch.from_numpy(spelling.sequence(sets.terms(d))).long() for _, d in chosen]
        padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
        yield [query for query, _ in chosen], padded


def _loss(
    backbone: Mini, alphabet: torch.Tensor, queries: list[str], targets: torch.Tensor
) -> torch.Tensor:
    drawn = alphabet[torch.randint(len(alphabet), (NEGATIVES,))]
    candidates = torch.unique(torch.cat((targets[targets != PAD], drawn)))
    scores = backbone(queries, targets.clamp(min=0), candidates)
    labels = torch.searchsorted(candidates, targets).masked_fill(targets == PAD, -100)
    return functional.cross_entropy(scores.flatten(0, 1), labels.flatten())
