# SPDX-License-Identifier: MIT
"""Reads five digits, then five others with a new head, in PyTorch."""

import numpy as np
import torch
from finetune_data import (
    BATCH,
    EPOCHS,
    HEAD_EPOCHS,
    x_many,
    x_test,
    x_train,
    y_many,
    y_test,
    y_train,
)
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
body = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
)
head, new_head = nn.Linear(512, 5), nn.Linear(512, 5)
criterion = nn.CrossEntropyLoss()


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    epochs: int,
) -> None:
    data = TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()


model = nn.Sequential(body, head)
fit(model, torch.optim.Adam(model.parameters(), 1e-3), x_many, y_many, EPOCHS)

body.requires_grad_(False)
model = nn.Sequential(body, new_head)
groups = [
    {"params": [new_head.weight], "weight_decay": 0.1},
    {"params": [new_head.bias], "weight_decay": 0},
]
fit(model, torch.optim.AdamW(groups, 1e-2), x_train, y_train, HEAD_EPOCHS)
with torch.no_grad():
    predicted = model(torch.from_numpy(x_test)).argmax(dim=1)
print((predicted == torch.from_numpy(y_test)).float().mean().item())
