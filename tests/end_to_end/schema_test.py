#!/usr/bin/env python3
"""Holds configs and results to the checked-in JSON Schemas: schema_test.py PROGRAM SOURCE_DIR

Good documents validate, planted faults do not, and the schema refuses of the corpus of bad configs
(which the program's reader refuses whole: bad_configs_test.cpp) exactly what it can express.
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator

    from remembering_validator import remembering
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

program, source = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def load(path):
    return json.loads(pathlib.Path(path).read_text())


def checked(schema):
    Draft202012Validator.check_schema(schema)
    return remembering(schema)


def validator(name):
    return checked(load(source / "configs" / "schema" / name))


# The program's own knows its variants; the committed one stays as it is when a variant is added.
config_schema = checked(json.loads(subprocess.run(
    [program, "schema", "config"], capture_output=True, text=True, check=True).stdout))
any_variant_schema = validator("config.schema.json")
results_schema = validator("results.schema.json")
accuracy_schema, comparison_schema = validator("accuracy.schema.json"), validator("comparison.schema.json")
tuned_schema, model_schema = validator("tuned.schema.json"), validator("model.schema.json")
t1_schema, t4_schema = validator("t1.schema.json"), validator("t4.schema.json")
candidates_schema = validator("candidates.schema.json")
map_schema = validator("map.schema.json")


def expect(valid, schema, document, what):
    errors = [f"{error.json_path}: {error.message}" for error in schema.iter_errors(document)]
    if valid and errors:
        failures.append(f"{what}: refused: {errors[0][:300]}")
    if not valid and not errors:
        failures.append(f"{what}: accepted")


def step(document, pointer):
    """The container of what a JSON pointer names, and its key there."""
    *parents, last = pointer.lstrip("/").split("/")
    for part in parents:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document, int(last) if isinstance(document, list) else last


def changed(document, entry):
    if "config" in entry:
        return entry["config"]
    document = copy.deepcopy(document)
    for pointer in entry.get("remove", []):
        container, key = step(document, pointer)
        del container[key]
    for pointer, value in entry.get("change", {}).items():
        container, key = step(document, pointer)
        container[key] = value
    return document


def check_configs():
    paths = [p for p in (source / "configs").rglob("*.json")
             if p.parent.name != "schema" and p.name != "tolerance.json"]
    for path in paths:
        expect(True, config_schema, load(path), path)
    if len(paths) < 3:
        failures.append("fewer configs than there should be")
    good = load(source / "tests/harness/config/good_config.json")
    expect(True, config_schema, good, "good_config.json")
    corpus = load(source / "tests/harness/config/bad_configs.json")
    for entry in corpus:
        expect(not entry["schema"], config_schema, changed(good, entry), entry["name"])
    return len(paths) + len(corpus)


def check_produced():
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "results.json"
        done = subprocess.run([program, "run", source / "tests/harness/config/good_config.json",
                               "--backend", "host", "-q", "-o", output],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failures.append(f"run ended with {done.returncode}: {done.stdout}{done.stderr}")
            return
        results = load(output)
    expect(True, results_schema, results, "produced results")
    expect(True, config_schema, results["config"], "the config in produced results")
    record = "/records/0/"
    measured = record + "io/measured"
    planted = {
        "no schema version": {"remove": ["/schema_version"]},
        "another schema version": {"change": {"/schema_version": 2}},
        "no environment": {"remove": ["/environment"]},
        "unknown member": {"change": {"/extra": 1}},
        "unknown status": {"change": {record + "status": "fine"}},
        "no variant": {"remove": [record + "variant"]},
        "unknown member of a record": {"change": {record + "speed": 1}},
        "measured without a time": {"change": {record + "timing": None}},
        "measured without a verification": {"change": {record + "verification": None}},
        "an error as text": {"change": {record + "verification/tensors/o/rel_l2": "small"}},
        "no bound": {"remove": [record + "verification/tensors/o/bound"]},
        "no samples": {"remove": [record + "timing/cold/samples_ms"]},
        "unknown reason to stop": {"change": {record + "timing/cold/stopped_because": "bored"}},
        "a shape of four": {"remove": [record + "shape/heads"]},
        "a tile value as text": {"change": {record + "tile": {"chunk": "64"}}},
        "counted without figures": {"change": {measured: {"source": "cupti", "reason": ""}}},
        "no figures and no reason": {"change": {measured: {"source": "denied", "reason": ""}}},
        "figures from nowhere": {"change": {measured: {"source": "guess", "reason": "x"}}},
        "energy without a figure or a reason": {"change": {record + "energy": {}}},
    }
    for name, entry in planted.items():
        expect(False, results_schema, changed(results, entry), name)
    for status in ["crashed", "timeout"]:
        entry = {"change": {record + "status": status, record + "timing": None}}
        expect(True, results_schema, changed(results, entry), status)
    nan = changed(results, {"change": {record + "verification/tensors/o/rel_l2": "nan"}})
    expect(True, results_schema, nan, "NaN as text")
    figures = {"source": "cupti", "reason": "", "dram_read_bytes": 1, "dram_write_bytes": 2,
               "written_back_bytes": 1, "l2_bytes": 3, "passes": 1,
               "metrics": {"lts__t_bytes.sum": 3}}
    energy = {"joules_per_call": 0.1, "watts": 500, "window_seconds": 0.3, "calls": 9, "reason": ""}
    counted = changed(results, {"change": {measured: figures, record + "energy": energy}})
    expect(True, results_schema, counted, "counted bytes and energy")

    extended = {"git_commit": "abc", "git_dirty": False, "started": "2026-11-21T17:11:38Z",
                "driver": "", "records_kept": 3, "records_dropped": 0, "records_stale": 1}
    expect(True, results_schema, changed(results, {"change": {"/extended": [extended]}}),
           "an extended file")
    on_gpu = changed(results, {"change": {"/extended": [extended | {"uuid": "GPU-1"}]}})
    expect(True, results_schema, on_gpu, "an extended file that names its GPU")
    for name, entry in {
            "an empty list of extensions": [],
            "an extension without a commit": [{k: v for k, v in extended.items() if k != "git_commit"}],
            "a count as text": [extended | {"records_kept": "3"}],
            "a GPU as a number": [extended | {"uuid": 1}],
            "a count below 0": [extended | {"records_dropped": -1}],
            "an unknown member of an extension": [extended | {"by": "me"}]}.items():
        expect(False, results_schema, changed(results, {"change": {"/extended": entry}}), name)


def called(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        failures.append(f"{arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.returncode == 0


def check_comparison():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        seeds, baseline = folder / "seeds.json", folder / "errors.json"
        comparison = folder / "comparison.json"
        if not (called("verify", source / "tests/harness/config/good_config.json", "--backend", "host",
                       "--seeds", "3", "-q", "-o", seeds)
                and called("gate", seeds, "--write-baseline", baseline)
                and called("gate", seeds, "--baseline", baseline)
                and called("compare", seeds, seeds, "--json", comparison)):
            return
        accuracy, compared = load(baseline), load(comparison)
    expect(True, accuracy_schema, accuracy, "a baseline of errors")
    expect(True, comparison_schema, compared, "a comparison")
    expect(False, accuracy_schema, changed(accuracy, {"change": {"/rows/0/seed": 1}}),
           "a seed in a baseline")
    expect(False, accuracy_schema, changed(accuracy, {"remove": ["/rows/0/errors"]}),
           "a baseline's row without errors")
    expect(False, comparison_schema, changed(compared, {"change": {"/rows/0/verdict": "fine"}}),
           "an unknown verdict")


def check_tuned():
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "tuned.json"
        if not called("tune", "--from", source / "results/h200/softmax.json", "-o", table):
            return
        tuned = load(table)
    expect(True, tuned_schema, tuned, "a tuned table")
    entry = "/entries/0/"
    planted = {
        "a table of another version": {"change": {"/tuned_version": 2}},
        "a winner by luck": {"change": {entry + "won_by": "luck"}},
        "a winner without sources": {"remove": [entry + "winner/source_hash"]},
        "an entry without regret": {"remove": [entry + "regret"]},
        "an entry without problems": {"change": {entry + "problems": []}},
        "a bucket without a dtype": {"remove": [entry + "bucket/dtype"]},
        "an unknown member of a bucket": {"change": {entry + "bucket/gate": "mild"}},
    }
    for name, change in planted.items():
        expect(False, tuned_schema, changed(tuned, change), name)


def check_model():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "toy.model.json"
        if not called("tune", "--fit", source / "results/h200/softmax.json", "-o", file):
            return
        model = load(file)
    expect(True, model_schema, model, "a cost model")
    first = "/variants/0/"
    planted = {
        "a model of another version": {"change": {"/model_version": 2}},
        "a model that ranks by nothing": {"remove": ["/order"]},
        "a variant of no direction": {"change": {first + "direction": "up"}},
        "a variant without tiles": {"remove": [first + "tiles"]},
        "a variant without features": {"change": {first + "factor/features": []}},
        "a weight as text": {"change": {first + "factor/weights/0": "1"}},
        "a tree without leaves": {"remove": [first + "factor/trees/0/leaves"]},
        "a tree of too many questions": {"change": {first + "factor/trees/0/features": list(range(13))}},
    }
    for name, change in planted.items():
        expect(False, model_schema, changed(model, change), name)


def check_t1():
    space = load(source / "tests/harness/config/space.t1.json")
    expect(True, t1_schema, space, "space.t1.json")
    parameter, condition = (f"/ConfigurationSpace/{name}/0" for name in
                            ["TuningParameters", "Conditions"])
    planted = {
        "no space": {"remove": ["/ConfigurationSpace"]},
        "no kernel": {"remove": ["/KernelSpecification"]},
        "no size": {"remove": ["/KernelSpecification/GlobalSize"]},
        "a parameter without values": {"remove": [parameter + "/Values"]},
        "a parameter of no type": {"change": {parameter + "/Type": "long"}},
        "values as a number": {"change": {parameter + "/Values": 16}},
        "a condition without an expression": {"remove": [condition + "/Expression"]},
        "an unknown budget": {"change": {"/Budget/0/Type": "Coffee"}},
    }
    for name, entry in planted.items():
        expect(False, t1_schema, changed(space, entry), "T1: " + name)


def check_candidates():
    # Beside the manifests stand configs of what a manifest or a function brings: any variant's name is theirs.
    for path in (source / "examples").glob("**/*.json"):
        document = load(path)
        expect(True, any_variant_schema if "sweeps" in document else candidates_schema, document, path)
    manifest = load(source / "examples" / "naive_gla.json")  # the one with a tile and a refusal
    launch = "/launches/0/"
    planted = {
        "no variant": {"remove": ["/variant"]},
        "a variant of another alphabet": {"change": {"/variant": "My-kernel"}},
        "no source": {"remove": ["/source"]},
        "no launches": {"remove": ["/launches"]},
        "an unknown dtype": {"change": {"/dtypes": {"float8": "float32"}}},
        "an unknown arithmetic": {"change": {"/dtypes": {"float32": "int8"}}},
        "no dtypes": {"change": {"/dtypes": {}}},
        "a refusal without a reason": {"remove": ["/requires/0/message"]},
        "an axis without values": {"remove": ["/tile/0/values"]},
        "a size as truth": {"change": {launch + "grid/0": True}},
        "an argument of an unknown type": {"change": {launch + "arguments/0": {"int8": "seq"}}},
        "an unknown member of a launch": {"change": {launch + "stream": 1}},
    }
    for name, entry in planted.items():
        expect(False, candidates_schema, changed(manifest, entry), "candidates: " + name)


def check_export():
    records = [source / "results" / "h200" / name for name in ["gla.json", "peers-gla.json"]]
    with tempfile.TemporaryDirectory() as folder:
        t4, maps = pathlib.Path(folder) / "t4.json", pathlib.Path(folder) / "maps.json"
        if not (called("export", *records, "--t4", t4)
                and called("report", *records, "--map", "--json", maps)):
            return
        results, crossover = load(t4), load(maps)
    expect(True, t4_schema, results, "exported results")
    expect(True, map_schema, crossover, "maps")
    if not results["results"] or not crossover["maps"]:
        failures.append("committed records give no results or no maps")
    results["results"] = results["results"][:5]
    first = "/results/0/"
    planted = {
        "no version": {"remove": ["/schema_version"]},
        "no configuration": {"remove": [first + "configuration"]},
        "no times": {"remove": [first + "times"]},
        "no verdict": {"remove": [first + "correctness"]},
        "another invalidity": {"change": {first + "invalidity": "bored"}},
        "a correct result that is not right": {"change": {first + "invalidity": "correct",
                                                          first + "correctness": 0}},
        "a wrong result that is right": {"change": {first + "invalidity": "correctness",
                                                    first + "correctness": 1}},
        "a runtime as text": {"change": {first + "times/runtimes": ["1 ms"]}},
    }
    for name, entry in planted.items():
        expect(False, t4_schema, changed(results, entry), "T4: " + name)
    problem = "/maps/0/cells/0/problems/0/"
    for name, entry in {"no winners": {"remove": [problem + "winners"]},
                        "a time as text": {"change": {problem + "contenders/0/median_ms": "1"}},
                        "an unknown axis": {"change": {"/maps/0/length_axis": "depth"}}}.items():
        expect(False, map_schema, changed(crossover, entry), "map: " + name)


def check_committed():
    for path in (source / "results").rglob("*.json"):
        kind = (model_schema if path.name.endswith(".model.json") else
                tuned_schema if path.parent.name == "tuned" else results_schema)
        document = load(path)
        expect(True, kind, document, path)
        if path.name != "gla_layer.json":
            continue
        # What is remembered of the many records that are right hides no fault in a late one.
        timed = [at for at, record in enumerate(document["records"]) if record["status"] == "measured"]
        late = f"/records/{timed[-1]}/"
        for name, entry in {
                "a sample as text": {"change": {late + "timing/cold/samples_ms/0": "1 ms"}},
                "an extent below 1": {"change": {late + "shape/batch": 0}},
                "a whole number as a fraction": {"change": {late + "build/registers": 1.5}},
                "a metric as text": {"change": {late + "io/measured/metrics": {"lts__t_bytes.sum": "x"}}},
                "truth as a number": {"change": {late + "verification/ok": 1}}}.items():
            expect(False, results_schema, changed(document, entry), f"{path.name}: {name}")


checked = check_configs()
check_produced()
check_comparison()
check_tuned()
check_model()
check_t1()
check_candidates()
check_export()
check_committed()
for failure in failures:
    print("FAIL", failure)
print(f"{checked} configs checked, {len(failures)} failures")
sys.exit(1 if failures else 0)
