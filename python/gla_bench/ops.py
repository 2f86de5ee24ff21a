"""The program's kernels as functions over PyTorch's tensors: the way out into your own program.

::

    import gla_bench.ops as ops

    o, final_state = ops.gla(q, k, v, log_decay, output_final_state=True)
    print(ops.plan(ops.gla, q, k, v, log_decay).variant)

Tensors on a GPU run CUDA variants, on torch's current stream; tensors on the CPU run host variants. The variant
and tile are those that `auto` of the program chooses for these shapes; `variant=` and `tile=` decide otherwise.
Nothing is copied: the kernels read and write torch's own memory. docs/ops.md says more.

Axes are always [B,T,H,D]. Where a tensor lies in memory is told by its strides: contiguous, as [B,H,T,D]
(`.transpose(1, 2)` of that), or q, k and v as slices of the output of one projection.
"""

import inspect
from typing import Any, Callable, ContextManager, Dict, List, Mapping, Optional, Sequence, Tuple, Union

try:
    import torch
except ImportError as _error:
    raise ImportError("gla_bench.ops needs PyTorch: pip install 'gla-bench[torch]'") from _error

from gla_bench._ops_call import AUTO, CALLER, Plan, Question, Settings, notes
from gla_bench._ops_register import register
from gla_bench._ops_signatures import (SIGNATURES, Signature, new_gradients, new_outputs, options_of,
                                       options_text)

__all__ = [
    "Plan", "attention", "configure", "decay_attention", "gla", "goes_by", "linear_attention", "plan",
    "record", "retention", "rwkv6", "simple_gla", "softmax",
]

Tensor = torch.Tensor
Tile = Union[None, str, Mapping[str, int]]

register()


def _tile_text(tile: Tile) -> str:
    if tile is None or isinstance(tile, str):
        return tile or ""
    return ",".join(f"{axis}={value}" for axis, value in tile.items())


def _tensors_of(signature: Signature, arguments: Mapping[str, Any]) -> List[Optional[Tensor]]:
    tensors: List[Optional[Tensor]] = []
    for one in signature.inputs:
        tensor = arguments.get(one.argument)
        if tensor is None and one.optional:
            tensors.append(None)
        elif isinstance(tensor, Tensor):
            tensors.append(tensor)
        else:
            raise TypeError(f"{one.argument} is {type(tensor).__name__}; expected a torch.Tensor")
    return tensors


def _options_of(signature: Signature, arguments: Mapping[str, Any]) -> str:
    return options_text({name: arguments[argument] for argument, name in signature.options.items()
                         if argument in arguments})


def _call(operator: str, **arguments: Any) -> Any:
    """Runs an operator of torch on a function's arguments."""
    signature = SIGNATURES[operator]
    tensors = _tensors_of(signature, arguments)
    wanted = bool(arguments.get(signature.wanted_by, False))
    if signature.keeps_outputs and torch.is_grad_enabled() and \
            any(tensor is not None and tensor.requires_grad for tensor in tensors):
        wanted = True  # the backward reads them
    scale = arguments["scale"]
    return getattr(torch.ops.gla_bench, operator)(
        *tensors, None if scale is None else float(scale), wanted, _options_of(signature, arguments),
        arguments["variant"], _tile_text(arguments["tile"]),
        arguments.get("backward_variant", AUTO), _tile_text(arguments.get("backward_tile")))


def _with_state(values: Sequence[Tensor], wanted: bool) -> Tuple[Tensor, Optional[Tensor]]:
    return values[0], values[1] if wanted else None


def gla(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, *, scale: Optional[float] = None,
        initial_state: Optional[Tensor] = None, output_final_state: bool = False,
        cu_seqlens: Optional[Tensor] = None, variant: str = AUTO, tile: Tile = None,
        backward_variant: str = AUTO, backward_tile: Tile = None) -> Tuple[Tensor, Optional[Tensor]]:
    """Gated linear attention: S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T, o_t = scale S_t^T q_t.

    Args:
        q, k: [B,T,H,K], in float32, bfloat16 or float16.
        v: [B,T,H,V], of the same dtype.
        log_decay: g, [B,T,H,K]: natural logarithms of decays, at most 0; -inf resets. Of the dtype of q, or
            float32.
        scale: of the outputs; None: K ** -0.5.
        initial_state: [N,H,K,V], float32 or bfloat16; N is B, or the number of ragged sequences.
        output_final_state: whether the state behind the last token is returned.
        cu_seqlens: int32 [N+1]: where ragged sequences begin, from 0 to T; B is 1 then. On a GPU its values
            are not looked at, since that would wait for them: wrong ones are errors of memory.
        variant: "auto", or a variant's name (`gla-bench list gla`).
        tile: of that variant, as {"chunk": 64} or "chunk=64"; axes that it leaves out are chosen.
        backward_variant, backward_tile: the same for the backward.

    Returns:
        o [B,T,H,V] in v's dtype and layout, and the final state [N,H,K,V], stored as the initial one is
        (float32 without one), or None. Gradients flow through both, to all tensors but cu_seqlens.

    Raises:
        TypeError: a tensor has a dtype that does not fit the others, or is none.
        ValueError: shapes, devices, strides, a variant or a tile that do not fit, saying what stood there and
            what was expected.
        NotImplementedError: no variant of the device takes this problem; from the backward where there is none.
        RuntimeError: the kernels do not compile or run, or the first call is inside a graph's capture.

    The definition is the program's own (docs/operators.md).
    """
    values = _call("gla", q=q, k=k, v=v, log_decay=log_decay, scale=scale, initial_state=initial_state,
                   output_final_state=output_final_state, cu_seqlens=cu_seqlens, variant=variant, tile=tile,
                   backward_variant=backward_variant, backward_tile=backward_tile)
    return _with_state(values, output_final_state)


