"""Head ablation: the effect of each head, and of several together, on the probability of the answer."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Unpack

import numpy as np

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.language import Problem
from transformer_viz.questions.effects.answer import Asked, Certainty, of_each_token, resolve
from transformer_viz.questions.effects.changed import changed_logits
from transformer_viz.questions.effects.measure import numbered
from transformer_viz.questions.effects.result import Head, HeadEffects, JointEffect, ablations
from transformer_viz.trace.request import ChangeArguments, Request, names_changes, several


@names_changes
def head_effects(
    explorer: Explorer,
    text: str | Sequence[int],
    *,
    answer: str | int | None = None,
    versus: str | int | None = None,
    position: int | None = None,
    target: str | Sequence[int] | None = None,
    **changes: Unpack[ChangeArguments],
) -> HeadEffects:
    """Return how much less probable the answer is without each head (Michel et al., 2019, section 3).

    The answer is the model's prediction with all heads: the class; for a decoder, the likeliest token after
    each position; for a masked language model, the likeliest token at each [MASK], or at each position if
    there is none; [PAD] never counts. With `answer`, `versus` or `position` it is what they say, as in
    `effects`, and log-odds are its f. This takes one forward pass per head and two more, several at once in
    short texts.

    For an encoder-decoder the target is held fixed, so that all heads are measured on the same tokens: the
    given target, or the one that the model writes with all heads, under the other changes. What it would
    write without a head is `Explorer.trace` with `ablate`.

    An ablated head's context is set to zero. With the change `reference`, it is set to its mean instead, over
    the tokens of some texts or of this one (Wang et al., 2023, section 2.1). In a model without feed-forward
    layer and residual connection that pools the mean, the mean over this text changes nothing.

    Probabilities saturate: where one is close to 1, several heads may each take away little and together
    almost everything. Log-odds do not. With two classes, and only linear operations after a single attention
    layer, the effects of single heads on them add up exactly to the effect of all together.

    Args:
        explorer: `Explorer`.
        text: Text or token ids.
        answer: As for `effects`.
        versus: As for `effects`.
        position: As for `effects`.
        target: As for `effects`.
        **changes: As for `Explorer.trace`, except `ablate`.

    Returns:
        `HeadEffects`: kind ("encoder", "decoder", "cross", for those of the model) -> float32 (layer, head)
        in [-1, 1], the drop in probability; its `log_odds` has the same in log-odds.

    Raises:
        ValueError: If `ablate` is among the changes; also as `Explorer.trace`.
    """
    is_asked = any(given is not None for given in (answer, versus, position))
    asked = numbered(explorer, answer, versus, position) if is_asked else None
    request = explorer.with_target(explorer.request(text, target=target, **changes))
    found = certainties(explorer, request, ablations(explorer.config), asked=asked)
    return HeadEffects.of(explorer.config, found)


@names_changes
def joint_effect(
    explorer: Explorer, text: str | Sequence[int], heads: Iterable[Head], **changes: Unpack[ChangeArguments]
) -> JointEffect:
    """Return how much less probable the answer is without several heads together; see `head_effects`.

    Args:
        explorer: `Explorer`.
        text: Text or token ids.
        heads: (layer, head) of each head, or (kind, layer, head); of one alone without a list.
        **changes: As for `Explorer.trace`, except `ablate`.

    Raises:
        ValueError: If there is no such head, or `ablate` is among the changes; also as `Explorer.trace`.
    """
    heads = tuple(dict.fromkeys(map(tuple, several("ablate", heads))))
    groups = [(), heads, *((head,) for head in heads)] if heads else [()]
    request = explorer.with_target(explorer.request(text, **changes))
    answer, *without = certainties(explorer, request, groups)
    together, *alone = map(answer.minus, without or [answer])
    return JointEffect(together, Certainty(*np.sum(alone, axis=0).tolist()) if alone else Certainty(0.0, 0.0))


def certainties(
    explorer: Explorer,
    request: Request,
    groups: Iterable[Sequence[Head]],
    *,
    asked: Asked | None = None,
    seconds: float = math.inf,
) -> Iterator[Certainty]:
    """Yield the certainty of the answer with each of these groups of heads ablated, computed lazily.

    The answer is that with all heads; the target is the same for all groups.

    Args:
        explorer: `Explorer`.
        request: For an encoder-decoder, with a target, as `Explorer.with_target` returns it.
        groups: Groups of heads; an empty one: no head is ablated.
        asked: What is asked about; None: the prediction, see `head_effects`.
        seconds: Time limit, checked after each batch of groups; those left over are left out.

    Raises:
        ValueError: If the request already ablates heads, or the model gives no answer.
    """
    if request.changes.ablate:
        raise Problem("effects.ablate")
    explorer.check_answers()
    config, end, means = explorer.config, time.monotonic() + seconds, explorer.means_for(request)
    prepared = explorer.forward.prepare(request)
    answer = of_each_token(config, prepared.source, prepared.target)
    if asked is not None:
        answer = resolve(config, asked, prepared.source, prepared.target)
    [[intact]] = changed_logits(explorer, request, [{}], means)
    answer = answer.known(answer.logits(config, intact))
    changes = [{"ablate": tuple(heads)} for heads in groups]
    for batch in changed_logits(explorer, request, changes, means):
        for found in batch:
            yield answer.certainty(answer.logits(config, found), config.temperature)
        if time.monotonic() > end:
            return
