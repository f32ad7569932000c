"""Compute the best reward at each budget, from a table or a log, and the results of learners there."""

from lewa.frontiers.compute import POINTS, frontier
from lewa.frontiers.result import BestPlay, CurvePoint, Frontier, HeldOut, LearnerResult, Mean, Point

__all__ = ["POINTS", "BestPlay", "CurvePoint", "Frontier", "HeldOut", "LearnerResult", "Mean", "Point", "frontier"]
