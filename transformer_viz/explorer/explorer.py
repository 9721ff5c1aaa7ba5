"""The explorer: a loaded model with its tokenizer, from text to traces and predictions in NumPy."""

import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
import tensorflow as tf
from tqdm import tqdm

from transformer_viz.data.batches import by_length, pad
from transformer_viz.explorer.beams import LENGTH_PENALTY
from transformer_viz.explorer.controls import with_intervention
from transformer_viz.explorer.forward import CompiledFunction, ForwardPass, Prepared
from transformer_viz.explorer.growing import with_written
from transformer_viz.explorer.means import mean_contexts
from transformer_viz.explorer.no_answer import why_no_answer
from transformer_viz.language import Problem
from transformer_viz.network.model import Transformer
from transformer_viz.network.startup import import_with_keras
from transformer_viz.network.tensors import Intervention, ModelTrace, logits_only, mapped, weights_only
from transformer_viz.text.special import MASK
from transformer_viz.text.texts import each_text
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.trace.request import OWN, ChangeArguments, Request, names_changes
from transformer_viz.trace.softmax import label_logits, softmax
from transformer_viz.trace.trace import Trace

if TYPE_CHECKING:
    from transformer_viz.explorer.decode import Generation
    from transformer_viz.questions.roles.head_roles import HeadRoles

KEPT = {"all": lambda values: values, "weights": weights_only, "logits": logits_only}
"""Value of `keep` in `Explorer.trace` -> function that returns a `ModelTrace` with only those tensors."""


def gpus() -> list[str]:
    """Return the names of the GPUs TensorFlow found."""
    devices = tf.config.list_physical_devices("GPU")
    return [
        tf.config.experimental.get_device_details(device).get("device_name", device.name)
        for device in devices
    ]


