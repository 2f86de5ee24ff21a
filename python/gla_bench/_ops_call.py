"""Plans calls of the program's variants on torch's tensors, and makes them."""

import contextlib
import dataclasses
import json
import os
import pathlib
import threading
import warnings
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from gla_bench._ops_signatures import SIGNATURES, options_of
from gla_bench._program import VARIABLE, program

try:
    from gla_bench import _core
except ImportError as _error:
    raise ImportError("gla_bench.ops needs the package's module gla_bench._core, which "
                      f"`pip install .` builds: {_error}") from _error

Tensor = torch.Tensor
AUTO = "auto"


@dataclasses.dataclass(frozen=True)
class Plan:
    """What runs, or would run, for given tensors.

    Attributes:
        operator, direction, dtype, layout: of the problem, as records have them.
        shape: extents by name: batch, seq, heads, key_dim, value_dim and others.
        options: those that differ from their defaults.
        backend: "host" or "cuda"; `device` is the device's name.
        variant, tile: the candidate.
        arithmetic: what its products are computed in.
        workspace_bytes: of scratch memory that a call takes from torch's allocator.
        reproducible: whether a repeated call gives the same bits.
        chosen_by: how `auto` came to it, as a record's "chosen_by"; None where the caller named it.
        raw: all of it, as JSON has it.
    """

    operator: str
    direction: str
    dtype: str
    layout: str
    shape: Mapping[str, int]
    options: Mapping[str, str]
    backend: str
    device: str
    variant: str
    tile: Mapping[str, int]
    arithmetic: str
    workspace_bytes: int
    reproducible: bool
    chosen_by: Optional[Mapping[str, Any]]
    raw: Mapping[str, Any] = dataclasses.field(repr=False)


def _plan_of(call: "_core.PlannedCall") -> Plan:
    document = json.loads(call.describe())
    names = [field.name for field in dataclasses.fields(Plan)]
    return Plan(**{"options": {}, "raw": document,
                   **{name: document[name] for name in names if document.get(name) is not None},
                   "chosen_by": document["chosen_by"]})


@dataclasses.dataclass(frozen=True)
class Settings:
    """What `configure` sets."""

    tuned: str = ""
    model: str = ""
    allow: Tuple[str, ...] = ()
    threads: int = 0


class Question(NamedTuple):
    """An operator on tensors, by the program's names, and what the caller decides of it."""

    operator: str
    direction: str
    tensors: Mapping[str, Optional[Tensor]]
    wanted: bool
    scale: Optional[float]
    options: str
    variant: str
    tile: str

    def key(self) -> Any:
        """What a choice depends on; the device stands first.

        Raises:
            ValueError: the tensors lie on several devices, or on one of another kind.
        """
        shapes: List[Any] = []
        device: Optional[torch.device] = None
        for name, tensor in self.tensors.items():
            if tensor is None:
                continue
            if device is None:
                device = tensor.device
                if device.type not in ("cpu", "cuda"):
                    raise ValueError(f"{_called(self.operator, name)} is on {device}; expected cpu or cuda")
            elif tensor.device != device:
                raise ValueError(f"{_called(self.operator, name)} is on {tensor.device}; expected "
                                 f"{device}, where {_called(self.operator, shapes[0][0])} is")
            shapes.append((name, tensor.dtype, tensor.shape, tensor.stride()))
        return (device, self.operator, self.direction, self.wanted, self.scale, self.options,
                self.variant, self.tile, is_exact(shapes[0][1]), tuple(shapes))


def _called(operator: str, tensor: str) -> str:
    """The argument's name of a tensor, for messages."""
    for one in SIGNATURES[operator].inputs:
        if one.tensor == tensor:
            return one.argument
        if f"d{one.tensor}" == tensor:
            return f"the gradient of {one.argument}"
    return f"the gradient of {tensor[1:]}" if tensor.startswith("d") else tensor


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).rsplit(".", maxsplit=1)[-1]


def parse_tile(text: str) -> Dict[str, int]:
    """The tile of "chunk=64,block_v=32". Raises ValueError for anything else."""
    tile = {}
    for part in text.split(",") if text else []:
        name, equals, value = part.partition("=")
        if not equals or not value.strip().lstrip("-").isdigit():
            raise ValueError(f"found the tile {text!r}, expected axes with numbers as in "
                             "'chunk=64,block_v=32'")
        tile[name.strip()] = int(value)
    return tile


def is_exact(dtype: torch.dtype) -> bool:
    """Whether products have to be in float32: torch's own setting decides for its matrix products, too."""
    return dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest"


def _program_folder() -> str:
    """Where the program lies, whose tuned tables count; beside the module where there is none.

    Raises:
        FileNotFoundError: the environment variable for it names no file.
    """
    try:
        return str(program().resolve().parent)
    except FileNotFoundError:
        if os.environ.get(VARIABLE):
            raise
        return str(pathlib.Path(_core.__file__).resolve().parents[2])


