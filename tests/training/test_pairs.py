import numpy as np
import pytest

from transformer_viz.inspection.evaluation import evaluate_generation
from transformer_viz.inspection.explorer import load
from transformer_viz.runs import RunError, TrainingJob, TrainingSettings
from transformer_viz.training.job import run_job
from transformer_viz.values.presets import PRESETS

SMALL = {
    "d_model": 32,
    "num_heads": 2,
    "ffn_dim": 64,
    "num_layers": 1,
    "dropout": 0.0,
    "embedding_dropout": 0.0,
}
SETTINGS = TrainingSettings(epochs=4, batch_size=32, learning_rate=0.005, beta_2=0.98)


@pytest.fixture(scope="module")
def copier(tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "copier"
    config = PRESETS["vaswani-tiny"].replace(**SMALL)
    job = TrainingJob(config=config, settings=SETTINGS, data="copy", out=out, rows=6000)
    return out, run_job(job)


def test_a_job_on_a_built_in_task_learns_it(copier):
    out, card = copier
    assert card["test"]["exact_match"] > 0.5
    assert card["test"]["rows"] == 1000
    for control in ("uniform_accuracy", "headless_accuracy"):
        assert 0 < card["test"][control] < card["test"]["token_accuracy"]
    assert card["task"] == "sequence to sequence"
    assert load(out).generate("3 1 4").text == "3 1 4"


def test_what_evaluation_calls_exact_is_what_generation_writes(copier):
    import pandas as pd

    from transformer_viz.data.tasks import TASKS

    explorer, pairs = load(copier[0]), TASKS["copy"].pairs(25, seed=9)
    written = [explorer.generate(text, keep="weights") for text, _ in pairs]
    right = [
        found.text == target and found.finished for found, (_, target) in zip(written, pairs, strict=True)
    ]
    frame = pd.DataFrame(pairs, columns=["text", "target"])
    assert evaluate_generation(explorer, frame).exact_match == np.mean(right)


def test_a_decoder_alone_learns_to_go_on(tmp_path):
    config = PRESETS["gpt-mini"].replace(**SMALL | {"num_layers": 2})
    settings = TrainingSettings(epochs=1, batch_size=32, learning_rate=0.005)
    card = run_job(
        TrainingJob(config=config, settings=settings, data="repeat", out=tmp_path / "repeat", rows=1000)
    )
    assert card["task"] == "next token"
    assert card["test"]["token_accuracy"] > 1 / 26
    assert 0 <= card["test"]["induction_score"] <= 1
    assert load(tmp_path / "repeat").generate("a b c a b", max_new=2).steps


def test_pairs_from_a_file(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("text,target\n" + "".join(f"word{i} film,film word{i % 3}\n" for i in range(40)))
    config = PRESETS["vaswani-tiny"].replace(**SMALL | {"tie_embeddings": False})
    settings = TrainingSettings(epochs=1)
    job = TrainingJob(config=config, settings=settings, data=path, test=path, out=tmp_path / "m")
    card = run_job(job)
    assert card["data"]["rows"] == 40
    assert card["test"]["file"] == "pairs.csv"
    assert card["test"]["texts"] == 40
    assert 0 <= card["test"]["bleu_one_reference"] <= card["test"]["bleu"] <= 100


def test_an_encoder_learns_the_labels_of_a_task_and_refuses_one_without(tmp_path):
    config = PRESETS["single-block"].replace(d_model=16, num_heads=2, ffn_dim=8)
    settings = TrainingSettings(epochs=1)
    card = run_job(TrainingJob(config=config, settings=settings, data="parity", out=tmp_path / "m", rows=300))
    assert card["label_values"] == {"even": "even", "odd": "odd"}
    with pytest.raises(RunError, match=r"The task 'sort' has no labels\. Choose an encoder-decoder"):
        run_job(TrainingJob(config=config, settings=settings, data="sort", out=tmp_path / "n", rows=300))


def test_a_task_makes_its_own_test(tmp_path):
    config = PRESETS["vaswani-tiny"]
    job = TrainingJob(config=config, settings=SETTINGS, data="copy", test=tmp_path, out=tmp_path / "m")
    with pytest.raises(RunError, match=r"makes its own test\. Leave --test out"):
        run_job(job)
