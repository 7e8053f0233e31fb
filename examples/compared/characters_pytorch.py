# SPDX-License-Identifier: MIT
"""Predicts the next character of Python's manual with an LSTM, in PyTorch."""

import torch
from characters_data import (
    BATCH,
    CHARACTERS,
    EPOCHS,
    x_test,
    x_train,
    y_test,
    y_train,
)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Writer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, 32)
        self.lstm = nn.LSTM(32, 128, batch_first=True)
        self.scores = nn.Linear(128, CHARACTERS)

    def forward(self, now: torch.Tensor) -> torch.Tensor:
        h, _ = self.lstm(self.embedding(now))
        return self.scores(h).transpose(1, 2)


torch.manual_seed(0)
model = Writer()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
train = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
loader = DataLoader(train, batch_size=BATCH, shuffle=True)

for _ in range(EPOCHS):
    for now, following in loader:
        optimizer.zero_grad()
        loss = criterion(model(now), following)
        loss.backward()
        optimizer.step()

with torch.no_grad():
    scores = model(torch.from_numpy(x_test))
print(criterion(scores, torch.from_numpy(y_test)).item())
