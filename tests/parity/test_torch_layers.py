import importlib.util

import numpy as np
import pytest
from numpy.testing import assert_allclose
from torch_layers import MASK, READABLE, RECORDED, answer, block_shapes, inputs, parameters

CASES = [(kind, norm) for kind in ("encoder", "decoder") for norm in ("post", "pre")]


@pytest.mark.parametrize(("kind", "norm"), CASES)
def test_blocks_equal_pytorchs_with_the_same_parameters(kind, norm):
    from transformer_viz.network.block import Block

    config, shapes = block_shapes(kind, norm)
    values = parameters(shapes)
    block = Block(config, kind, name="block")
    block.build((None, None, config.d_model))
    for variable in block.weights:
        variable.assign(values[variable.path.partition("/")[2]])
    target, memory = inputs()
    if kind == "encoder":
        ours = block(target, MASK).resid_post
    else:
        ours = block(target, MASK, memory, READABLE[:, None, None]).resid_post
    assert_allclose(ours, np.load(RECORDED)[f"{kind}-{norm}"], atol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize(("kind", "norm"), CASES)
def test_the_recorded_answers_are_pytorchs(kind, norm):
    values = parameters(block_shapes(kind, norm)[1])
    assert_allclose(answer(kind, norm, values), np.load(RECORDED)[f"{kind}-{norm}"], atol=1e-6)
