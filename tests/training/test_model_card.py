from types import SimpleNamespace

from transformer_viz.training.model_card import LONGEST_EXAMPLE, short_probes


def test_long_texts_that_were_watched_become_no_examples():
    texts = ["short", "x" * LONGEST_EXAMPLE, "x" * (LONGEST_EXAMPLE + 1)]
    dataset = SimpleNamespace(probes=[(text, None) for text in texts])
    assert short_probes(dataset) == texts[:2]
