"""Noise whose steps are alike: coloured noise, by the length of its waves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def coloured(
    rng: np.random.Generator, number: int, length: int, coordinates: int, beta: float
) -> NDArray[np.float64]:
    """Gaussian noise of power 1/f^β along the steps, [number, length, coordinates].

    Each entry has mean 0 and variance 1. White noise (β = 0) is independent from step to step; the
    larger β, the slower it changes. Frequencies are those of the discrete Fourier transform, and
    the constant one counts as one wave in all steps (after Timmer and König, 1995).

    >>> coloured(np.random.default_rng(0), 2, 5, 1, beta=2.0).shape
    (2, 5, 1)
    """
    if beta == 0.0:
        return rng.standard_normal((number, length, coordinates))
    frequencies = np.fft.rfftfreq(length)
    frequencies[0] = 1.0 / length
    scale = frequencies ** (-beta / 2.0)
    parts = rng.standard_normal((2, number, coordinates, len(scale)))
    waves = parts[0] + 1j * parts[1]
    times = np.full(len(scale), 2.0)  # how often a frequency is in the full transform
    alone = [0, -1] if length % 2 == 0 else [0]  # those without a conjugate are real
    times[alone] = 1.0
    waves[..., alone] = np.sqrt(2.0) * waves[..., alone].real
    deviation = np.sqrt(2.0 * np.sum(times * scale**2)) / length
    noise = np.fft.irfft(waves * scale, n=length, axis=-1) / deviation
    return np.ascontiguousarray(noise.swapaxes(1, 2))
