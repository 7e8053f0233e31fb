# SPDX-License-Identifier: MIT
"""A variational autoencoder of scanned digits, in PyTorch."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from vae_data import BATCH, CODE, EPOCHS, x_test, x_train


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2 * CODE)
        )
        self.decoder = nn.Sequential(
            nn.Linear(CODE, 128), nn.ReLU(), nn.Linear(128, 64)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        return self.decoder(z), mean, log_variance


def loss_of(x: Tensor) -> Tensor:
    decoded, mean, log_variance = model(x)
    error = F.binary_cross_entropy_with_logits(decoded, x, reduction="sum")
    distance = 0.5 * (mean**2 + log_variance.exp() - log_variance - 1).sum()
    return (error + distance) / len(x)


torch.manual_seed(0)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loader = DataLoader(torch.from_numpy(x_train), batch_size=BATCH, shuffle=True)

for _ in range(EPOCHS):
    for x in loader:
        optimizer.zero_grad()
        loss_of(x).backward()
        optimizer.step()

with torch.no_grad():
    print(loss_of(torch.from_numpy(x_test)).item())
