"""A Transformer in plain NumPy, one sentence at a time, written from the equations of the 2017 paper.

Nothing is shared with the package but the names of the parameters: no batch, no masks as tensors, a loop over
the heads, sums written out.
"""

import math

import numpy as np


class Reference:
    """The forward pass of one config with given parameters, in float64."""

    def __init__(self, config, parameters):
        self.config = config
        self.p = {name: np.asarray(value, dtype=np.float64) for name, value in parameters.items()}

    def logits(self, token_ids, target_ids=None):
        """Return what the model answers to one text, and one target."""
        config = self.config
        stack = "decoder" if config.architecture == "decoder" else "encoder"
        x = self.embed(token_ids, "", config.max_len)
        x = self.stack(stack, x, token_ids, config.causal)
        if target_ids is not None:
            memory, x = x, self.embed(target_ids, "target_", config.target_max_len)
            x = self.stack("decoder", x, target_ids, True, memory, token_ids)
        if config.has_decoder:
            if config.tie_embeddings:
                return x @ self.p["token_embedding/embeddings"].T
            return self.dense(x, "output")
        return self.dense(self.pool(x, token_ids), "classifier")

    def embed(self, ids, side, length):
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
        return token + np.array(rows)

    def position(self, position, side):
        config, d = self.config, self.config.d_model
        if config.positions == "none":
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
                    self.may_read(ids, q, k) and (k <= q or not causal) and self.near(q, k)
                    for k in range(len(ids))
                ]
                for q in range(len(ids))
            ]
            x = self.sublayer(
                prefix, own, x, lambda y, p=prefix, m=may: self.attention(f"{p}/{own}", y, y, m)
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
                x = self.sublayer(prefix, "ffn", x, lambda y, p=prefix: self.ffn(f"{p}/ffn", y))
        return self.norm(x, f"{name}_norm") if self.config.final_norm else x

    def may_read(self, ids, query, key):
        return ids[key] != 0 or not self.config.mask_padding

    def near(self, query, key):
        return self.config.window is None or abs(query - key) <= self.config.window

    def sublayer(self, prefix, name, x, compute):
        norm = self.config.norm
        update = compute(self.norm(x, f"{prefix}/{name}_norm") if norm == "pre" else x)
        x = x + update if self.config.residual else update
        return self.norm(x, f"{prefix}/{name}_norm") if norm == "post" else x

    def attention(self, name, x, source, may):
        config, heads = self.config, []
        query, key, value = (
            self.dense(y, f"{name}/{part}") for y, part in ((x, "query"), (source, "key"), (source, "value"))
        )
        for h in range(config.num_heads):
            q = query[:, h * config.head_dim : (h + 1) * config.head_dim]
            k = key[:, h * config.head_dim : (h + 1) * config.head_dim]
            v = value[:, h * config.value_dim : (h + 1) * config.value_dim]
            out = np.zeros((len(x), config.value_dim))
            for i in range(len(x)):
                read = [j for j in range(len(source)) if may[i][j]]
                scores = [float(q[i] @ k[j]) / math.sqrt(config.head_dim) for j in read]
                powers = [math.exp(score - max(scores)) for score in scores]
                for j, power in zip(read, powers, strict=True):
                    out[i] += power / sum(powers) * v[j]
            heads.append(out)
        joined = np.concatenate(heads, axis=-1)
        return self.dense(joined, f"{name}/output") if config.output_projection else joined

    def ffn(self, name, x):
        hidden = self.dense(x, f"{name}/hidden")
        if self.config.activation == "relu":
            hidden = np.maximum(hidden, 0)
        else:
            erf = np.vectorize(math.erf)
            hidden = 0.5 * hidden * (1 + erf(hidden / math.sqrt(2)))
        return self.dense(hidden, f"{name}/output")

    def pool(self, x, ids):
        real = [i for i, token_id in enumerate(ids) if token_id != 0 or not self.config.mask_padding]
        if self.config.pooling == "first":
            return x[0]
        if self.config.pooling == "max":
            return x[real].max(axis=0)
        if self.config.pooling == "mean":
            return x[real].mean(axis=0)
        scores = self.dense(x[real], "pooling")[:, 0]
        powers = np.exp(scores - scores.max())
        return (powers / powers.sum()) @ x[real]

    def dense(self, x, name):
        return x @ self.p[f"{name}/kernel"] + self.p.get(f"{name}/bias", 0)

    def norm(self, x, name):
        mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + 1e-6) * self.p[f"{name}/gamma"] + self.p[f"{name}/beta"]
