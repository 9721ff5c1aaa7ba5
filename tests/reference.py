"""A Transformer in plain NumPy, one sentence at a time, written from the equations of the 2017 paper.

Nothing is shared with the package but the names of the parameters: no batch, no masks as tensors, a loop over
the heads, sums written out.
"""

import math

import numpy as np


class Reference:
    """The forward pass of one config with given parameters, in float64.

    The feed-forward layers that add nothing are (stack, layer) pairs.
    """

    def __init__(self, config, parameters, without_ffn=()):
        self.config = config
        self.without_ffn = without_ffn
        self.largest_score = 0.0
        self.p = {name: np.asarray(value, dtype=np.float64) for name, value in parameters.items()}

    def logits(self, token_ids, target_ids=None):
        """Return what the model answers to one text, and one target."""
        config = self.config
        stack = "decoder" if config.architecture == "decoder" else "encoder"
        x = self.embed(token_ids, "")
        x = self.stack(stack, x, token_ids, config.causal)
        if target_ids is not None:
            memory, x = x, self.embed(target_ids, "target_")
            x = self.stack("decoder", x, target_ids, True, memory, token_ids)
        if config.has_decoder:
            if config.output_transform:
                x = self.norm(self.activate(config.activation, self.dense(x, "transform")), "transform_norm")
            x = x / math.sqrt(config.d_model) if config.scale_output else x
            if config.tie_embeddings:
                logits = x @ self.p["token_embedding/embeddings"].T + self.p.get("output/bias", 0)
            else:
                logits = self.dense(x, "output")
            return (
                logits if config.logit_cap is None else config.logit_cap * np.tanh(logits / config.logit_cap)
            )
        x = self.pool(x, token_ids)
        if config.pooled_activation != "none":
            x = self.activate(config.pooled_activation, self.dense(x, "pooled"))
        if config.pooled_norm:
            x = self.norm(x, "pooled_norm")
        return self.dense(x, "classifier")

    def embed(self, ids, side):
        config = self.config
        own = f"{side}token_embedding/embeddings"
        token = self.p[own if own in self.p else "token_embedding/embeddings"][ids]
        if config.scale_embedding:
            token = token * math.sqrt(config.d_model)
        rows = []
        for place, token_id in enumerate(ids):
            position = place
            if config.padding_position:
                position = 0 if token_id == 0 else place + 1
            rows.append(self.position(position, side))
        total = token + np.array(rows)
        if config.segments:
            total = total + self.p["segment_embedding/embeddings"][self.segments([*ids])]
        if config.embedding_norm:
            total = self.norm(total, f"{side}embedding_norm")
        return self.dense(total, f"{side}embedding_projection") if config.projects_embeddings else total

    def segments(self, ids):
        """Return the row of the segment table for each id: the first until the separator is complete."""
        mark, pad = [*self.config.separator], self.config.pad_id
        ends = [end for end in range(len(mark), len(ids) + 1) if mark and ids[end - len(mark) : end] == mark]
        begin = ends[0] if ends else len(ids)
        return [int(place >= begin and ids[place] != pad) for place in range(len(ids))]

    def position(self, position, side):
        config, d = self.config, self.config.embedding_dim
        if config.positions in ("none", "rotary", "relative"):
            return np.zeros(d)
        if config.positions == "learned":
            return self.p[f"{side}position_embedding/embeddings"][position]
        if config.positions == "one-hot":
            return np.eye(d)[position]
        if config.positions == "sinusoidal":
            pairs = [position / 10_000 ** (2 * i / d) for i in range(d // 2)]
            return np.array([value for angle in pairs for value in (math.sin(angle), math.cos(angle))])
        pairs = [position / 10_000 ** (i / max(d // 2 - 1, 1)) for i in range(d // 2)]
        return np.array([math.sin(angle) for angle in pairs] + [math.cos(angle) for angle in pairs])

    def stack(self, name, x, ids, causal, memory=None, source_ids=None):
        own = "attention" if name == "encoder" else "self_attention"
        for layer in range(self.config.stacks[name]):
            prefix = f"{name}_{layer}"
            may = [
                [
                    self.may_read(ids, q, k) and (k <= q or not causal) and self.near(layer, q, k)
                    for k in range(len(ids))
                ]
                for q in range(len(ids))
            ]
            places = [self.place(ids, place) for place in range(len(ids))]
            start = x
            x = self.sublayer(
                prefix,
                own,
                x,
                lambda y, p=prefix, m=may, t=places, n=layer: self.attention(
                    f"{p}/{own}", y, y, m, t, name, n
                ),
            )
            if memory is not None:
                may = [
                    [self.may_read(source_ids, q, k) for k in range(len(source_ids))] for q in range(len(ids))
                ]
                x = self.sublayer(
                    prefix,
                    "cross_attention",
                    x,
                    lambda y, p=prefix, m=may: self.attention(f"{p}/cross_attention", y, memory, m),
                )
            if self.config.ffn_dim:
                read = start if self.config.parallel else x
                share = 0 if (name, layer) in self.without_ffn else 1
                x = self.sublayer(prefix, "ffn", x, lambda y, p=prefix: self.ffn(f"{p}/ffn", y), read, share)
        return self.norm(x, f"{name}_norm") if self.config.final_norm else x

    def may_read(self, ids, query, key):
        return ids[key] != 0 or not self.config.mask_padding

    def has_window(self, layer):
        return self.config.window is not None and layer not in self.config.unlimited_layers

    def near(self, layer, query, key):
        return not self.has_window(layer) or abs(query - key) <= self.config.window

    def place(self, ids, place):
        if not self.config.padding_position:
            return place
        return 0 if ids[place] == 0 else place + 1

    def sublayer(self, prefix, name, x, compute, read=None, share=1):
        norm = self.config.norm
        read = x if read is None else read
        plain = (
            prefix.endswith("_0") and name in ("attention", "self_attention") and not self.config.first_norm
        )
        if norm in ("pre", "sandwich") and not plain:
            read = self.norm(read, f"{prefix}/{name}_norm")
        update = compute(read)
        if norm == "sandwich":
            update = self.norm(update, f"{prefix}/{name}_output_norm")
        update = share * update
        x = x + update if self.config.residual else update
        return self.norm(x, f"{prefix}/{name}_norm") if norm == "post" else x

    def attention(self, name, x, source, may, places=None, stack=None, layer=0):
        config, heads = self.config, []
        query, key, value = (
            self.dense(y, f"{name}/{part}") for y, part in ((x, "query"), (source, "key"), (source, "value"))
        )
        for h in range(config.num_heads):
            shared = h * config.num_kv_heads // config.num_heads
            q = query[:, h * config.head_dim : (h + 1) * config.head_dim]
            k = key[:, shared * config.head_dim : (shared + 1) * config.head_dim]
            v = value[:, shared * config.value_dim : (shared + 1) * config.value_dim]
            if config.qk_norm:
                q = self.rms(q) * self.p[f"{name}/query_norm/scale"]
                k = self.rms(k) * self.p[f"{name}/key_norm/scale"]
            if config.positions == "rotary" and places is not None:
                base, scaling = (
                    (config.window_rotary_base, config.window_rotary_scaling)
                    if self.has_window(layer)
                    else (config.rotary_base, config.rotary_scaling)
                )
                q, k = (
                    np.array([self.turn(*pair, base, scaling) for pair in zip(y, places, strict=True)])
                    for y in (q, k)
                )
            out = np.zeros((len(x), config.value_dim))
            for i in range(len(x)):
                read = [j for j in range(len(source)) if may[i][j]]
                scores = [float(q[i] @ k[j]) / math.sqrt(config.head_dim) for j in read]
                if config.score_cap is not None:
                    scores = [config.score_cap * math.tanh(score / config.score_cap) for score in scores]
                if config.has_relative_bias and places is not None:
                    distances = [places[j] - places[i] for j in read]
                    biases = [self.bias(stack, distance, h) for distance in distances]
                    scores = [score + bias for score, bias in zip(scores, biases, strict=True)]
                self.largest_score = max([self.largest_score, *map(abs, scores)])
                powers = [math.exp(score - max(scores)) for score in scores]
                for j, power in zip(read, powers, strict=True):
                    out[i] += power / sum(powers) * v[j]
            heads.append(out)
        joined = np.concatenate(heads, axis=-1)
        return self.dense(joined, f"{name}/output") if config.output_projection else joined

    def bias(self, stack, distance, head):
        """Return the number that T5 adds for a distance: near ones have a row each, far ones share it."""
        table = self.p[f"{stack}_relative_bias/embeddings"][:, head]
        if stack == "encoder" and not self.config.causal:
            half = len(table) // 2
            table = table[half : 2 * half] if distance > 0 else table[:half]
            distance = abs(distance)
        else:
            distance = max(-distance, 0)
        near = len(table) // 2
        if distance < near:
            return table[distance]
        share = math.log(distance / near) / math.log(self.config.relative_reach / near)
        return table[min(near + int(share * (len(table) - near) + 1e-9), len(table) - 1)]

    def turn(self, vector, place, base, scaling):
        """Turn the pairs (i, i + width / 2) of a vector, as complex numbers."""
        width = self.config.rotary_width
        half, turned = width // 2, vector.copy()
        for i in range(half):
            angle = place / base ** (2 * i / width) / (scaling[i] if scaling else 1)
            point = complex(vector[i], vector[i + half]) * complex(math.cos(angle), math.sin(angle))
            turned[i], turned[i + half] = point.real, point.imag
        return turned

    def ffn(self, name, x):
        hidden, activation = self.dense(x, f"{name}/hidden"), self.config.activation
        if self.config.gated_ffn:
            hidden = hidden * self.activate(activation, self.dense(x, f"{name}/gate"))
        else:
            hidden = self.activate(activation, hidden)
        return self.dense(hidden, f"{name}/output")

    def activate(self, name, x):
        functions = {
            "relu": lambda y: max(y, 0),
            "tanh": math.tanh,
            "gelu": lambda y: 0.5 * y * (1 + math.erf(y / math.sqrt(2))),
            "gelu-tanh": lambda y: 0.5 * y * (1 + math.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3))),
            "silu": lambda y: y * (1 + math.tanh(y / 2)) / 2,
        }
        return np.vectorize(functions[name], otypes=[np.float64])(x)

    def pool(self, x, ids):
        real = [i for i, token_id in enumerate(ids) if token_id != 0 or not self.config.mask_padding]
        if self.config.pooling == "first":
            return x[0]
        if self.config.pooling == "last":
            return x[real[-1] if real else 0]
        if self.config.pooling == "max":
            return x[real].max(axis=0)
        if self.config.pooling == "mean":
            return x[real].mean(axis=0)
        scores = self.dense(x[real], "pooling")[:, 0]
        powers = np.exp(scores - scores.max())
        return (powers / powers.sum()) @ x[real]

    def dense(self, x, name):
        return x @ self.p[f"{name}/kernel"] + self.p.get(f"{name}/bias", 0)

    def rms(self, x):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + self.config.norm_epsilon)

    def norm(self, x, name):
        if self.config.norm_kind == "rms":
            return self.rms(x) * self.p[f"{name}/scale"]
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt(x.var(axis=-1, keepdims=True) + self.config.norm_epsilon)
        return x * self.p[f"{name}/gamma"] + self.p[f"{name}/beta"]
