"""A learner of an installed package is advised, chosen and measured by what it declares; no list in `lewa` names it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from benchmarks import measure

import lewa
from lewa import learners, plugins
from lewa.choice import choose_learner

SOURCE = """
    from dataclasses import dataclass

    from lewa.learners import Ewa
    from lewa.learners.base import Theorems
    from lewa.theory.guarantees import PATHWISE, Bound, conclude


    def bound(learner, actions, rounds, setting):
        return (conclude(Bound(1.0, 0.5), rounds, learner.floor, PATHWISE, "Claimed", ()),)


    @dataclass(frozen=True)
    class Claimed(Ewa):
        '''Claimed: a bound that nobody proved, for a test.'''

        purpose = "bounds"
        theorems = Theorems(bound)


    @dataclass(frozen=True)
    class Compared(Claimed):
        '''Compared: the same, for comparison.'''

        purpose = "comparison"


    @dataclass(frozen=True)
    class Misspelt(Claimed):
        '''Misspelt: no purpose has this name.'''

        purpose = "bound"
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with three learners, of which one cannot be used."""
    (tmp_path / "claims.py").write_text(dedent(SOURCE))
    info = tmp_path / "claims-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: claims\nVersion: 1.0\n")
    points = "".join(f"{name.lower()} = claims:{name}\n" for name in ("Claimed", "Compared", "Misspelt"))
    (info / "entry_points.txt").write_text(f"[lewa.learners]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.announced.cache_clear()
    yield
    plugins.announced.cache_clear()
    sys.modules.pop("claims", None)


def test_it_is_advised_and_chosen_where_its_bound_is_the_least() -> None:
    advice = lewa.advise("full", 7, 1234, 0.5)
    assert (advice.learner.name, advice.learner.guarantee.regret) == ("claimed", 1.0)
    assert "compared" not in {choice.name for choice in advice.ranked}
    assert choose_learner("full", 7, 1234, 0.5, goal="proved").name == "claimed"
    assert lewa.advise("bandit", 7, 1234, 0.5).learner.name != "claimed"


def test_it_is_measured_beside_the_box_that_it_is_like_without_a_goal() -> None:
    assert "claimed" in measure.beyond()
    assert "compared" not in measure.beyond()
    assert measure.ruler_of(learners.find("claimed")) is learners.Lewa
    assert measure.goals_of("claimed") == (0, 0)


def test_a_purpose_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the purpose of the learner misspelt must be one of 'bounds', .*, got 'bound'"):
        learners.find("misspelt")
