"""Traces of random numbers, made without a model, and a reader of what the views are given."""

import json

import numpy as np

from transformer_viz.language import Words
from transformer_viz.network.tensors import AttentionTrace, DecoderBlockTrace, EncoderBlockTrace, ModelTrace
from transformer_viz.pictures import views
from transformer_viz.pictures.captions import role_name, role_order, share_texts
from transformer_viz.pictures.lens import head_metrics
from transformer_viz.pictures.parameters import project_heads
from transformer_viz.questions.roles.head_roles import UsualRole
from transformer_viz.trace.trace import Trace

TOKENS = [f"t{number}" for number in range(7)]

VALUES = {
    "weights": "weight",
    "scores": "score",
    "masked": "masked score",
    "norms": "weight × value norm",
}
"""What a matrix shows -> its name."""


def attention(random, heads, mask):
    """Return one attention whose masked weights are 0 and whose rows sum to 1 wherever they can."""
    queries, keys = mask.shape[-2:]
    query, key = (
        random.normal(scale=2, size=(heads, size, 4)).astype(np.float32) for size in (queries, keys)
    )
    scores = query @ np.swapaxes(key, 1, 2) / 2
    weights = np.where(mask, np.exp(scores), 0)
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    value = random.normal(size=(heads, keys, 5)).astype(np.float32)
    context = weights @ value
    return AttentionTrace(query, key, value, scores, weights, context, project_heads(context))


def with_bias(random, found, mask):
    """Return one attention with a relative position bias in its scores, and the bias."""
    bias = random.normal(size=found.scores.shape).astype(np.float32)
    scores = found.scores + bias
    powers = np.where(mask, np.exp(scores), 0)
    weights = powers / powers.sum(axis=-1, keepdims=True)
    context = weights @ found.value
    made = found._replace(scores=scores, weights=weights, context=context, output=project_heads(context))
    return made, bias


def capped(found, cap):
    """Return one attention whose scores have a cap."""
    scores = cap * np.tanh(found.scores / cap)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    context = weights @ found.value
    return found._replace(scores=scores, weights=weights, context=context, output=project_heads(context))


def encoder_block(found, stream):
    made = {"attention": found, "resid_pre": stream, "attention_input": stream}
    return EncoderBlockTrace(**dict.fromkeys(EncoderBlockTrace._fields) | made)


def decoder_block(own, cross, stream):
    made = {"self_attention": own, "resid_pre": stream, "self_attention_input": stream}
    made |= {"cross_attention": cross, "resid_mid": stream, "cross_attention_input": stream / 2}
    return DecoderBlockTrace(**dict.fromkeys(DecoderBlockTrace._fields) | made)


def embedded(random, size):
    """Return a token's vectors, those of positions, and their sum: float32 (size, 6)."""
    token, position = random.normal(size=(2, size, 6)).astype(np.float32)
    return token, position, token + position


def trace_of(tokens, target=(), **values):
    """Return a trace of some tokens with those parts of a forward pass."""
    text = " ".join(tokens)
    stacks = {"encoder": (), "decoder": ()}
    return Trace(
        model="made",
        text=text,
        tokens=tuple(tokens),
        offsets=tuple((0, 0) for _ in tokens),
        token_ids=np.arange(len(tokens), dtype=np.int32),
        num_dropped=0,
        cut_at=None,
        labels=("bad", "good"),
        probs=np.array([0.25, 0.75], np.float32),
        values=ModelTrace(**dict.fromkeys(ModelTrace._fields) | stacks | values),
        target_tokens=tuple(target),
    )


def encoder_trace(tokens, *, layers=2, heads=3, mask=None, seed=7):
    """Return a trace of an encoder; `mask` is bool (head or 1, query, key)."""
    random = np.random.default_rng(seed)
    size = len(tokens)
    mask = np.ones((1, size, size), bool) if mask is None else mask
    token, position, stream = embedded(np.random.default_rng(seed + 1), size)
    blocks = tuple(encoder_block(attention(random, heads, mask), stream) for _ in range(layers))
    return trace_of(
        tokens, attention_mask=mask, encoder=blocks, token_embedding=token, position_embedding=position
    )


def masked_trace():
    """Return a trace of two layers and three heads, each with gaps of its own."""
    mask = np.random.default_rng(5).random((3, 7, 7)) < 0.7
    mask[:, range(7), range(7)] = True
    mask[1, 4] = False  # a row that may attend to nothing
    return encoder_trace(TOKENS, mask=mask)


def half(array):
    return np.asarray(array).astype(np.float16).astype(np.float64)


