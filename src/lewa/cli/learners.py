"""The command `lewa learners`: list the learners."""

from lewa import learners
from lewa.cli.options import Json
from lewa.cli.shared import app, out, print_json, say
from lewa.feedback import feedback_kind
from lewa.plugins import LEARNERS, announced
from lewa.report.tables import table
from lewa.schema import LearnerRow
from lewa.theory.setting import Setting

WRAPPERS = (
    "NAME+doubling needs no horizon: it restarts NAME in epochs of doubling length. NAME+tightened raises the floors of",
    "NAME by its proved violation, so that in the long run no floor is missed. NAME+governed plays a safe action",
    "(--set safe=ACTION) whenever one more decision could take a debt beyond its bound.",
)


@app.command("learners", epilog="Example: lewa learners --json")
def list_learners(as_json: Json = False) -> None:
    """List the learners, including those of installed packages, with their feedback and kind of guarantee."""
    rows: list[LearnerRow] = [_row(name) for name in learners.ALL]
    for name in announced(LEARNERS):
        try:
            rows += [] if name in learners.ALL else [_row(name)]
        except Exception as error:  # of somebody else's package
            say(f"the learner {name} of an installed package cannot be listed: {error}")
    if as_json:
        print_json(rows)
        return
    families = {**learners.FAMILIES, "of installed packages": {row["name"] for row in rows} - set(learners.ALL)}
    for family, members in families.items():
        listed = [row for row in rows if row["name"] in members]
        cells = [(row["name"], row["feedback"], row["guarantee"] or "none", row["about"]) for row in listed]
        if cells:
            out.print(table(f"Learners: {family}", "name", "feedback", "guarantee", "", rows=cells))
    for line in WRAPPERS:
        out.print(line)


def _row(name: str) -> LearnerRow:
    proved = learners.make(name, 10, 100_000, 0.5).guarantees(10, 100_000, Setting())[0]
    return {
        "name": name,
        "feedback": "bandit" if feedback_kind(learners.find(name)).is_bandit else "full",
        "guarantee": proved.kind,
        "about": learners.about(name),
    }
