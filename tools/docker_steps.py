"""Run the steps of deploy/Dockerfile without Docker: `python -m tools.docker_steps FOLDER` runs them below a clean folder.

COPY takes what Git knows of. Folders of the image (/src, /var/...) become folders below FOLDER, and `pip`, `python` and
`lewa` are those of a new environment there. What needs the rights of an image (useradd, chown,
USER) is left out, and printed. At the end another process makes decisions, alone and in a list, and must compile nothing.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PRIVILEGED = ("useradd", "chown")
CALLS = """
from numba.core.event import RecordingListener, install_listener
import lewa
recorded = RecordingListener()
with install_listener("numba:compile", recorded):
    agent = lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.5)])
    agent.update(agent.pull(), reward=1.0, cost=0.5)
    agent.update_many([(decision, {"reward": 1.0, "cost": 0.5}) for decision in agent.pull_many(3)])
    agent.status()
compiled = [event.data["dispatcher"].py_func.__qualname__ for _, event in recorded.buffer if event.is_start]
assert not compiled, f"compiled after `lewa warm`: {compiled}"
"""


class Step(NamedTuple):
    word: str  # RUN, COPY, ENV, ...
    text: str


def steps_of(text: str) -> list[Step]:
    """Return the steps of a Dockerfile; lines that end in a backslash go on."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = [line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [Step(*line.split(None, 1)) for line in lines]


def inside(text: str, folder: Path) -> str:
    """Return a text in which the folders of the image are below this folder."""
    return re.sub(r"(?<![\w.:/])/(src|var)\b", rf"{folder}/\1", text)


def commands_of(step: Step) -> list[str]:
    """Return the commands of a RUN step that need no rights of the image."""
    commands = [command.strip() for command in step.text.split("&&")]
    for command in commands:
        if command.startswith(PRIVILEGED):
            print(f"left out: {command}", flush=True)
    return [command for command in commands if not command.startswith(PRIVILEGED)]


def run(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    environment = {**os.environ, "PATH": f"{folder / 'env' / 'bin'}:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    here = folder
    for step in steps_of((ROOT / "deploy" / "Dockerfile").read_text()):
        print(f"{step.word} {step.text}", flush=True)
        if step.word == "ENV":
            environment |= dict(inside(pair, folder).split("=", 1) for pair in shlex.split(step.text))
        elif step.word == "COPY":  # .dockerignore would take fewer
            listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
            for name in filter(None, listing.stdout.split("\0")):
                target = folder / "src" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target)
        elif step.word == "WORKDIR":
            here = Path(inside(step.text, folder))
            here.mkdir(parents=True, exist_ok=True)
        elif step.word == "RUN":
            for command in commands_of(step):
                subprocess.run(["bash", "-ec", inside(command, folder)], check=True, env=environment, cwd=here)
        elif step.word == "ENTRYPOINT":
            program = json.loads(step.text)
            subprocess.run([*program[:2], "--help"], check=True, env=environment, cwd=here, stdout=subprocess.DEVNULL)
    subprocess.run(["python", "-c", CALLS], check=True, env=environment, cwd=here)
    print("every step was run, and the first calls compile nothing", flush=True)


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    target.mkdir(parents=True)  # a clean folder
    run(target)