def simple_gla(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, *, scale: Optional[float] = None,
               initial_state: Optional[Tensor] = None, output_final_state: bool = False,
               cu_seqlens: Optional[Tensor] = None, variant: str = AUTO, tile: Tile = None,
               backward_variant: str = AUTO,
               backward_tile: Tile = None) -> Tuple[Tensor, Optional[Tensor]]:
    """Linear attention with one decay for each token and head: S_t = exp(g_t) S_{t-1} + k_t v_t^T.

    As `gla`, but log_decay is [B,T,H].
    """
    values = _call("simple_gla", q=q, k=k, v=v, log_decay=log_decay, scale=scale,
                   initial_state=initial_state, output_final_state=output_final_state,
                   cu_seqlens=cu_seqlens, variant=variant, tile=tile, backward_variant=backward_variant,
                   backward_tile=backward_tile)
    return _with_state(values, output_final_state)


def retention(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, *, scale: Optional[float] = None,
              initial_state: Optional[Tensor] = None, output_final_state: bool = False,
              cu_seqlens: Optional[Tensor] = None, variant: str = AUTO, tile: Tile = None,
              backward_variant: str = AUTO,
              backward_tile: Tile = None) -> Tuple[Tensor, Optional[Tensor]]:
    """Linear attention with one constant decay for each head: S_t = exp(g_h) S_{t-1} + k_t v_t^T.

    As `gla`, but log_decay is [H], in float32 whatever the dtype of q.
    """
    values = _call("retention", q=q, k=k, v=v, log_decay=log_decay, scale=scale,
                   initial_state=initial_state, output_final_state=output_final_state,
                   cu_seqlens=cu_seqlens, variant=variant, tile=tile, backward_variant=backward_variant,
                   backward_tile=backward_tile)
    return _with_state(values, output_final_state)


def rwkv6(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, bonus: Tensor, *,
          gate_input: str = "log", scale: Optional[float] = None,
          initial_state: Optional[Tensor] = None, output_final_state: bool = False,
          cu_seqlens: Optional[Tensor] = None, variant: str = AUTO, tile: Tile = None,
          backward_variant: str = AUTO, backward_tile: Tile = None) -> Tuple[Tensor, Optional[Tensor]]:
    """RWKV-6: o_t = scale (S_{t-1} + diag(u) k_t v_t^T)^T q_t, then S_t = diag(exp(w_t)) S_{t-1} + k_t v_t^T.

    As `gla`, but for:

    Args:
        q: the receptance.
        log_decay: w, [B,T,H,K]; with gate_input="raw" -exp(w) is the log decay.
        bonus: u, [H,K], of the dtype of q.
        scale: None: 1.
    """
    values = _call("rwkv6", q=q, k=k, v=v, log_decay=log_decay, bonus=bonus, gate_input=gate_input,
                   scale=scale, initial_state=initial_state, output_final_state=output_final_state,
                   cu_seqlens=cu_seqlens, variant=variant, tile=tile, backward_variant=backward_variant,
                   backward_tile=backward_tile)
    return _with_state(values, output_final_state)


