"""The operators of gla_bench.ops as operators of torch: torch.ops.gla_bench.gla and the others.

Each has a kernel for CPU and CUDA, one for shapes alone, and a backward that is an operator too. Schemas follow
from _ops_signatures.py.
"""

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch

from gla_bench._ops_call import CALLER, Question
from gla_bench._ops_signatures import (SIGNATURES, Signature, new_gradients, new_outputs, none_like,
                                       options_of, stored_gradients)

Tensor = torch.Tensor

# Behind the tensors of every operator.
_FORWARD_REST = ("float? scale, bool wanted, str options, str variant, str tile, "
                 "str backward_variant, str backward_tile")
_BACKWARD_REST = "float? scale, str options, str variant, str tile"


def name_of(operator: str, backward: bool = False) -> str:
    """The operator's name in torch."""
    return f"gla_bench::{operator}{'_backward' if backward else ''}"


def _forward_schema(signature: Signature) -> str:
    tensors = [f"Tensor{'?' if one.optional else ''} {one.argument}" for one in signature.inputs]
    returns = ", ".join(["Tensor"] * len(signature.outputs))
    return f"({', '.join(tensors)}, {_FORWARD_REST}) -> ({returns})"


def _backward_names(signature: Signature) -> List[str]:
    """The program's names of what the backward takes, in its order."""
    kept = list(signature.outputs) if signature.keeps_outputs else []
    return [one.tensor for one in signature.inputs] + kept + list(signature.gradients_taken)


def _backward_schema(signature: Signature) -> str:
    optional = {one.tensor: one.optional for one in signature.inputs}
    tensors = [f"Tensor{'?' if optional.get(name, name != 'do' and name.startswith('d')) else ''} {name}"
               for name in _backward_names(signature)]
    returns = ", ".join(["Tensor"] * len(signature.differentiable))
    return f"({', '.join(tensors)}, {_BACKWARD_REST}) -> ({returns})"


def _ordered(outputs: Mapping[str, Tensor], names: Sequence[str], like: Tensor) -> Any:
    """Outputs as torch's operators return them, each tensor one of its own."""
    values = tuple(outputs[name] if name in outputs else none_like(like) for name in names)
    return values[0] if len(values) == 1 else values


def _forward(signature: Signature, fill: bool) -> Callable[..., Any]:
    count = len(signature.inputs)

    def function(*arguments: Any) -> Any:
        tensors = {one.tensor: tensor for one, tensor in zip(signature.inputs, arguments)}
        scale, wanted, options, variant, tile = arguments[count:count + 5]
        outputs = new_outputs(signature, tensors, options_of(options), wanted)
        if fill:
            if wanted and signature.wanted_by == "output_lse":
                options = f"{options},lse=true" if options else "lse=true"
            CALLER.run(Question(signature.operator, "forward", tensors, wanted, scale, options, variant,
                                tile), outputs)
        return _ordered(outputs, signature.outputs, arguments[0])
    return function


def _backward(signature: Signature, fill: bool) -> Callable[..., Any]:
    names = _backward_names(signature)

    def function(*arguments: Any) -> Any:
        tensors = dict(zip(names, arguments))
        scale, options, variant, tile = arguments[len(names):]
        gradients = new_gradients(signature, tensors)
        if fill:
            CALLER.run(Question(signature.operator, "backward", tensors, True, scale, options, variant,
                                tile), gradients)
        return _ordered(gradients, [f"d{one.tensor}" for one in signature.differentiable], arguments[0])
    return function


def _remember(signature: Signature) -> Callable[..., None]:
    count = len(signature.inputs)

    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
        ctx.set_materialize_grads(False)
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.has_all = bool(inputs[count + 1])
        ctx.rest = (inputs[count], inputs[count + 2], *inputs[count + 5:count + 7])
        kept = outputs if signature.keeps_outputs else ()
        ctx.save_for_backward(*inputs[:count], *kept)
        if signature.keeps_outputs:
            ctx.mark_non_differentiable(*outputs[1:])
        elif not ctx.has_all:
            ctx.mark_non_differentiable(*outputs[1:])
    return setup_context


def _complete(signature: Signature, tensors: Mapping[str, Optional[Tensor]], options: Mapping[str, str],
              gradients: Sequence[Optional[Tensor]]) -> Dict[str, Tensor]:
    """The gradients that the backward takes: those that autograd has, and zeros beside them."""
    given = dict(zip(signature.gradients_taken, gradients))
    states = any(given.get(f"d{name}") is not None for name in signature.outputs[1:])
    made = new_outputs(signature, tensors, options, states)
    for name in made:
        if given.get(f"d{name}") is None and f"d{name}" in signature.gradients_taken:
            given[f"d{name}"] = torch.zeros_like(made[name])
    return stored_gradients(signature, tensors, given)


def _differentiate(signature: Signature) -> Callable[..., Any]:
    names = [one.tensor for one in signature.inputs]
    rest = len(_FORWARD_REST.split(", "))

    def backward(ctx: Any, *gradients: Optional[Tensor]) -> Any:
        if not signature.has_backward:
            raise NotImplementedError(f"{signature.operator} has no backward in this program")
        if signature.keeps_outputs and not ctx.has_all:
            raise RuntimeError(f"the backward of {signature.operator} needs lse, which this call was not "
                               "asked for: call gla_bench.ops, or pass wanted=True")
        scale, options, variant, tile = ctx.rest
        kept = ctx.saved_tensors  # once: it may be computed again for each time that it is asked for
        saved = dict(zip(names, kept))
        outputs = dict(zip(signature.outputs, kept[len(names):]))
        if all(gradient is None for gradient in gradients):
            return (None,) * (len(names) + rest)
        taken = _complete(signature, saved, options_of(options), gradients)
        tensors = {**saved, **outputs, **taken}
        operator = getattr(torch.ops.gla_bench, f"{signature.operator}_backward")
        made = operator(*(tensors.get(name) for name in _backward_names(signature)), scale, options,
                        variant, tile)
        by_input = dict(zip((one.tensor for one in signature.differentiable),
                            made if isinstance(made, (tuple, list)) else (made,)))
        results = []
        for one in signature.inputs:
            gradient = by_input.get(one.tensor)
            tensor = saved[one.tensor]
            results.append(None if gradient is None or tensor is None else gradient.to(tensor.dtype))
        return (*results, *(None,) * rest)
    return backward


def _refuse_second(operator: str) -> Callable[..., Any]:
    def backward(_: Any, *gradients: Optional[Tensor]) -> Any:
        raise NotImplementedError(f"{operator} has no second derivative in this program")
    return backward


def _register(signature: Signature) -> None:
    tags = (torch.Tag.needs_fixed_stride_order,)
    forward = name_of(signature.operator)
    torch.library.define(forward, _forward_schema(signature), tags=tags)
    torch.library.impl(forward, ("cpu", "cuda"), _forward(signature, fill=True))
    torch.library.register_fake(forward, _forward(signature, fill=False))
    torch.library.register_autograd(forward, _differentiate(signature),
                                    setup_context=_remember(signature))
    if not signature.has_backward:
        return
    backward = name_of(signature.operator, backward=True)
    torch.library.define(backward, _backward_schema(signature), tags=tags)
    torch.library.impl(backward, ("cpu", "cuda"), _backward(signature, fill=True))
    torch.library.register_fake(backward, _backward(signature, fill=False))
    torch.library.register_autograd(backward, _refuse_second(signature.operator))


def register() -> None:
    """Registers all of them; once for each process."""
    for signature in SIGNATURES.values():
        _register(signature)
