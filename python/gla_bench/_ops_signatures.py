"""What the operators of gla_bench.ops take and return, as data.

The operators' exact definitions, dtypes and extents are the program's (docs/operators.md); this says by which
arguments they are called, and which shapes their outputs have, also where only shapes are known.
"""

import dataclasses
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch

Tensor = torch.Tensor


@dataclasses.dataclass(frozen=True)
class Input:
    """A tensor that an operator takes: the argument's name, and the program's name of it."""

    argument: str
    tensor: str
    optional: bool = False
    differentiable: bool = True


@dataclasses.dataclass(frozen=True)
class Signature:
    """An operator of the program, as a function over tensors.

    Attributes:
        outputs: the program's names, the main one first.
        wanted_by: the argument that asks for the outputs behind the first; "" where there are none.
        options: arguments that are options of the program, by their names there.
        has_backward: whether the program has a backward of it.
        keeps_outputs: whether the backward takes the forward's outputs.
    """

    operator: str
    inputs: Tuple[Input, ...]
    outputs: Tuple[str, ...]
    wanted_by: str
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    has_backward: bool = True
    keeps_outputs: bool = False

    @property
    def gradients_taken(self) -> Tuple[str, ...]:
        """The program's names of the gradients that the backward takes."""
        if self.keeps_outputs:
            return ("do",)
        return tuple(f"d{name}" for name in self.outputs)

    @property
    def differentiable(self) -> Tuple[Input, ...]:
        """The inputs that the backward returns gradients of, in its order."""
        return tuple(one for one in self.inputs if one.differentiable)


_QKV = (Input("q", "q"), Input("k", "k"), Input("v", "v"))
_STATE = (Input("initial_state", "initial_state", optional=True),
          Input("cu_seqlens", "cu_seqlens", optional=True, differentiable=False))
_RAGGED = (Input("cu_seqlens", "cu_seqlens", optional=True, differentiable=False),
           Input("cu_seqlens_k", "cu_seqlens_k", optional=True, differentiable=False))


def _recurrence(operator: str, *own: Input, options: Optional[Mapping[str, str]] = None) -> Signature:
    return Signature(operator, (*_QKV, *own, *_STATE), ("o", "final_state"), "output_final_state",
                     options or {})


SIGNATURES: Dict[str, Signature] = {one.operator: one for one in (
    _recurrence("gla", Input("log_decay", "g")),
    _recurrence("simple_gla", Input("log_decay", "g")),
    _recurrence("retention", Input("log_decay", "log_decay")),
    _recurrence("rwkv6", Input("log_decay", "w"), Input("bonus", "u"),
                options={"gate_input": "gate_input"}),
    Signature("linear_attention",
              (*_QKV, *_STATE, Input("initial_normalizer", "initial_normalizer", optional=True)),
              ("o", "final_state", "final_normalizer"), "output_final_state",
              {"feature_map": "feature_map", "normalize": "normalize"}),
    Signature("attention", (*_QKV, *_RAGGED), ("o", "lse"), "output_lse", {"causal": "causal"},
              keeps_outputs=True),
    Signature("decay_attention", (*_QKV, Input("log_decay", "log_decay"), *_RAGGED), ("o", "lse"),
              "output_lse", {"decay": "decay"}, keeps_outputs=True),
    Signature("softmax", (Input("x", "x"),), ("y",), "", has_backward=False),
)}


def options_text(options: Mapping[str, Any]) -> str:
    """Options as one text, as an operator of torch takes them: "causal=true,decay=constant"."""
    return ",".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}"
                    for name, value in options.items())


def options_of(text: str) -> Dict[str, str]:
    """The inverse of options_text()."""
    return dict(part.split("=", 1) for part in text.split(",")) if text else {}


def is_head_first(tensors: Sequence[Tensor]) -> bool:
    """Whether tensors [B,T,H,..] lie in memory as [B,H,T,..], by the first that tells."""
    for tensor in tensors:
        if tensor.dim() > 2 and tensor.size(1) > 1 and tensor.size(2) > 1:
            return bool(tensor.stride(2) > tensor.stride(1))
    return False


def _tokens(like: Tensor, shape: Sequence[int], dtype: torch.dtype, head_first: bool) -> Tensor:
    """A new tensor with token axes, in one of the two layouts."""
    if not head_first:
        return like.new_empty(shape, dtype=dtype)
    return like.new_empty((shape[0], shape[2], shape[1], *shape[3:]), dtype=dtype).transpose(1, 2)


def _is_value_first(state: Tensor) -> bool:
    """Whether a state [N,H,K,V] lies in memory as [N,H,V,K]."""
    return bool(state.dim() == 4 and state.size(2) > 1 and state.size(3) > 1
                and state.stride(2) < state.stride(3))


