"""Records of candidates, as the program writes them (configs/schema/results.schema.json)."""

import dataclasses
import json
import os
import pathlib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

SCHEMA_VERSION = 1
_FAILED = ("wrong", "build_failed", "run_failed", "crashed", "timeout")


@dataclasses.dataclass(frozen=True)
class Record:
    """One candidate (a variant with a tile) on one problem.

    Attributes:
        raw: the whole record, as it stands in the file.
    """

    raw: Mapping[str, Any] = dataclasses.field(repr=False)

    @property
    def variant(self) -> str:
        return self.raw["variant"]

    @property
    def backend(self) -> str:
        """The backend: "host" or "cuda"."""
        return self.raw["backend"]

    @property
    def tile(self) -> Mapping[str, int]:
        return self.raw["tile"]

    @property
    def status(self) -> str:
        """What became of it: "measured", "verified", "wrong", "rejected", "left_out",
        "build_failed", "run_failed", "crashed", "timeout" or "built"."""
        return self.raw["status"]

    @property
    def reason(self) -> str:
        """Why it was rejected, or what is wrong: the output, the check and the numbers."""
        return self.raw["reason"]

    @property
    def operator(self) -> str:
        return self.raw["operator"]

    @property
    def direction(self) -> str:
        return self.raw["direction"]

    @property
    def dtype(self) -> str:
        return self.raw["dtype"]

    @property
    def shape(self) -> Mapping[str, int]:
        """Extents by name: batch, seq, heads, key_dim, value_dim and others."""
        return self.raw["shape"]

    @property
    def problem(self) -> Tuple[Tuple[str, str], ...]:
        """What candidates are compared on: equal for records of the same problem."""
        keys = ("operator", "direction", "dtype", "layout", "shape", "gate", "seed",
                "initial_state", "final_state", "scale", "tensors", "options")
        return tuple((key, json.dumps(self.raw.get(key), sort_keys=True)) for key in keys)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with it. A candidate that refuses a problem is no failure."""
        late = (self.raw.get("verification") or {}).get("last_timed_ok")
        return self.status not in _FAILED and late is not False

    @property
    def verified(self) -> bool:
        """Whether its outputs were held against float64 and are right."""
        verification = self.raw.get("verification")
        return bool(verification) and bool(verification["ok"]) and self.ok

    @property
    def ms(self) -> Optional[float]:
        """Median time of a call with cold caches, in milliseconds; None where it was not timed."""
        timing = self.raw.get("timing")
        return timing["cold"]["median_ms"] if timing else None

    @property
    def sustained_ms(self) -> Optional[float]:
        """Median time of a call among many that follow each other; None where it was not taken."""
        timing = self.raw.get("timing")
        sustained = timing.get("sustained") if timing else None
        return sustained["median_ms"] if sustained else None

    @property
    def errors(self) -> Mapping[str, Mapping[str, Any]]:
        """Errors and bounds by output: rel_l2, bound, worst_chunk_rel_l2 and others."""
        verification = self.raw.get("verification")
        return (verification or {}).get("tensors") or {}

    @property
    def error_over_bound(self) -> Optional[float]:
        """The relative error of the worst output over what it may be; None without one."""
        shares = [errors["rel_l2"] / errors["bound"] for errors in self.errors.values()
                  if errors.get("rel_l2") is not None and errors.get("bound")]
        return max(shares, default=None)

    @property
    def command(self) -> Optional[str]:
        """The command that repeats it."""
        return self.raw.get("command")


@dataclasses.dataclass(frozen=True)
class Results:
    """A results file.

    Attributes:
        path: the file.
        environment: facts of where it was made (device, versions, clocks), by name.
        config: the config with all defaults.
        records: in the file's order.
    """

    path: pathlib.Path
    environment: Mapping[str, Any] = dataclasses.field(repr=False)
    config: Mapping[str, Any] = dataclasses.field(repr=False)
    records: Tuple[Record, ...] = dataclasses.field(repr=False)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def ok(self) -> bool:
        """Whether no candidate failed."""
        return all(record.ok for record in self.records)

    def failures(self) -> List[Record]:
        """The candidates that failed, each with its reason."""
        return [record for record in self.records if not record.ok]

    def best(self) -> List[Record]:
        """The fastest verified candidate of each problem, by `Record.ms`; peers are left out."""
        fastest: Dict[Any, Record] = {}
        for record in self.records:
            if record.status != "measured" or not record.verified or record.raw.get("peer"):
                continue
            if record.ms is None or record.raw["timing"]["suspect"]:
                continue
            known = fastest.get(record.problem)
            if known is None or record.ms < known.ms:
                fastest[record.problem] = record
        return list(fastest.values())

    def rows(self) -> List[Dict[str, Any]]:
        """One dict for each record with its problem, candidate, status and times, as
        pandas.DataFrame or csv.DictWriter take them."""
        return [
            {"operator": record.operator, "direction": record.direction, "dtype": record.dtype,
             **record.shape, "gate": record.raw["gate"], "variant": record.variant,
             "backend": record.backend, "tile": json.dumps(record.tile), "status": record.status,
             "reason": record.reason, "ms": record.ms, "sustained_ms": record.sustained_ms,
             "error_over_bound": record.error_over_bound} for record in self.records]


def load(path: "Union[str, os.PathLike[str]]") -> Results:
    """Reads a results file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no results file, or one of another version of the format.
    """
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    found = document.get("schema_version") if isinstance(document, dict) else None
    if found != SCHEMA_VERSION:
        raise ValueError(f"{path}: /schema_version: found {found!r}, expected {SCHEMA_VERSION}: "
                         "a results file of this version")
    return Results(pathlib.Path(path), document["environment"], document["config"],
                   tuple(Record(record) for record in document["records"]))
