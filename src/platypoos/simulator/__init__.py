"""The only caller of a Python model: batches of requests in, walks out."""

from platypoos.checking.watch import Watch
from platypoos.simulator.requests import IfLegal, Request, Step, Walk, fitting
from platypoos.simulator.run import Simulator

__all__ = ["IfLegal", "Request", "Simulator", "Step", "Walk", "Watch", "fitting"]
