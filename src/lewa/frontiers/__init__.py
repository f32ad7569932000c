"""The best reward at each budget, from a table or a log, and what a learner gets there."""

from lewa.frontiers.compute import POINTS, frontier
from lewa.frontiers.result import Best, Frontier, Got, Judged, Mean, Point

__all__ = ["POINTS", "Best", "Frontier", "Got", "Judged", "Mean", "Point", "frontier"]
