"""The command `lewa warm`: compile learners in advance, for a Docker image or a service."""

from typing import Annotated

import typer

from lewa import learners
from lewa.agent import Agent, at_most
from lewa.choice import choose_learner
from lewa.cli.options import learner_names
from lewa.cli.progress import progress_bar
from lewa.cli.shared import app, out
from lewa.feedback import feedback_kind
from lewa.simulate.run import play


@app.command(epilog="Example: lewa warm squarecb-lewa bandit-lewa")
def warm(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LEARNER]...",
            help="The names of learners; default: the learners that auto can choose.",
            autocompletion=learner_names,
        ),
    ] = None,
) -> None:
    """Compile learners in advance, so that the first request of a process does not wait."""
    chosen = names or [choose_learner(kind, 2, None, 0.5).name for kind in ("bandit", "full")]
    for name in chosen:
        learners.find(name)  # refuse a wrong name before anything is compiled
    with progress_bar():
        for name in chosen:
            play(name, "bernoulli", rounds=10, floor=0.5)
            feedback = feedback_kind(learners.find(name)).observes
            known = learners.settings_of(name.removesuffix("+governed"))  # an agent has the governor itself
            settings = {"safe": 0, "margin": 0.1} if "margin" in known else {}
            agent = Agent(["a", "b"], [at_most("cost", 0.5)], learner=name, settings=settings, horizon=10, seed=0)
            decision = agent.pull()
            values = {"reward": [1.0, 0.0], "cost": [0.5, 0.5]} if feedback == "full" else {"reward": 1.0, "cost": 0.5}
            agent.update(decision, **values)
            agent.status()
            agent.warm()  # lists too
            out.print(f"{name} is compiled", highlight=False, markup=False)
