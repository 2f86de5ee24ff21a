"""What a config asks of the peers, and the records that come of it: pure functions, no PyTorch.

A problem is a dict with the keys of a record: operator, dtype, layout, gate, seed, shape,
initial_state, final_state, options, scale.
"""

import itertools
import json
import os
import statistics

RECURRENCES = ["gla", "rwkv6", "linear_attention", "simple_gla", "retention"]
FIRST_REGIME = {"gla": "none", "simple_gla": "none", "linear_attention": "none", "rwkv6": "rwkv",
                "retention": "retnet", "attention": "normal"}
BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
# The caps of configs/tolerance.json for products in the problem's own dtype: float32 by tf32.
CAPS = {"bfloat16": 4e-3, "float16": 2e-3, "float32": 1e-3}
# Other names that a config may use, as parse_dtype() of core/problem.hpp takes them.
DTYPE_ALIASES = {"fp32": "float32", "float": "float32", "bf16": "bfloat16", "fp16": "float16",
                 "half": "float16"}
DECODE_TOKENS = 8  # up to so many a peer's recurrent form is what people call
EXTENTS = ["batch", "seq", "heads", "key_dim", "value_dim"]


def as_list(value):
    return value if isinstance(value, list) else [value]


def long_name(text):
    """A dtype under the name that records have; any other text as it is."""
    return DTYPE_ALIASES.get(text, text)


def shapes_of(shapes):
    """Every shape of a sweep as a dict: a list of dicts or tuples, a product or a zip."""
    if isinstance(shapes, list):
        return [dict(zip(EXTENTS, row)) if isinstance(row, list) else dict(row) for row in shapes]
    (kind, axes), = shapes.items()
    axes = {name: as_list(values) for name, values in axes.items()}
    names = [name for name in EXTENTS if name in axes] + [n for n in axes if n not in EXTENTS]
    if kind == "product":
        return [dict(zip(names, row)) for row in itertools.product(*(axes[n] for n in names))]
    rows = max(len(values) for values in axes.values())
    return [{n: axes[n][i if len(axes[n]) > 1 else 0] for n in names} for i in range(rows)]


def option_choices(options):
    """Every choice of a sweep's options, values as text."""
    names = sorted(options)
    text = {True: "true", False: "false"}
    values = [[text.get(v, v) if isinstance(v, bool) else long_name(v) for v in as_list(options[n])]
              for n in names]
    return [dict(zip(names, row)) for row in itertools.product(*values)]


def problems(config):
    """The forward problems of a config that PyTorch's peers know, each once, in its order."""
    seen = []
    for sweep in config["sweeps"]:
        operator = sweep["operator"]
        if operator not in FIRST_REGIME or "tensors" in sweep:
            continue
        if "forward" not in as_list(sweep.get("direction", "forward")):
            continue
        gates = sweep.get("gates", [FIRST_REGIME[operator]])
        for shape, dtype, layout, gate, initial, final, options in itertools.product(
                shapes_of(sweep["shapes"]), map(long_name, sweep["dtypes"]),
                sweep.get("layouts", ["seq_first"]),
                gates if isinstance(gates, list) else [FIRST_REGIME[operator]],
                as_list(sweep.get("initial_state", False)), as_list(sweep.get("final_state", True)),
                option_choices(sweep.get("options", {}))):
            problem = {"operator": operator, "dtype": dtype, "layout": layout, "gate": gate,
                       "seed": sweep.get("seed", 1), "shape": shape, "initial_state": initial,
                       "final_state": final, "options": options, "scale": sweep.get("scale")}
            if problem not in seen:
                seen.append(problem)
    return seen


def describe(problem):
    """One line: "gla bfloat16 mild 8,4096,16,128,128"."""
    extents = ",".join(str(value) for value in problem["shape"].values())
    return f"{problem['operator']} {problem['dtype']} {problem['gate']} {extents}"


