# SPDX-License-Identifier: MIT
"""Learns to balance a pole by REINFORCE, in PyTorch."""

import numpy as np
import torch
from numpy.typing import NDArray
from pole_data import RATE, UPDATES, play
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=RATE)


@torch.no_grad()
def policy(states: NDArray[np.float32]) -> NDArray[np.float32]:
    return model(torch.from_numpy(states)).numpy()


lengths: list[float] = []
for _ in range(UPDATES):
    states, actions, advantages, length = play(policy)
    optimizer.zero_grad()
    logits = model(torch.from_numpy(states))
    losses = F.cross_entropy(logits, torch.from_numpy(actions), reduction="none")
    (losses * torch.from_numpy(advantages)).mean().backward()
    optimizer.step()
    lengths.append(length)
print(np.mean(lengths[-10:]))