def linear_attention(q: Tensor, k: Tensor, v: Tensor, *, feature_map: str = "identity",
                     normalize: bool = False, scale: Optional[float] = None,
                     initial_state: Optional[Tensor] = None,
                     initial_normalizer: Optional[Tensor] = None, output_final_state: bool = False,
                     cu_seqlens: Optional[Tensor] = None, variant: str = AUTO, tile: Tile = None,
                     backward_variant: str = AUTO, backward_tile: Tile = None) -> Tuple[Any, ...]:
    """Linear attention: S_t = S_{t-1} + phi(k_t) v_t^T, o_t = scale S_t^T phi(q_t).

    As `gla` without decays, but for:

    Args:
        feature_map: phi: "identity" or "elu_plus_one".
        normalize: divides o_t by scale phi(q_t).z_t + 1e-6, where z_t is the sum of all phi(k).
        initial_normalizer: z before the first token, float32 [N,H,K]; with `normalize`, beside a state.

    Returns:
        o and the final state; with `normalize` also the final normalizer, float32 [N,H,K].
    """
    if normalize and (initial_state is None) != (initial_normalizer is None):
        raise ValueError("found one of initial_state and initial_normalizer, expected both or none, as both "
                         "are the state with normalize=True")
    if initial_normalizer is not None and not normalize:
        raise ValueError("found initial_normalizer without normalize=True, expected none")
    values = _call("linear_attention", q=q, k=k, v=v, feature_map=feature_map, normalize=normalize,
                   scale=scale, initial_state=initial_state, initial_normalizer=initial_normalizer,
                   output_final_state=output_final_state, cu_seqlens=cu_seqlens, variant=variant,
                   tile=tile, backward_variant=backward_variant, backward_tile=backward_tile)
    if normalize:
        return (*_with_state(values, output_final_state), values[2] if output_final_state else None)
    return _with_state(values, output_final_state)


def _ends_of_keys(cu_seqlens: Optional[Tensor], cu_seqlens_k: Optional[Tensor]) -> Optional[Tensor]:
    if cu_seqlens is None and cu_seqlens_k is not None:
        raise TypeError("found cu_seqlens_k without cu_seqlens, expected both or cu_seqlens alone")
    return cu_seqlens if cu_seqlens_k is None else cu_seqlens_k


def attention(q: Tensor, k: Tensor, v: Tensor, *, causal: bool = True, scale: Optional[float] = None,
              output_lse: bool = False, cu_seqlens: Optional[Tensor] = None,
              cu_seqlens_k: Optional[Tensor] = None, variant: str = AUTO, tile: Tile = None,
              backward_variant: str = AUTO, backward_tile: Tile = None) -> Any:
    """Softmax attention: o_i is the mean of v_j by the weights exp(scale q_i.k_j).

    Args:
        q: [B,T,H,K], in float32, bfloat16 or float16.
        k: [B,Tk,Hk,K]; Hk divides H, and query head h reads key head h // (H / Hk).
        v: [B,Tk,Hk,V], of the same dtype.
        causal: query i sees the keys up to i + Tk - T.
        scale: of the logits; None: K ** -0.5.
        output_lse: whether the logarithms of the weights' sums are returned as well.
        cu_seqlens: int32 [N+1]: where ragged sequences begin in the queries, from 0 to T; B is 1 then.
        cu_seqlens_k: the same of the keys, from 0 to Tk; None: as cu_seqlens. Each sequence is attention by
            itself: what stands above of T and Tk holds of its own queries and keys.
        variant, tile, backward_variant, backward_tile: as `gla`.

    Returns:
        o [B,T,H,V]; with output_lse also lse [B,T,H], float32, natural logarithms, through which no gradient
        flows. A row that sees no key gives 0 and -inf.

    Raises:
        As `gla`.
    """
    o, lse = _call("attention", q=q, k=k, v=v, causal=causal, scale=scale, output_lse=output_lse,
                   cu_seqlens=cu_seqlens, cu_seqlens_k=_ends_of_keys(cu_seqlens, cu_seqlens_k),
                   variant=variant, tile=tile, backward_variant=backward_variant,
                   backward_tile=backward_tile)
    return (o, lse) if output_lse else o


def decay_attention(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, *,
                    scale: Optional[float] = None, output_lse: bool = False,
                    cu_seqlens: Optional[Tensor] = None, cu_seqlens_k: Optional[Tensor] = None,
                    variant: str = AUTO, tile: Tile = None, backward_variant: str = AUTO,
                    backward_tile: Tile = None) -> Any:
    """Causal attention with decays: the logits are scale q_i.k_j + the sum of log_decay behind j up to i.

    As `attention` (causal), but for:

    Args:
        log_decay: [B,Tk,H], of the dtype of q or float32; or float32 [H], one constant for each head.
    """
    constant = isinstance(log_decay, Tensor) and log_decay.dim() == 1
    o, lse = _call("decay_attention", q=q, k=k, v=v, log_decay=log_decay,
                   decay="constant" if constant else "per_token", scale=scale, output_lse=output_lse,
                   cu_seqlens=cu_seqlens, cu_seqlens_k=_ends_of_keys(cu_seqlens, cu_seqlens_k),
                   variant=variant, tile=tile, backward_variant=backward_variant,
                   backward_tile=backward_tile)
    return (o, lse) if output_lse else o


