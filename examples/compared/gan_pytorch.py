# SPDX-License-Identifier: MIT
"""A generator of scanned digits and its judge, in PyTorch."""

import torch
from gan_data import BATCH, EPOCHS, NOISE, RATE, energy_distance, images
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

torch.manual_seed(0)
generator = nn.Sequential(
    nn.Linear(NOISE, 128), nn.ReLU(), nn.Linear(128, 64), nn.Sigmoid()
)
judge = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
making = torch.optim.Adam(generator.parameters(), lr=RATE, betas=(0.5, 0.999))
judging = torch.optim.Adam(judge.parameters(), lr=RATE, betas=(0.5, 0.999))
loader = DataLoader(torch.from_numpy(images), batch_size=BATCH, shuffle=True)

for _ in range(EPOCHS):
    for x in loader:
        made = generator(torch.randn(len(x), NOISE)).detach()
        loss = (F.relu(1 - judge(x)) + F.relu(1 + judge(made))).mean()
        judging.zero_grad()
        loss.backward()
        judging.step()

        loss = -judge(generator(torch.randn(len(x), NOISE))).mean()
        making.zero_grad()
        loss.backward()
        making.step()

with torch.no_grad():
    made = generator(torch.randn(len(images), NOISE))
print(energy_distance(made.numpy()))
