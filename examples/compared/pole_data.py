# SPDX-License-Identifier: MIT
"""A pole on a cart, in NumPy: many at once, and the returns of their episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

POLES = 32  # episodes at once
STEPS = 100  # at most
UPDATES = 40
RATE = 1e-2

random = np.random.default_rng(0)


def step(state: Floats, action: NDArray[np.int64]) -> Floats:
    """Gym's CartPole-v1, one Euler step of 20 ms: (N, 4) and (N) to (N, 4)."""
    _, velocity, angle, speed = state.T
    push = np.where(action == 1, 10.0, -10.0)
    sine, cosine = np.sin(angle), np.cos(angle)
    force = (push + 0.05 * speed**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * force) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    shift = force - 0.05 * turn * cosine / 1.1
    change = np.stack([velocity, shift, speed, turn], axis=1)
    return (state + 0.02 * change).astype(np.float32)


def play(
    policy: Callable[[Floats], Floats],
) -> tuple[Floats, NDArray[np.int64], Floats, float]:
    """Episodes of a policy, logits (N, 2) of states (N, 4).

    Returns states (POLES * STEPS, 4), actions, advantages, which are 0 after an
    episode's end, and the mean number of steps that the poles stood.
    """
    state = random.uniform(-0.05, 0.05, (POLES, 4)).astype(np.float32)
    stands = np.ones(POLES, bool)
    states, actions, rewards = [], [], []
    for _ in range(STEPS):
        logits = policy(state)
        noise = random.gumbel(size=logits.shape)
        action = (logits + noise).argmax(axis=1)
        states.append(state)
        actions.append(action)
        rewards.append(stands)
        state = step(state, action)
        stands = stands & (abs(state[:, 0]) < 2.4) & (abs(state[:, 2]) < 0.21)
    alive = np.stack(rewards).astype(np.float32)
    discounted, returns = np.zeros(POLES, np.float32), np.empty_like(alive)
    for t in reversed(range(STEPS)):
        returns[t] = discounted = alive[t] + np.float32(0.98) * discounted
    played = alive > 0
    advantages = (returns - returns[played].mean()) / (returns[played].std() + 1e-6)
    return (
        np.concatenate(states),
        np.concatenate(actions),
        (advantages * alive).ravel().astype(np.float32),
        float(alive.sum(axis=0).mean()),
    )