def softmax(x: Tensor, *, scale: Optional[float] = None, variant: str = AUTO, tile: Tile = None) -> Tensor:
    """Softmax over the last axis: y = exp(scale x) / sum of exp(scale x). It has no backward.

    Args:
        x: contiguous, [..., columns], in float32, bfloat16 or float16; a row of -inf gives zeros.
        scale: None: 1.
        variant, tile: as `gla`.

    Raises:
        As `gla`; NotImplementedError from the backward.
    """
    return _call("softmax", x=_as_rows(x), scale=scale, variant=variant, tile=tile).view(x.shape)


def _as_rows(x: Tensor) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"x is {type(x).__name__}; expected a torch.Tensor")
    if x.dim() == 0 or not x.is_contiguous():
        raise ValueError(f"x is {list(x.shape)} with strides {list(x.stride())}; expected a contiguous tensor "
                         "[..., columns]")
    return x.view(-1, x.size(-1))


def _arguments_of(function: Callable[..., Any], given: Sequence[Any],
                  keywords: Mapping[str, Any]) -> Dict[str, Any]:
    bound = inspect.signature(function).bind(*given, **keywords)
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    if function is softmax:
        arguments["x"] = _as_rows(arguments["x"])
    if function in (attention, decay_attention):
        arguments["cu_seqlens_k"] = _ends_of_keys(arguments["cu_seqlens"], arguments["cu_seqlens_k"])
    if function is decay_attention:
        arguments["decay"] = "constant" if arguments["log_decay"].dim() == 1 else "per_token"
    return arguments


def plan(function: Union[str, Callable[..., Any]], *arguments: Any, direction: str = "forward",
         prepare: bool = False, **keywords: Any) -> Plan:
    """What a call would run: the variant, its tile, and how it was chosen. Nothing runs.

    Args:
        function: one of this module's operators, or its name.
        arguments, keywords: as the function takes them.
        direction: "forward", or "backward" for the call that autograd would make.
        prepare: also compiles and loads it, as the first call does; to be done before a CUDA graph is captured.

    Raises:
        As the function. ValueError: it is no operator of this module, or another direction.
    """
    name = function if isinstance(function, str) else getattr(function, "__name__", "?")
    if name not in SIGNATURES:
        raise ValueError(f"found {name!r}, expected one of {', '.join(SIGNATURES)}")
    if direction not in ("forward", "backward"):
        raise ValueError(f"found direction={direction!r}, expected 'forward' or 'backward'")
    signature = SIGNATURES[name]
    given = _arguments_of(globals()[name], arguments, keywords)
    tensors = {one.tensor: tensor
               for one, tensor in zip(signature.inputs, _tensors_of(signature, given))}
    options = _options_of(signature, given)
    wanted = bool(given.get(signature.wanted_by, False))
    scale = None if given["scale"] is None else float(given["scale"])
    if direction == "backward" and not signature.has_backward:
        raise NotImplementedError(f"{name} has no backward in this program")
    if direction == "forward":
        made = new_outputs(signature, tensors, options_of(options), wanted)
        if wanted and signature.wanted_by == "output_lse":
            options = f"{options},lse=true" if options else "lse=true"
        question = Question(name, direction, tensors, wanted, scale, options, given["variant"],
                            _tile_text(given["tile"]))
        return CALLER.plan(question, made, prepare)
    outputs = new_outputs(signature, tensors, options_of(options), wanted or signature.keeps_outputs)
    if signature.keeps_outputs:
        tensors.update({**outputs, "do": outputs["o"]})
    else:
        tensors.update({f"d{output}": tensor for output, tensor in outputs.items()})
    question = Question(name, direction, tensors, True, scale, options, given["backward_variant"],
                        _tile_text(given["backward_tile"]))
    return CALLER.plan(question, new_gradients(signature, tensors), prepare)


def record() -> ContextManager[List[Plan]]:
    """Collects what runs: `with record() as ran: ...` makes `ran` the plans of all calls meanwhile, of any
    thread and of the backward, in their order."""
    return CALLER.record()


def configure(*, tuned: str = "", model: str = "", allow: Sequence[str] = (), threads: int = 0) -> None:
    """Sets what `auto` goes by from now on, and forgets earlier choices. Graphs captured before stay valid only
    as long as this is not called.

    Args:
        tuned: path of a tuned table; "": the device's own, as for `gla-bench run`.
        model: path of a cost model; "": the device's own.
        allow: facts of the table's environment that may differ (`gla-bench compare --help`).
        threads: of host variants; 0: torch.get_num_threads() at the first call.
    """
    CALLER.configure(Settings(tuned, model, tuple(allow), threads))


def goes_by(*devices: Union[str, torch.device]) -> List[str]:
    """What `auto` goes by on these devices: the table and the model, a line each."""
    return notes([torch.device(device) for device in devices])
