# SPDX-License-Identifier: MIT
"""Reads lines of digits with CTC, in PyTorch."""

import torch
from reader_data import (
    BATCH,
    CLASSES,
    DIGITS,
    EPOCHS,
    STEPS,
    share_read,
    x_test,
    x_train,
    y_test,
    y_train,
)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv1d(8, 64, 5, padding=2),
    nn.ReLU(),
    nn.Conv1d(64, 64, 5, padding=2),
    nn.ReLU(),
    nn.Conv1d(64, CLASSES, 5, padding=2),
    nn.LogSoftmax(dim=1),
)
criterion = nn.CTCLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
train = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
loader = DataLoader(train, batch_size=BATCH, shuffle=True)

for _ in range(EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        steps = torch.full((len(x),), STEPS)
        digits = torch.full((len(x),), DIGITS)
        scores = model(x.transpose(1, 2)).permute(2, 0, 1)
        loss = criterion(scores, y, steps, digits)
        loss.backward()
        optimizer.step()

with torch.no_grad():
    scores = model(torch.from_numpy(x_test).transpose(1, 2)).transpose(1, 2)
print(share_read(scores.numpy(), y_test))
