"""The Attention page: a sentence, its prediction, and what one head does with it."""

import numpy as np
import streamlit as st

from transformer_viz import store
from transformer_viz.engine import EngineError
from transformer_viz.figures import weights_heatmap
from transformer_viz.text import END, NoTokensError, visible
from transformer_viz.trace import Run, Trace
from transformer_viz.ui.card import examples_of
from transformer_viz.ui.language import plain, t
from transformer_viz.ui.sentence import ask_sentence
from transformer_viz.ui.server import shared_engine

MAX_BARS = 3
"""Labels whose probability is drawn, the likeliest ones."""

PLOT_HEIGHT = 460
"""Pixels held for the heatmap while the first answer is on its way."""


def show(model: store.ModelSummary | None) -> None:
    """Show the page for one model."""
    st.header(t("attention.title"), anchor=False)
    if model is None:
        show_no_model()
        return
    text = ask_sentence(examples_of(model.card))
    target = ask_target() if model.config.architecture == "encoder-decoder" else None
    with st.skeleton(height=PLOT_HEIGHT):
        trace = answer(Run(model.name, text, target))
    if trace is None:
        return
    if model.config.has_decoder:
        show_writing(trace, own=target is None)
    else:
        show_prediction(trace)
    show_reading(trace)
    show_head(trace)
    with st.expander(t("attention.what"), icon=":material/help:"):
        st.markdown(t("attention.explained"))
        st.latex(r"\mathrm{weights} = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right)")


def show_no_model() -> None:
    """Say that there is nothing to look into yet, and how to come by something."""
    st.info(t("model.none"), icon=":material/school:")
    st.code("python -m transformer_viz train --preset single-block --data reviews.csv --out models/my-model")


def ask_target() -> str | None:
    """Show the box for what the decoder has written; None if the model is to write it itself."""
    typed = st.text_input(
        t("target.label"),
        key="target",
        bind="query-params",
        placeholder=t("target.placeholder"),
        help=t("target.help"),
        max_chars=2_000,
    )
    return typed if typed and typed.strip() else None


def answer(run: Run) -> Trace | None:
    """Ask the engine; where it cannot answer, say why in one sentence and return None."""
    if not run.text.strip():
        st.info(t("sentence.empty"), icon=":material/edit:")
        return None
    engine = shared_engine()
    restarts = engine.restarts
    try:
        trace = cached_trace(run, store.stamp(run.model))
    except NoTokensError:
        st.info(t("sentence.no_tokens"), icon=":material/edit:")
        return None
    except EngineError:
        st.error(t("engine.failed"), icon=":material/error:")
        return None
    except store.ModelError as error:
        st.error(t("model.unreadable", reason=plain(str(error))), icon=":material/error:")
        return None
    except ValueError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    if engine.restarts > restarts:
        st.info(t("engine.restarted"), icon=":material/restart_alt:")
    return trace


@st.cache_data(max_entries=32, show_spinner=False)
def cached_trace(run: Run, stamp) -> Trace:
    """Return the trace of a run; a model folder written anew has another stamp."""
    return shared_engine().trace(run)


def show_prediction(trace: Trace) -> None:
    """Say the prediction in words, with the probabilities of the likeliest labels."""
    best = int(trace.probs.argmax())
    likeliest = sorted(np.argsort(-trace.probs)[:MAX_BARS])
    words, *bars = st.columns([2, *[1] * len(likeliest)], vertical_alignment="center", gap="medium")
    words.markdown(
        t("prediction.sentence", label=plain(trace.labels[best]), percent=f"{trace.probs[best]:.1%}")
    )
    for bar, i in zip(bars, likeliest, strict=True):
        bar.progress(float(trace.probs[i]), text=f"{plain(trace.labels[i])} · {trace.probs[i]:.1%}")


def show_writing(trace: Trace, *, own: bool) -> None:
    """Say what the model wrote, or what it would write next after what it was given."""
    probs = trace.probs[-1]
    if own and trace.encoder:
        goes_on = "" if trace.labels[probs.argmax()] == END else " …"
        st.markdown(t("writing.sentence", text=(plain(trace.target_text) or "∅") + goes_on))
        return
    likeliest = np.argsort(-probs)[:MAX_BARS]
    words, *bars = st.columns([2, *[1] * len(likeliest)], vertical_alignment="center", gap="medium")
    best = likeliest[0]
    words.markdown(t("writing.next", token=plain(trace.labels[best]), percent=f"{probs[best]:.1%}"))
    for bar, i in zip(bars, likeliest, strict=True):
        bar.progress(float(probs[i]), text=f"{plain(visible(trace.labels[i]))} · {probs[i]:.1%}")


