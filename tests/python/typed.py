"""A program as users write them, which package_test gives to type checkers. It is not run."""

from typing import Any, List

import numpy
import numpy.typing

import gpt2cpp


def double(values: "numpy.typing.NDArray[numpy.float32]", place: gpt2cpp.Place) -> None:
    values *= 2
    values[:] = clean[place]


def shift(values: numpy.ndarray[Any, Any], place: gpt2cpp.Place) -> None:
    values += place.layer


model = gpt2cpp.Model()
best = int(model.logits("Once upon a time")[-1].argmax())
text: str = model.generate("Once", max_new_tokens=3, top_k=5)
texts: List[gpt2cpp.Generation] = model.generate(["Once", "The cat"], num_beams=2)
clean = model.observe("Once upon")
seen = model.observe("Once upon", "block_output", change={("mlp_output", 2): double})
by_hook = {"blocks.0.hook_mlp_out": shift}
seen = model.observe("Once upon", change=by_hook)
print(seen["blocks.0.hook_resid_post"].mean(), seen["block_output", 3][0], seen.logits[-1].argmax())
print(model.unembed(model.hidden_states("Once")[3], ln_f=True).shape, model.embed("Once")[:3])
