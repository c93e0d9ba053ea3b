"""Terms are spelled as tokenizers of every kind write them inside running text."""

import pytest
import tiny_models
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.model.generator import TERMINATOR, spelling_for
from tsgen.model.vocabulary import pieces_in_text, word_pieces
from tsgen.records import TermSet

TEXT = ["the white bread, the sodium level, 1,000 eggs in C++ and .net, café"] * 3
TERMS = ["bread", "white bread", "sodium", "eggs", "1,000", "c++", ".net", "café", "zebra"]


def byte_level() -> Tokenizer:
    """As those of GPT-2, BART and SmolLM2: the space belongs to the word after it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(special_tokens=["<unk>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def sentence_pieces() -> Tokenizer:
    """As those of T5 and the first Llamas: a word at the start has a space before it, too."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    alphabet = sorted({letter for term in TERMS for letter in term} | {","})
    trainer = trainers.UnigramTrainer(
        special_tokens=["<unk>"], unk_token="<unk>", initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


TOKENIZERS = {
    kind.__name__: PreTrainedTokenizerFast(tokenizer_object=kind(), unk_token="<unk>")
    for kind in (byte_level, sentence_pieces)
}


class Writes:
    """All that a spelling needs of a backbone."""

    spelling = "subword"

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_pieces_read_back_as_the_term(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    sets = TermSets.of([TermSet("d", tuple(TERMS), (1.0,) * len(TERMS))])
    spelling = spelling_for(Writes(tokenizer), sets)
    for number, term in enumerate(sets.vocabulary):
        tokens = spelling.spell(number)
        assert tokenizer.convert_ids_to_tokens(int(tokens[-1])) == TERMINATOR
        text = tokenizer.decode(tokens[:-1], clean_up_tokenization_spaces=False)
        assert text.strip() == term.replace(TERMINATOR, "")


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_docid_is_tokenized_as_it_is_spelled(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    sets = TermSets.of([TermSet("d", ("bread", "sodium", "eggs"), (3.0, 2.0, 1.0))])
    spelled = spelling_for(Writes(tokenizer), sets).sequence(sets.terms(0))
    text = tokenizer("the: bread, sodium, eggs,", add_special_tokens=False)["input_ids"]
    assert text[-len(spelled) :] == spelled.tolist()


@given(st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_any_text_has_as_many_rows_as_terms(terms: list[str]) -> None:
    for tokenizer in TOKENIZERS.values():
        assert len(pieces_in_text(tokenizer, terms)) == len(terms)
        assert len(word_pieces(tokenizer, terms).offsets) == len(terms) + 1


def test_a_tokenizer_that_merges_over_the_space_spells_terms_alone() -> None:
    whole = Tokenizer(models.WordLevel({"<unk>": 0, ",": 1, "bread": 2}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=whole, unk_token="<unk>")
    assert pieces_in_text(tokenizer, ["bread"]) == [[2]]  # ", bread" as one is unknown


def test_a_tokenizer_without_a_comma() -> None:
    whole = Tokenizer(models.WordLevel({"<unk>": 0, "bread": 1}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=whole, unk_token="<unk>")
    with pytest.raises(ConfigError, match=r"no token ',', which ends a term.*spelling=word"):
        spelling_for(Writes(tokenizer), tiny_models.term_sets())
