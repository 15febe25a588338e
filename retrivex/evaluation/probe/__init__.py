"""Position probe: a model in, its accuracy at every depth of a context out."""

from retrivex.evaluation.probe.position_fit import PositionFit, fit_positions
from retrivex.evaluation.probe.probe import ProbeResult, probe

__all__ = ["PositionFit", "ProbeResult", "fit_positions", "probe"]
