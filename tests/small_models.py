"""Small models with real numbers in them, and folders of them."""

import numpy as np

REVIEWS = [
    "What a lovely film, I could not stop smiling!",
    "A dull and lifeless story; not good at all.",
    "Great acting, great music, and a clever plot.",
    "I want these two hours of my life back.",
    "Funny, warm and beautifully shot.",
    "Terrible dialogue, wooden acting and no plot.",
]

TYPICAL = {
    "bad": ["dull", "lifeless", "story", "not", "good", "at", "all", "terrible", "dialogue", "wooden"],
    "good": ["great", "acting", "music", "clever", "plot", "funny", "warm", "beautifully", "shot", "lovely"],
}
"""Label -> words of `REVIEWS` that `labelled_reviews` has in texts of that label alone."""


def labelled_reviews(count=240):
    """Return so many labelled rows with different texts, each with two of the ten words of its label."""
    import pandas as pd

    rows = []
    for number in range(count):
        label = ("bad", "good")[number % 2]
        words = [TYPICAL[label][(number // 2 + step) % 10] for step in (0, 1)]
        rows.append((f"a {words[0]} film and a {words[1]} film, number {number}", label))
    return pd.DataFrame(rows, columns=["text", "label"])


def with_random_parameters(config):
    """Return a model with parameters large enough for its attention to be far from uniform."""
    import keras

    from transformer_viz.network.model import Transformer

    keras.utils.set_random_seed(7)
    model = Transformer(config)
    random = np.random.default_rng(7)
    for variable in model.parameters().values():
        variable.assign(random.normal(scale=0.5, size=variable.shape))
    return model


def write(explorer, folder, *, overwrite=False):
    """Write an explorer's model, exactly, under its own name."""
    from transformer_viz import store

    target = explorer.target_tokenizer
    store.write_model(
        explorer.name,
        config=explorer.config,
        tokenizer=explorer.tokenizer.to_json(),
        target_tokenizer=target and target.to_json(),
        card={"task": "classification", "examples": [*REVIEWS[:4]]},
        parameters={name: np.asarray(v.numpy()) for name, v in explorer.model.parameters().items()},
        folder=folder,
        dtype="float32",
        overwrite=overwrite,
    )


def write_endless(translator, folder):
    """Write a model "endless": an encoder-decoder that never writes [END], with many positions."""
    from transformer_viz import store
    from transformer_viz.network.config import END_ID

    parameters = {name: np.array(v.numpy()) for name, v in translator.model.parameters().items()}
    parameters["output/bias"][END_ID] = -1000
    store.write_model(
        "endless",
        config=translator.config.replace(target_max_len=2000),
        tokenizer=translator.tokenizer.to_json(),
        target_tokenizer=translator.target_tokenizer.to_json(),
        card={"examples": ["A lovely film."]},
        parameters=parameters,
        dtype="float32",
        folder=folder,
    )
