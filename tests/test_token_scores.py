import numpy as np
import pandas as pd

from transformer_viz.explorer.controls import HEADLESS, UNIFORM, with_intervention
from transformer_viz.network.config import PAD_ID
from transformer_viz.questions.evaluation.measure import evaluate_generation
from transformer_viz.questions.evaluation.perplexity import evaluate_texts
from transformer_viz.questions.evaluation.token_scores import token_scores


def test_the_controls_change_what_is_right_and_not_the_cross_entropy(writer):
    random = np.random.default_rng(5)
    token_ids, targets = random.integers(4, 43, (2, 3, 11)).astype(np.int32)
    targets[0, 7:] = PAD_ID
    scores, real = token_scores(writer, {"token_ids": token_ids}, targets), targets != PAD_ID
    for right, change in zip(scores.right, (None, UNIFORM, HEADLESS), strict=True):
        logits = np.asarray(with_intervention(writer.model, change)(token_ids))
        np.testing.assert_array_equal(right, (logits.argmax(axis=-1) == targets) & real)
    logits = np.asarray(writer.model(token_ids))
    nats = np.logaddexp.reduce(logits, axis=-1) - np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    np.testing.assert_allclose(scores.nats, np.where(real, nats, 0), rtol=1e-5)


def test_batches_of_every_size_and_all_controls_share_one_graph(writer, reviews):
    counts, pairs = [], pd.DataFrame({"text": reviews, "target": "good"})
    for batch_size in (1, 2, 3):
        evaluate_texts(writer, reviews, batch_size=batch_size)
        evaluate_generation(writer, pairs, batch_size=batch_size)
        counts.append(writer.num_compilations)
    assert counts[0] == counts[1] == counts[2]