def _state(like: Tensor, shape: Sequence[int], initial: Optional[Tensor]) -> Tensor:
    """A new state [N,H,K,V], in float32 or stored as the initial one is."""
    if initial is None:
        return like.new_empty(shape, dtype=torch.float32)
    if _is_value_first(initial):
        swapped = (shape[0], shape[1], shape[3], shape[2])
        return like.new_empty(swapped, dtype=initial.dtype).transpose(2, 3)
    return like.new_empty(shape, dtype=initial.dtype)


def _layout_tensors(tensors: Mapping[str, Optional[Tensor]]) -> List[Tensor]:
    return [tensor for name in ("q", "k", "v") if (tensor := tensors.get(name)) is not None]


def none_like(like: Tensor) -> Tensor:
    """Stands for an output that was not asked for."""
    return like.new_empty((0,), dtype=torch.float32)


def new_outputs(signature: Signature, tensors: Mapping[str, Optional[Tensor]],
                options: Mapping[str, str], wanted: bool) -> Dict[str, Tensor]:
    """The forward's outputs, not yet filled, by the program's names.

    Args:
        tensors: the inputs by the program's names; None for those that are not given.
        wanted: whether the outputs behind the first are asked for.

    Raises:
        ValueError: an input has too few axes for there to be such outputs.
    """
    if signature.operator == "softmax":
        x = _given(tensors, "x", 2)
        return {"y": x.new_empty(x.shape)}
    q, v = _given(tensors, "q", 4), _given(tensors, "v", 4)
    head_first = is_head_first(_layout_tensors(tensors))
    batch, seq, heads, keys = q.shape
    outputs = {"o": _tokens(v, (batch, seq, heads, v.size(3)), v.dtype, head_first)}
    if not wanted:
        return outputs
    if "lse" in signature.outputs:
        outputs["lse"] = _tokens(v, (batch, seq, heads), torch.float32, head_first)
        return outputs
    boundaries = tensors.get("cu_seqlens")
    sequences = batch if boundaries is None else boundaries.size(0) - 1
    outputs["final_state"] = _state(v, (sequences, heads, keys, v.size(3)),
                                    tensors.get("initial_state"))
    if options.get("normalize") == "true":
        outputs["final_normalizer"] = v.new_empty((sequences, heads, keys), dtype=torch.float32)
    return outputs


_IN_FLOAT32 = ("g", "w", "log_decay", "u")


def new_gradients(signature: Signature, tensors: Mapping[str, Optional[Tensor]]) -> Dict[str, Tensor]:
    """The backward's outputs, not yet filled, by the program's names ("dq")."""
    head_first = is_head_first(_layout_tensors(tensors))
    gradients = {}
    for one in signature.differentiable:
        tensor = tensors.get(one.tensor)
        if tensor is None:
            continue
        dtype = torch.float32 if one.tensor in _IN_FLOAT32 else tensor.dtype
        if one.tensor == "initial_state":
            gradients["dinitial_state"] = _state(tensor, tensor.shape, tensor)
        elif one.tensor in ("q", "k", "v", "g", "w") or tensor.dim() == 3 and one.tensor == "log_decay":
            gradients[f"d{one.tensor}"] = _tokens(tensor, tensor.shape, dtype, head_first)
        else:
            gradients[f"d{one.tensor}"] = tensor.new_empty(tensor.shape, dtype=dtype)
    return gradients


def stored_gradients(signature: Signature, tensors: Mapping[str, Optional[Tensor]],
                     gradients: Mapping[str, Optional[Tensor]]) -> Dict[str, Tensor]:
    """The gradients that the backward takes, in the memory that the problem asks for.

    Autograd gives gradients any strides (those of a sum are expanded), so that they alone are copied where
    they are not as they should be.
    """
    head_first = is_head_first(_layout_tensors(tensors))
    state = tensors.get("initial_state")
    value_first = state is not None and _is_value_first(state)
    stored = {}
    for name, gradient in gradients.items():
        if gradient is None:
            continue
        if name == "do":
            stored[name] = _stored(gradient, (1, 2) if head_first else None)
        elif name == "dfinal_state":
            if state is not None:
                gradient = gradient.to(state.dtype)
            stored[name] = _stored(gradient, (2, 3) if value_first else None)
        else:
            stored[name] = gradient.contiguous()
    return stored


def _stored(tensor: Tensor, swapped: Optional[Tuple[int, int]]) -> Tensor:
    """A tensor that lies in memory with two of its axes exchanged: itself, or a copy."""
    if swapped is None:
        return tensor.contiguous()
    return tensor.transpose(*swapped).contiguous().transpose(*swapped)


def _given(tensors: Mapping[str, Optional[Tensor]], name: str, axes: int) -> Tensor:
    tensor = tensors[name]
    if tensor is None or tensor.dim() != axes:
        found = None if tensor is None else list(tensor.shape)
        raise ValueError(f"{name} is {found}; expected {axes} axes, "
                         f"{'[rows, columns]' if axes == 2 else '[B, T, H, dim]'}")
    return tensor
