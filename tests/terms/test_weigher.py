"""The weigher against the obvious way: one word, one window at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tsgen.errors import ConfigError
from tsgen.records import Document
from tsgen.settings import WeigherConfig, WordsConfig
from tsgen.terms import weigher as scoring
from tsgen.terms.encoder import load_encoder, packaged_minilm
from tsgen.terms.weigher import Selector, Weigher, selected_share, selection_loss
from tsgen.terms.weights import Impact
from tsgen.terms.words import Splitter

TEXTS = [
    "white breads, white bread",
    "egg. sodium level of an egg",
    "x9",
    "",
    "the the",
    " ".join(f"word{i} bread" for i in range(30)),  # several windows
]


def make(tiny_bert: Path, **changes: object) -> Weigher:
    settings = {"encoder": str(tiny_bert), "window": 24, "overlap": 8}
    torch.manual_seed(1)
    config = WeigherConfig.from_mapping(settings | changes)
    splitter = Splitter(WordsConfig(stem="none"))
    impact = Impact.count(TEXTS, splitter) if config.prior == "bm25" else None
    weigher = Weigher(config, splitter, impact)
    torch.nn.init.normal_(weigher.mlp[-1].weight)  # weights that differ visibly
    return weigher.eval()


def slow_weights(weigher: Weigher, text: str) -> dict[str, float]:
    """Every window by itself, every word by itself, subwords averaged, the largest kept."""
    found: dict[str, float] = {}
    for window in weigher.documents.windows([text])[0]:
        with torch.inference_mode():
            tokens = torch.from_numpy(window.tokens.astype(np.int64))[None]
            states = weigher.encoder(input_ids=tokens).last_hidden_state[0]
            for word, first, last in zip(window.words, window.first, window.last, strict=True):
                state = states[first:last].mean(dim=0)
                weight = torch.nn.functional.softplus(weigher.mlp(state)).item()
                found[word] = max(weight, found.get(word, 0.0))
    return found


def test_weights_equal_the_slow_way(tiny_bert: Path) -> None:
    weigher = make(tiny_bert)
    documents = [Document(str(i), text) for i, text in enumerate(TEXTS)]
    for batch in (1, 4):
        for text, found in zip(TEXTS, weigher.weigh(documents, batch), strict=True):
            assert found == pytest.approx(slow_weights(weigher, text), abs=1e-5)
            assert all(weight >= 0 for weight in found.values())


def test_every_word_of_a_long_text_is_weighed(tiny_bert: Path) -> None:
    weigher = make(tiny_bert)
    (found,) = weigher.weigh([Document("long", TEXTS[-1])])
    assert found.keys() == set(weigher.splitter.spellings(TEXTS[-1]))


def test_a_word_takes_all_its_subwords(tiny_bert: Path) -> None:
    weigher = make(tiny_bert)
    (window,) = weigher.documents.heads(["white breads, x9"])
    tokens = weigher.tokenizer.convert_ids_to_tokens(window.tokens.tolist())
    ranges = zip(window.words, window.first, window.last, strict=True)
    spelled = {word: tokens[first:last] for word, first, last in ranges}
    assert spelled == {"white": ["white"], "breads": ["bread", "##s"], "x9": ["x", "##9"]}


def test_ngrams_take_the_states_of_all_their_words(tiny_bert: Path) -> None:
    splitter = Splitter(WordsConfig(ngrams=2, stem="none"))
    weigher = Weigher(WeigherConfig(encoder=str(tiny_bert), window=24, overlap=8), splitter)
    (window,) = weigher.documents.heads(["white breads"])
    assert window.words == ["white", "breads", "white breads"]
    assert (window.first[2], window.last[2]) == (window.first[0], window.last[1])


def test_scores_sum_over_matching_terms(tiny_bert: Path) -> None:
    weigher = make(tiny_bert, prior="bm25")
    queries = ["white bread egg", "sodium", "level level x9"]
    texts = TEXTS[:5]
    documents = [Document("", text) for text in texts]
    asked, found = scoring.queries(weigher, queries), scoring.documents(weigher, documents)
    with torch.inference_mode():
        asked, found = scoring.weigh(weigher, asked), scoring.weigh(weigher, found)
        fast = scoring.scores(asked, found).numpy()
    right = list(weigher.weigh(documents))
    left = weigher.weigh_queries(queries)
    slow = [[sum(q[t] * d.get(t, 0.0) for t in q) for d in right] for q in left]
    np.testing.assert_allclose(fast, slow, atol=1e-5)
    assert fast.max() > 0


def test_an_untrained_weigher_with_prior_is_bm25(tiny_bert: Path) -> None:
    splitter = Splitter(WordsConfig(stem="none"))
    impact = Impact.count(TEXTS, splitter)
    config = WeigherConfig(encoder=str(tiny_bert), window=24, overlap=8, prior="bm25")
    weigher = Weigher(config, splitter, impact)
    torch.nn.init.zeros_(weigher.mlp[-1].weight)
    (found,) = weigher.weigh([Document("0", TEXTS[0])])
    assert found == pytest.approx(impact.of(splitter, Document("0", TEXTS[0])), rel=1e-3)


def test_impact_by_hand() -> None:
    splitter = Splitter(WordsConfig(stem="none"))
    impact = Impact.count(["bread bread", "egg egg"], splitter)
    # df = 1 of n = 2: idf = ln(1 + 1.5 / 1.5); length is the mean, so the factor is 2·2.5 / 3.5
    assert impact.of(splitter, Document("0", "bread bread"))["bread"] == pytest.approx(
        np.log(2) * 5 / 3.5
    )
    assert impact.idf("never seen") > impact.idf("bread")


def test_the_selector_gives_each_word_its_probability(tiny_bert: Path) -> None:
    weigher = make(tiny_bert, selector=True)
    assert weigher.selector is not None
    torch.nn.init.normal_(weigher.selector[-1].weight)
    document = Document("0", TEXTS[0])
    (window,) = weigher.documents.heads([TEXTS[0]])
    logits = weigher.select(weigher.states([window])).tolist()
    best: dict[str, float] = {}
    for word, logit in zip(window.words, logits, strict=True):
        best[word] = max(logit, best.get(word, -np.inf))
    total = sum(np.exp(logit) for logit in best.values())
    (found,) = Selector(weigher).weigh([document])
    assert found == pytest.approx({word: np.exp(logit) / total for word, logit in best.items()})
    assert len(set(best.values())) == len(best)  # they differ, or the test says little


def test_no_words_no_probabilities(tiny_bert: Path) -> None:
    assert list(Selector(make(tiny_bert, selector=True)).weigh([Document("0", "")])) == [{}]


def test_selection_loss_by_hand() -> None:
    rows, words = np.array([0, 0, 0, 1, 2]), np.array([7, 8, 7, 9, 9])
    logits = torch.tensor([1.0, 3.0, 2.0, 5.0, 4.0])  # word 7 occurs twice: the larger counts
    none = torch.zeros(5, 1)
    found = scoring.WordWeights(3, rows, words, torch.ones(5), none)
    asked = scoring.WordWeights(
        3, np.array([0, 1, 2]), np.array([7, 8, 9]), torch.ones(3), none[:3]
    )
    # document 0: 2 against 3; document 1 has no word of its query; document 2: its only word
    first = -np.log(np.exp(2) / (np.exp(2) + np.exp(3)))
    assert selection_loss(logits, asked, found).item() == pytest.approx((first + 0) / 2)
    one = asked.head(1), found.head(1)
    assert [selected_share(logits[:3], *one, n) for n in (1, 2, 9)] == [0, 1, 1]


def test_a_weigher_without_selector_says_so(tiny_bert: Path) -> None:
    with pytest.raises(ConfigError, match="selector=true"):
        list(make(tiny_bert).selection_logits([Document("0", "egg")]))


def test_saved_and_loaded_weighs_the_same(tiny_bert: Path, tmp_path: Path) -> None:
    weigher = make(tiny_bert, prior="bm25", selector=True)
    weigher.save(tmp_path)
    documents = [Document(str(i), text) for i, text in enumerate(TEXTS)]
    loaded = Weigher.load(tmp_path)
    assert list(loaded.weigh(documents)) == list(weigher.weigh(documents))
    assert list(loaded.selection_logits(documents)) == list(weigher.selection_logits(documents))


def test_packaged_minilm_loads_its_first_layers() -> None:
    model, _ = load_encoder("minilm", layers=2)
    assert len(model.encoder.layer) == 2
    assert (packaged_minilm() / "tokenizer.json").is_file()


def test_unknown_encoder_says_what_to_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match="a local folder, or a hub name with network"):
        load_encoder("no/such-encoder-anywhere")


def test_what_is_shipped_selects_the_same_terms(tiny_bert: Path, tmp_path: Path) -> None:
    weigher = make(tiny_bert, prior="bm25", selector=True)
    weigher.save_small(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "weigher.json",
        "weigher.safetensors",
    ]
    documents = [Document(str(i), text) for i, text in enumerate(TEXTS)]
    small = Selector(Weigher.load(tmp_path))
    for before, after in zip(
        Selector(weigher).weigh(documents), small.weigh(documents), strict=True
    ):
        assert after == pytest.approx(before, abs=1e-2)


def test_trained_embeddings_are_not_left_out(tiny_bert: Path, tmp_path: Path) -> None:
    weigher = make(tiny_bert, selector=True)
    with torch.no_grad():
        weigher.encoder.get_input_embeddings().weight[0] += 1
    with pytest.raises(ConfigError, match="were trained, so they cannot be left out"):
        weigher.save_small(tmp_path)