def refuse_recurrence(problem):
    """Why flash-linear-attention is not asked to solve this problem, or None."""
    if problem["operator"] not in RECURRENCES:
        return "no operator of flash-linear-attention"
    if problem["layout"] != "seq_first":
        return "takes [B,T,H,D] alone"
    if "sequences" in problem["shape"]:
        return "ragged sequences are not compared"
    if not problem["final_state"]:
        return "is compared with the final state"
    if problem["gate"] in ("resets", "per_channel", "spikes"):
        return f"{problem['gate']} gates are outside what it is made for"
    if problem["operator"] == "retention" and problem["gate"] != "retnet":
        return "its retention has the decays of RetNet alone"
    if problem["operator"] == "linear_attention" and problem["gate"] != "none":
        return "has no gates"
    for name, value in problem["options"].items():
        # Its states are not updated in place: it writes another tensor of the same size. Slices of
        # one projection would be copied first.
        if name != "in_place" and value not in ("false", "float32", "key_first", "identity", "log",
                                                "uniform", "same"):
            return f"has no {name}={value}"
    return None


def refuse_attention(problem):
    """Why PyTorch's scaled_dot_product_attention is not asked to solve this problem, or None."""
    if problem["operator"] != "attention":
        return "no operator of PyTorch"
    if problem["dtype"] == "float32":
        return "its fused kernels have no float32"
    if problem["gate"] != "normal":
        return f"{problem['gate']} logits are not compared"
    shape = problem["shape"]
    causal = problem["options"].get("causal", "true") == "true"
    if causal and shape.get("key_seq", shape["seq"]) != shape["seq"] and shape["seq"] > 1:
        return "aligns a causal mask with the first key, not with the last"
    if problem["options"].get("lse", "false") == "true":
        return "returns no sums of the exponentials"
    return None


def peers_of(problem):
    """Names of flash-linear-attention's functions for a problem: what people would call there."""
    stem = {"linear_attention": "linear_attn"}.get(problem["operator"], problem["operator"])
    if problem["shape"]["seq"] <= DECODE_TOKENS:
        return [f"fused_recurrent_{stem}"]
    if problem["operator"] == "rwkv6":
        return [f"chunk_{stem}"]
    return [f"chunk_{stem}", f"fused_chunk_{stem}"]


def module_of(operator):
    return "fla.ops." + {"linear_attention": "linear_attn"}.get(operator, operator)


def gate_dtype(problem):
    """The dtype of the gates' tensor."""
    wide = problem.get("options", {}).get("gate_dtype") == "float32"
    return "float32" if wide else problem["dtype"]


def floor_bytes(problem):
    """Each input read once, each output written once; states in float32."""
    shape, element = problem["shape"], BYTES[problem["dtype"]]
    b, t, h, kd, vd = (shape[name] for name in EXTENTS)
    if problem["operator"] == "attention":
        key_rows = b * shape.get("key_seq", t) * shape.get("key_heads", h)
        return element * (b * t * h * (kd + vd) + key_rows * (kd + vd))
    rows, gate = b * t * h, BYTES[gate_dtype(problem)]
    total = element * rows * 2 * (kd + vd)
    if problem["operator"] in ("gla", "rwkv6"):
        total += gate * rows * kd
    if problem["operator"] == "simple_gla":
        total += gate * rows
    if problem["operator"] == "rwkv6":
        total += element * h * kd
    if problem["operator"] == "retention":
        total += 4 * h
    states = int(problem["initial_state"]) + int(problem["final_state"])
    return total + states * 4 * b * h * kd * vd


def compile_jobs(problem_list):
    """Indices of problems that need kernels of their own: one for each operator, dtypes and dims."""
    jobs = {}
    for index, problem in enumerate(problem_list):
        shape = problem["shape"]
        key = (problem["operator"], problem["dtype"], gate_dtype(problem), shape["key_dim"],
               shape["value_dim"], shape["seq"] <= DECODE_TOKENS)
        jobs.setdefault(key, index)
    return list(jobs.values())