class _Prepared:
    """A planned call with what is needed to make it again."""

    __slots__ = ("call", "names", "plan", "workspace", "ready")

    def __init__(self, call: "_core.PlannedCall") -> None:
        self.call = call
        self.names: List[str] = call.tensors
        self.plan: Optional[Plan] = None
        self.workspace = 0
        self.ready = False


class Caller:
    """The places of this process, and the calls that were planned there."""

    def __init__(self) -> None:
        self.settings = Settings()
        self._lock = threading.RLock()
        self._places: Dict[Tuple[str, int], "_core.Place"] = {}
        self._calls: Dict[Any, _Prepared] = {}
        self._records: List[List[Plan]] = []

    def configure(self, settings: Settings) -> None:
        """Forgets what was chosen by other settings."""
        with self._lock:
            self.settings = settings
            self._places.clear()
            self._calls.clear()

    def place(self, device: torch.device) -> "_core.Place":
        """The device's place, opened at the first call."""
        index = device.index
        if index is None:
            index = torch.cuda.current_device() if device.type == "cuda" else 0
        key = (device.type, index)
        with self._lock:
            known = self._places.get(key)
            if known is None:
                threads = self.settings.threads or torch.get_num_threads()
                known = _core.Place.open(
                    backend="host" if device.type == "cpu" else "cuda", device=key[1],
                    threads=threads, tuned=self.settings.tuned, model=self.settings.model,
                    allowed=set(self.settings.allow), program_folder=_program_folder())
                for line in known.warnings:
                    warnings.warn(f"gla_bench.ops: {line}", RuntimeWarning, stacklevel=2)
                self._places[key] = known
            return known

    def prepared(self, question: Question, made: Mapping[str, Tensor], prepare: bool) -> _Prepared:
        """The call for a question and its outputs; `prepare` compiles and loads it as well.

        Raises:
            RuntimeError: it would have to be compiled or loaded while a stream is captured.
            ValueError, TypeError, NotImplementedError: as the functions of gla_bench.ops say.
        """
        key = question.key()
        device: torch.device = key[0]
        known = self._calls.get(key)
        if known is not None and (known.ready or not prepare):
            return known
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                f"found the first call of {question.operator} {question.direction} on tensors of "
                "these shapes inside the capture of a CUDA graph, expected one before it: what it "
                "takes is chosen, compiled and loaded at the first call, or by "
                "gla_bench.ops.plan(..., prepare=True)")
        place = self.place(device)
        if known is None:
            known = self._calls.setdefault(key, _Prepared(self._planned(place, question, made)))
        if prepare and not known.ready:
            place.prepare(known.call)  # without the lock: several threads may compile at once
            known.workspace = known.call.workspace_bytes
            known.plan = _plan_of(known.call)
            known.ready = True
        return known

    @staticmethod
    def _planned(place: "_core.Place", question: Question,
                 made: Mapping[str, Tensor]) -> "_core.PlannedCall":
        tensors = {name: one for name, one in question.tensors.items() if one is not None}
        tensors.update(made)
        described = [(name, _called(question.operator, name), _dtype_name(one.dtype),
                      list(one.shape), list(one.stride())) for name, one in tensors.items()]
        first = next(one for one in question.tensors.values() if one is not None)
        return place.plan(question.operator, question.direction, options_of(question.options),
                          question.scale, described, question.variant, parse_tile(question.tile),
                          is_exact(first.dtype))

    def run(self, question: Question, made: Mapping[str, Tensor]) -> None:
        """Fills the outputs, on torch's current stream of the tensors' device."""
        known = self.prepared(question, made, prepare=True)
        addresses = []
        first: Optional[Tensor] = None
        for name in known.names:
            tensor = made.get(name)
            if tensor is None:
                tensor = question.tensors[name]
                assert tensor is not None
            if first is None:
                first = tensor
            addresses.append(tensor.data_ptr())
        assert first is not None
        workspace, scratch = 0, None
        if known.workspace:
            # The host's allocator aligns less than the regions of a workspace are.
            scratch = first.new_empty((known.workspace + _ALIGNMENT,), dtype=torch.uint8)
            workspace = -(-scratch.data_ptr() // _ALIGNMENT) * _ALIGNMENT
        known.call.run(addresses, workspace, _stream_of(first.device))
        if self._records:
            assert known.plan is not None
            with self._lock:
                for ran in self._records:
                    ran.append(known.plan)

    def plan(self, question: Question, made: Mapping[str, Tensor], prepare: bool) -> Plan:
        """What would run."""
        known = self.prepared(question, made, prepare)
        return known.plan or _plan_of(known.call)

    @contextlib.contextmanager
    def record(self) -> Iterator[List[Plan]]:
        """Collects the plans of all calls, of any thread, that are made meanwhile."""
        ran: List[Plan] = []
        with self._lock:
            self._records.append(ran)
        try:
            yield ran
        finally:
            with self._lock:
                self._records = [one for one in self._records if one is not ran]


_ALIGNMENT = 256


def _stream_of(device: torch.device) -> int:
    return torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0


CALLER = Caller()


def notes(devices: Sequence[torch.device]) -> List[str]:
    """What auto goes by on these devices."""
    return [line for device in devices for line in CALLER.place(device).notes]
