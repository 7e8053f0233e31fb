# SPDX-License-Identifier: MIT
"""Reads scanned digits with a convolutional network, in PyTorch."""

import torch
from images_data import BATCH, EPOCHS, x_test, x_train, y_test, y_train
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(128, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
train = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
loader = DataLoader(train, batch_size=BATCH, shuffle=True)

for _ in range(EPOCHS):
    for image, label in loader:
        optimizer.zero_grad()
        loss = criterion(model(image), label)
        loss.backward()
        optimizer.step()

model.eval()
with torch.no_grad():
    predicted = model(torch.from_numpy(x_test)).argmax(dim=1)
print((predicted == torch.from_numpy(y_test)).float().mean().item())