def new_record(problem, variant):
    """A record before anything happened to it. A peer's states are never updated in place."""
    options = {name: value for name, value in problem["options"].items() if name != "in_place"}
    return {
        "operator": problem["operator"], "direction": "forward", "variant": variant,
        "backend": "cuda", "dtype": problem["dtype"], "layout": problem["layout"],
        "shape": problem["shape"], "gate": problem["gate"], "seed": problem["seed"],
        "initial_state": problem["initial_state"], "final_state": problem["final_state"],
        "scale": problem["scale"], **({"options": options} if options else {}), "tile": {},
        "status": "measured", "reason": "", "io": {"floor_bytes": floor_bytes(problem)},
        "source_hash": "", "peer": True,
    }


def series(times):
    """The figures of a record's `timing.cold` from its samples, milliseconds."""
    cuts = statistics.quantiles(times, n=10, method="inclusive")
    return {"median_ms": statistics.median(times), "min_ms": min(times), "p20_ms": cuts[1],
            "p80_ms": cuts[7], "samples_ms": times, "stopped_because": "samples"}


def verification(tensors, dtype):
    """A record's `verification` from {tensor: (rel_l2, max_abs, worst_chunk_rel_l2)}; NaN fails."""
    bound = CAPS[dtype]
    verdicts = {name: {"rel_l2": rel, "max_abs": largest, "worst_chunk_rel_l2": worst,
                       "bound": bound, "ok": bool(rel <= bound)}
                for name, (rel, largest, worst) in tensors.items()}
    return {"ok": all(v["ok"] for v in verdicts.values()), "tensors": verdicts}


def finished(problem, variant, errors, times):
    """The two records of a peer that ran: replayed from a graph, and as called (`.eager`). `times`:
    samples in milliseconds by `graph_ms`, `eager_ms` and `sustained_ms`, the last with
    `sustained_copies`; `clocks`: further members of `timing`."""
    record = new_record(problem, variant)
    record["verification"] = verification(errors, problem["dtype"])
    if not record["verification"]["ok"]:
        worst = max(errors, key=lambda name: errors[name][0])
        record["status"] = "wrong"
        record["reason"] = f"{worst}: {errors[worst][0]:.3g} is over {CAPS[problem['dtype']]:g}"
    rows = []
    clocks = times.get("clocks", {})
    if times.get("graph_ms"):
        timing = {"cold": series(times["graph_ms"]), **clocks}
        if times.get("sustained_ms"):
            timing.update(sustained=series(times["sustained_ms"]),
                          sustained_copies=times["sustained_copies"])
        rows.append({**record, "timing": timing})
    if times.get("eager_ms"):
        rows.append({**record, "variant": variant + ".eager",
                     "timing": {"cold": series(times["eager_ms"]), **clocks}})
    return rows


def failed(problem, variant, status, reason):
    """The record of a peer that failed (`run_failed`) or was not done in time (`timeout`)."""
    return {**new_record(problem, variant), "status": status, "reason": reason}


def json_number(value):
    """NaN and infinities as the records' schema has them."""
    if isinstance(value, dict):
        return {key: json_number(item) for key, item in value.items()}
    if isinstance(value, list):
        return [json_number(item) for item in value]
    if isinstance(value, float) and value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return value


def document(environment, config, records):
    """The text of a results file, a record a line."""
    rows = ",\n".join(json.dumps(json_number(record)) for record in records)
    return ('{"schema_version": 1,\n"environment": %s,\n"config": %s,\n"records": [\n%s\n]}\n'
            % (json.dumps(environment), json.dumps(config), rows))


def write(path, environment, config, records):
    """The whole file, replaced at once: what was measured so far survives an interruption."""
    with open(path + ".new", "w") as file:
        file.write(document(environment, config, records))
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