class Explorer:
    """A model with its tokenizers.

    Args:
        model: `Transformer`; never modified.
        tokenizer: `Tokenizer` of its training.
        target_tokenizer: `Tokenizer` of the targets of an encoder-decoder.
        name: Name of the model in traces.
        card: The model card.
        head_roles: What its heads usually do, if that is kept with the model.

    Raises:
        ValueError: If a tokenizer is missing, or a decoder's has no [START] and [END].

    >>> import transformer_viz as tv
    >>> explorer = tv.load("imdb-sentiment")
    >>> explorer.trace("the film was not good").encoder[0].attention.weights.shape
    (8, 6, 6)
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        *,
        target_tokenizer: Tokenizer | None = None,
        name: str = "model",
        card: dict[str, Any] | None = None,
        head_roles: "HeadRoles | None" = None,
    ):
        self.model = model
        self.config = model.config
        self.tokenizer = tokenizer
        self.target_tokenizer = target_tokenizer
        self.name = name
        self.card = card or {}
        self.head_roles = head_roles
        self.forward = ForwardPass(model, tokenizer, target_tokenizer)
        self._compiled: dict[Hashable, CompiledFunction] = {}
        self._compiling = threading.Lock()

    def __repr__(self):
        config, depth = self.config, " + ".join(map(str, self.config.stacks.values()))
        size = f"{depth} layers of {config.num_heads} heads, {config.num_parameters:,} parameters"
        longest = self.card.get("longest")
        limit = f", reads {config.max_len:,} of {longest:,} tokens" if type(longest) is int else ""
        return f"Explorer({self.name!r}, {config.architecture}, {size}{limit})"

    @property
    def num_compilations(self) -> int:
        """Number of compilations so far, of everything that was asked.

        `trace` needs for each value of `keep` in use one for all requests without interventions, and one for
        all with some.
        """
        return sum(each.num_compilations for each in [*self._compiled.values()])

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:
        """Names in the order of `Trace.probs`: classes, or the vocabulary."""
        if not self.config.predicts_tokens:
            return self.config.labels
        return self.output_tokenizer.vocabulary

    @property
    def output_tokenizer(self) -> Tokenizer:
        """Tokenizer of the predicted tokens: the target's, if there is one."""
        return self.target_tokenizer or self.tokenizer

    @names_changes
    def request(
        self,
        text: str | Sequence[int],
        *,
        target: str | Sequence[int] | None = None,
        **changes: Unpack[ChangeArguments],
    ) -> Request:
        """Return a request to this model; arguments as for `trace`."""
        return Request.of(self.name, text, target, **changes)

    @names_changes
    def trace(
        self,
        text: str | Sequence[int],
        *,
        target: str | Sequence[int] | None = None,
        keep: str = "all",
        **changes: Unpack[ChangeArguments],
    ) -> Trace:
        """Run one forward pass over a text and return its tensors.

        Args:
            text: Text or token ids, of any framework, without those that the model puts around a text or
                with them; truncated to `config.max_len` tokens, see `Trace.num_dropped`.
            target: Decoder input of an encoder-decoder, as text or token ids without [START]; None: the model
                writes it, greedily and under the same changes, see `generate`.
            keep: "all"; "weights": only attention weights, masks and logits; "logits": only logits.
            **changes: Attributes of `Changes`, which says what each is.

        Raises:
            NoTokensError: If the text has no tokens.
            ValueError: If an argument refers to something that does not exist.
        """
        return self.run(self.request(text, target=target, **changes), keep=keep)

    def run(self, request: Request, *, keep: str = "all") -> Trace:
        """Answer a request; without a target, an encoder-decoder first writes one, see `with_target`.

        Arguments, result and errors as for `trace`.
        """
        prepared = self.prepare(self.with_target(request))
        source, target, values = prepared.source, prepared.target, self.compute(prepared, keep=keep)
        trace = Trace(
            model=self.name,
            text=source.text,
            tokens=source.tokens,
            offsets=source.offsets,
            token_ids=source.ids,
            num_dropped=source.num_dropped,
            cut_at=source.cut_at,
            labels=self.labels,
            probs=self._probs(label_logits(self.config, values.logits)),
            values=values,
        )
        if target is None:
            return trace
        return dataclasses.replace(
            trace,
            target_text=target.text,
            target_tokens=target.tokens,
            target_offsets=target.offsets,
            target_ids=target.ids,
        )

    def with_target(self, request: Request) -> Request:
        """Return a request with a target: without one, an encoder-decoder writes it, greedily.

        It writes under all changes of the request: every token is the likeliest of the forward pass over the
        text so far with the same changes.

        Raises:
            NoTokensError: If the text has no tokens.
            ValueError: If a change has the size of the target, which only a given one can fit.
        """
        if request.target is not None or self.target_tokenizer is None:
            return request
        decode, most = import_with_keras("explorer.decode"), self.config.target_max_len
        written, _ = decode.continue_generation(self, request, (), most=most, seconds=math.inf)
        return with_written(self.config, request, written)

    def prepare(self, request: Request) -> Prepared:
        """Return the inputs of the compiled forward pass for a request; errors as for `trace`.

        For an encoder-decoder, a target of None means "": the model writes nothing here.
        """
        return self.forward.prepare(request, means=self.means_for(request))

    def compute(self, prepared: Prepared, *, keep: str = "all") -> ModelTrace:
        """Run the compiled forward pass; return NumPy arrays without the batch axis."""
        if keep not in KEPT:
            raise ValueError(f"`keep` must be one of {', '.join(KEPT)}. Received: {keep!r}.")
        given = (prepared.interventions,) if prepared.interventions else ()
        run = self.compiled(("trace", keep, bool(given)), lambda: self._pass(KEPT[keep], bool(given)))
        return mapped(_array, run(prepared.inputs, *given))

    def means_for(self, request: Request) -> dict[str, np.ndarray] | None:
        """Return the replacement of ablated contexts, as `head_means`; None: zero."""
        reference = request.changes.reference
        if reference == OWN:
            return mean_contexts(self.config, [self.run(request.changed(ablate=(), reference=()))])
        return self.head_means(reference) if reference else None

    def head_means(self, texts: Iterable[str | tuple[str, str]]) -> dict[str, np.ndarray]:
        """Return the mean context of each head over all tokens of some texts.

        Args:
            texts: Texts; for an encoder-decoder (text, target) pairs, or texts for which it writes the
                target.

        Returns:
            Kind of attention -> float32 (layer, head, value_dim).
        """
        pairs = ((each, None) if isinstance(each, str) else each for each in each_text(texts, pairs=True))
        return mean_contexts(self.config, (self.trace(text, target=target) for text, target in pairs))

    @names_changes
    def generate(  # noqa: PLR0913  one argument per setting
        self,
        text: str | Sequence[int],
        *,
        beam_size: int = 1,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        seed: int = 0,
        max_new: int | None = None,
        length_penalty: float = LENGTH_PENALTY,
        keep: str | None = "all",
        **changes: Unpack[ChangeArguments],
    ) -> "Generation":
        """Generate text with a decoder, also under changes; see `decode.generate`."""
        return import_with_keras("explorer.decode").generate(
            self,
            text,
            beam_size=beam_size,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            max_new=max_new,
            length_penalty=length_penalty,
            keep=keep,
            **changes,
        )

    @names_changes
    def fill_in(
        self, text: str | Sequence[int], *, likeliest: int = 5, **changes: Unpack[ChangeArguments]
    ) -> pd.DataFrame:
        """Predict the tokens behind each [MASK] with a masked language model.

        Args:
            text: Text with at least one [MASK].
            likeliest: Number of tokens to return for each [MASK].
            **changes: As for `trace`.

        Returns:
            Columns position, token and probability: the likeliest tokens of each [MASK], best first.

        Raises:
            ValueError: If this is not a masked language model, or the truncated text has no [MASK].
        """
        if not self.config.fills_in:
            raise Problem("model.fills_in", model=self.name)
        trace = self.trace(text, keep="weights", **changes)
        if not len(trace.gaps):
            raise Problem("text.no_mask", mask=MASK)
        rows = [
            (int(place), self.labels[token], float(trace.probs[place, token]))
            for place in trace.gaps
            for token in np.argsort(-trace.probs[place], kind="stable")[:likeliest]
        ]
        return pd.DataFrame(rows, columns=["position", "token", "probability"])

    def predict(self, texts: Iterable[str], *, batch_size: int = 64, progress: bool = False) -> pd.DataFrame:
        """Classify texts.

        Args:
            texts: Any number of strings, or one.
            batch_size: Texts per batch, of similar length.
            progress: Show a progress bar on standard error.

        Returns:
            Columns text, label, and prob_<label> for each label; one row per text, in order.

        Raises:
            ValueError: If the model predicts tokens, not classes, or nothing.
        """
        if self.config.predicts_tokens:
            use = "fill_in" if self.config.fills_in else "generate"
            raise Problem("model.no_classes", model=self.name, use=use)
        self.check_answers()
        texts = list(each_text(texts))
        probs = self._probs(self.class_logits(self.encode(texts), batch_size=batch_size, progress=progress))
        labels = np.array(self.config.labels, dtype=object)[probs.argmax(axis=-1)]
        frame = pd.DataFrame({"text": texts, "label": labels})
        for label, column in zip(self.config.labels, probs.T, strict=True):
            frame[f"prob_{label}"] = column
        return frame

    def check_answers(self) -> None:
        """Check that the model has an output layer, whose answer can be asked for.

        Raises:
            ValueError: If it has none; says what it has, and what to do instead.
        """
        if not self.config.num_outputs:
            why = why_no_answer(self.card)
            raise Problem(why.code, **why.facts)

    def encode(self, texts: Iterable[str]) -> list[np.ndarray]:
        """Return the token ids of texts, truncated as the config says."""
        config = self.config
        return self.tokenizer.encode_batch(
            texts, max_len=config.max_len, truncation=config.truncation, start=config.reads_start
        )

    def class_logits(
        self,
        token_ids: Sequence[np.ndarray],
        *,
        batch_size: int = 64,
        progress: bool = False,
        intervention: Intervention | None = None,
    ) -> np.ndarray:
        """Return the logits of a classifier, not divided by its temperature.

        Args:
            token_ids: Of each text, as `encode` returns them.
            batch_size: Texts per batch, of similar length.
            progress: Show a progress bar on standard error.
            intervention: Change to every attention, of numbers instead of tensors.

        Returns:
            float32 (text, class); the first of a sigmoid is 0.
        """
        ids = tf.TensorSpec((None, None), tf.int32)
        compute = self.compiled(
            ("logits", intervention),
            lambda: CompiledFunction(with_intervention(self.model, intervention), [ids]),
        )
        logits = np.zeros((len(token_ids), self.config.num_outputs), dtype=np.float32)
        for rows in tqdm(by_length(token_ids, batch_size), unit="batch", disable=not progress):
            logits[rows] = compute(pad([token_ids[row] for row in rows], self.config.pad_id)).numpy()
        return label_logits(self.config, logits)

    def compiled(self, name: Hashable, build: Callable[[], CompiledFunction]) -> CompiledFunction:
        """Return what is compiled for this model under a name; built once, freed with the explorer.

        Args:
            name: Begins with what it computes.
            build: Called for a new name.
        """
        with self._compiling:
            if name not in self._compiled:
                self._compiled[name] = build()
            return self._compiled[name]

    def _pass(self, kept, intervenes):
        """Return the compiled function to what `kept` leaves of a trace."""
        signature: list[Any] = [self.forward.signature]
        if intervenes:
            signature.append(self.forward.interventions_signature)
        return CompiledFunction(lambda *tensors: kept(self.forward(*tensors)), signature)

    def _probs(self, logits):
        return softmax(logits, self.config.temperature)


def _array(tensor):
    """Return a view of a tensor without its batch axis; a copy would double the memory of a long text."""
    return np.asarray(memoryview(tensor))[0]
