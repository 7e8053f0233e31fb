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
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(8, 64, batch_first=True, bidirectional=True)
        self.scores = nn.Linear(128, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        h, _ = self.gru(x)
        return self.scores(h).log_softmax(dim=2)


torch.manual_seed(0)
model = Reader()
criterion = nn.CTCLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
train = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
loader = DataLoader(train, batch_size=BATCH, shuffle=True)

for _ in range(EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        steps = torch.full((len(x),), STEPS)
        digits = torch.full((len(x),), DIGITS)
        loss = criterion(model(x).transpose(0, 1), y, steps, digits)
        loss.backward()
        optimizer.step()

with torch.no_grad():
    scores = model(torch.from_numpy(x_test))
print(share_read(scores.numpy(), y_test))