def numbers(trace, layer, head, value):
    """Return what one head shows, worked out apart from the views; NaN for a gap."""
    attention = trace.encoder[layer].attention
    shown = half(attention.scores if value in {"scores", "masked"} else attention.weights)[head]
    if value == "norms":
        shown = (shown * half(np.linalg.norm(attention.value, axis=-1))[head]).astype(np.float32)
    allowed = np.broadcast_to(trace.values.attention_mask, attention.weights.shape)[head]
    return np.where((value == "scores") | allowed, shown, np.nan)


def writing_trace(tokens, target, *, layers=(2, 3), heads=3, seed=7):
    """Return a trace of an encoder-decoder."""
    random = np.random.default_rng(seed)
    everywhere = np.ones((1, 1, len(tokens)), bool)
    causal = np.tril(np.ones((1, len(target), len(target)), bool))
    square = np.ones((1, len(tokens), len(tokens)), bool)
    across = np.ones((1, len(target), len(tokens)), bool)
    token, position, stream = embedded(np.random.default_rng(seed + 1), len(tokens))
    written = embedded(np.random.default_rng(seed + 2), len(target))
    return trace_of(
        tokens,
        target,
        token_embedding=token,
        position_embedding=position,
        target_token_embedding=written[0],
        target_position_embedding=written[1],
        attention_mask=everywhere,
        target_attention_mask=causal,
        cross_attention_mask=everywhere,
        encoder=tuple(encoder_block(attention(random, heads, square), stream) for _ in range(layers[0])),
        memory=embedded(np.random.default_rng(seed + 3), len(tokens))[2],
        decoder=tuple(
            decoder_block(attention(random, heads, causal), attention(random, heads, across), written[2])
            for _ in range(layers[1])
        ),
    )


def projected_of(found):
    if found.layers[0].context is None:
        return None
    return np.stack([project_heads(layer.context) for layer in found.layers])


def packed(trace, *, language="en", kinds=None, chosen=None, **changes):
    """Return a trace as the views read it, with the words of the app.

    Changes are fields of what is shown of each kind of attention: kind -> value. `kinds` are shown, else all;
    `chosen` is the head that the server has chosen.
    """
    said = Words(language).sentences
    shown = {}
    for kind, found in trace.kinds().items():
        if kind not in (kinds or trace.kinds()):
            continue
        heads, queries, keys = found.layers[0].weights.shape
        facts = views.AttentionPayload(
            found,
            tokens=([*found.query_tokens], [*found.key_tokens]),
            name=said[f"kind.{kind}"],
            title=said["heatmap.query"],
            head_title=said["heads.title"],
            metrics=head_metrics(kind, found),
            roles=[["mixed"] * heads for _ in found.layers],
            captions=[
                [f"{kind} {layer} {head} looks around." for head in range(heads)]
                for layer in range(len(found.layers))
            ],
            vectors=views.vectors_of(trace, kind, projected_of(found)),
            sentences=(np.zeros(queries, int), np.zeros(keys, int)),
            cap=None if trace.values.score_cap is None else float(trace.values.score_cap),
        )
        shown[kind] = facts._replace(**{name: of[kind] for name, of in changes.items() if kind in of})
    return views.payload_bytes(trace.model, shown, Words(language).under("lens"), chosen=chosen)


def usually(kinds, language="en"):
    """Return changes for `packed`: heads with usual roles.

    Kind of attention -> (role, share) of each head, by layer; None: the head has none.
    """
    words, changes = Words(language), {"roles": {}, "shares": {}, "metrics": {}}
    for kind, layers in kinds.items():
        facts = (0.1, 1.0, 90, 100)
        usual = [[UsualRole(*(head or ("mixed", np.nan)), *facts) for head in layer] for layer in layers]
        changes["roles"][kind] = [[role_name(words, role) for role in layer] for layer in usual]
        changes["shares"][kind] = share_texts(usual)
        changes["metrics"][kind] = {"role": role_order(usual)}
    return changes | {"language": language}


def unpack(payload):
    """Return the header and kind -> name -> array of what `payload_bytes` wrote, read without its help."""
    length = int.from_bytes(payload[:8], "little")
    header = json.loads(payload[8 : 8 + length])
    arrays = {}
    for found in header["attentions"]:
        arrays[found["kind"]] = {
            name: np.frombuffer(
                payload, facts["dtype"], int(np.prod(facts["shape"])), 8 + length + facts["at"]
            ).reshape(facts["shape"])
            for name, facts in found["arrays"].items()
        }
    return header, arrays


def unpack_heads(payload):
    """Return the header and the weights in percent of what `heads_forming` wrote, read without its help."""
    length = int.from_bytes(payload[:8], "little")
    header = json.loads(payload[8 : 8 + length])
    return header, np.frombuffer(payload, np.uint8, offset=8 + length).reshape(header["values"]["shape"])