def show_reading(trace: Trace) -> None:
    """Say what the model did not see: words cut away, words it does not know."""
    if trace.num_dropped:
        total = len(trace.tokens) + trace.num_dropped
        key = {0: "beginning", len(trace.tokens): "end"}.get(trace.cut_at, "middle")
        st.caption(
            t(
                f"reading.cut_{key}",
                read=len(trace.tokens),
                total=total,
                head=trace.cut_at,
                tail=len(trace.tokens) - trace.cut_at,
            )
        )
    if trace.unknown.all():
        st.caption(t("reading.all_unknown"))
        return
    unknown = list(dict.fromkeys(visible(trace.words[i]) for i in np.flatnonzero(trace.unknown)))
    if unknown:
        shown = ", ".join(f"“{plain(word)}”" for word in unknown[:8]) + (" …" if len(unknown) > 8 else "")
        st.caption(t("reading.unknown", words=shown, count=trace.unknown.sum(), total=len(trace.tokens)))


def show_head(trace: Trace) -> None:
    """Let the visitor choose an attention, a layer and a head, say what is strongest in it, and draw it."""
    with st.container(horizontal=True, gap="medium"):
        chosen = choose_attention(trace)
        layer = choose("layer", len(chosen))
        stack, _, kind, attention, query_tokens, key_tokens = chosen[layer - 1]
        head = choose("head", len(attention.weights))
        to_one = choose_scale()
    weights, mask = attention.weights[head - 1], mask_of(trace, stack, kind)[0]
    queries, keys = axis_tokens(trace, query_tokens), axis_tokens(trace, key_tokens)
    query, key = strongest(weights, mask)
    names = {"query": plain(queries[query]), "key": plain(keys[key])}
    st.markdown(t("head.sentence", layer=layer, head=head, weight=f"{weights[query, key]:.2f}", **names))
    rows = queries if stack == "encoder" else writing_tokens(trace, queries)
    figure = weights_heatmap(
        weights,
        rows,
        keys,
        mask=mask,
        labels={
            "query": t("heatmap.query" if stack == "encoder" else "heatmap.writes"),
            **{name: t(f"heatmap.{name}") for name in ("key", "weight", "reads")},
        },
        vmax=1.0 if to_one else float(weights.max()) or 1.0,
        theme=st.context.theme.type or "light",
    )
    picture = {"filename": f"{trace.model}-layer{layer}-head{head}", "scale": 2}
    st.plotly_chart(
        figure,
        key="heatmap",
        config={"displaylogo": False, "toImageButtonOptions": picture},
        alt=t("heatmap.alt", layer=layer, head=head),
    )
    st.download_button(
        t("download.csv"),
        lambda: trace.to_frame().to_csv(index=False),
        file_name=f"{trace.model}-attention.csv",
        mime="text/csv",
        icon=":material/download:",
        type="tertiary",
    )


def strongest(weights, mask) -> tuple[int, int]:
    """Return the row and column of the largest weight, among rows that have a choice where there are any."""
    choices = np.broadcast_to(mask, weights.shape).sum(axis=-1, keepdims=True)
    free = np.where(choices > 1, weights, -1) if (choices > 1).any() else weights
    query, key = np.unravel_index(free.argmax(), weights.shape)
    return int(query), int(key)


def choose_scale() -> bool:
    """Show the choice of the colour scale; True if it goes to 1."""
    return st.segmented_control(
        t("scale.label"),
        [False, True],
        default=False,
        format_func=lambda to_one: t("scale.full" if to_one else "scale.head"),
        key="scale",
        persist_state="session",
        required=True,
        help=t("scale.help"),
    )


def choose(name, count) -> int:
    """Show the choice of a layer or a head, counted from 1 and kept in the URL."""
    numbers = list(range(1, count + 1))
    return st.segmented_control(
        t(f"{name}.label"), numbers, default=1, key=name, bind="query-params", required=True
    )


def choose_attention(trace: Trace) -> list:
    """Show the choice among a model's attentions, where it has more than one; return its layers."""
    kinds = {}
    for layer in trace.attentions():
        stack, _, kind, *_ = layer
        kinds.setdefault("cross" if kind == "cross" else stack, []).append(layer)
    if len(kinds) == 1:
        return next(iter(kinds.values()))
    return kinds[
        st.segmented_control(
            t("kind.label"),
            list(kinds),
            default="cross",
            format_func=lambda kind: t(f"kind.{kind}"),
            key="kind",
            bind="query-params",
            required=True,
            help=t("kind.help"),
        )
    ]


def mask_of(trace: Trace, stack, kind) -> np.ndarray:
    """Return the model's own mask of one attention, the same for all heads: bool (1, query or 1, key)."""
    if kind == "cross":
        return trace.values.cross_attention_mask
    if stack == "decoder" and trace.encoder:
        return trace.values.target_attention_mask
    return trace.values.attention_mask


def writing_tokens(trace: Trace, tokens) -> list[str]:
    """Return a decoder's tokens with what it would write after each."""
    following = [trace.labels[i] for i in trace.probs.argmax(axis=-1)]
    return [f"{token} → {after}" for token, after in zip(tokens, following, strict=True)]


def axis_tokens(trace: Trace, tokens) -> list[str]:
    """Return the tokens of one side as the axes show them: an unknown word as typed, marked."""
    if tokens is not trace.tokens:
        return list(tokens)
    return [
        f"{word} [UNK]" if unknown else token
        for token, word, unknown in zip(trace.tokens, trace.words, trace.unknown, strict=True)
    ]
