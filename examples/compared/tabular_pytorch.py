# SPDX-License-Identifier: MIT
"""Tells benign tumours from others, in PyTorch."""

import torch
from tabular_data import BATCH, EPOCHS, x_test, x_train, y_test, y_train
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(30, 64),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(64, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
loader = DataLoader(train, batch_size=BATCH, shuffle=True)

for _ in range(EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

model.eval()
with torch.no_grad():
    predicted = model(torch.from_numpy(x_test)).argmax(dim=1)
print((predicted == torch.from_numpy(y_test)).float().mean().item())
