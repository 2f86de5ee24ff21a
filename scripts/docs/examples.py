"""JSON examples of the pages: they are JSON, and the program accepts those that are configs."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```json\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
SECONDS = 60


def parsed(text):
    """The value of an example, which may be a member of an object without its braces.
    @raises ValueError where it is neither"""
    try:
        return json.loads(text)
    except ValueError:
        return json.loads("{" + text + "}")


def refused(program, config):
    """What the program says against a config, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "example.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        done = subprocess.run([program, "plan", path.name, "--backend", "host"], cwd=folder, text=True,
                              capture_output=True, check=False, timeout=SECONDS)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def wrong(program, texts):
    """Every complaint about the JSON examples of the pages. A policy alone is tried in a small config."""
    complaints = []
    sweep = {"operator": "softmax", "variants": "all", "dtypes": ["float32"],
             "shapes": [{"batch": 1, "columns": 8}]}
    for path, text in texts.items():
        for found in BLOCK.finditer(text):
            place = f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
            try:
                value = parsed(found.group(1))
            except ValueError as error:
                complaints.append(f"{place}: is not JSON: {error}")
                continue
            if not {"sweeps", "policy"} & set(value):
                continue
            said = refused(program, {"sweeps": [sweep], **value})
            if said:
                complaints.append(f"{place}: the program refuses this config: {said}")
    return complaints
