# A pad that shrinks, behind a normalisation (PyTorch issue 195582).
# torch 2.11.0, CPU: no error; see README.md for the numeric class that the worker tells.
import torch
from torch import nn

import models


class ShrinkFlat(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 50, 2)
        self.norm = nn.BatchNorm2d(50)

    def forward(self, x):
        y = self.norm(self.conv(x[:, :, :4, :4]))
        y = y.view(y.shape[0], -1)
        return torch.nn.functional.pad(y, (0, 50 - y.shape[-1]))


def build():
    return models.ResidualNet(ShrinkFlat(), 50), (torch.randn(3, 3, 12, 12),)


if __name__ == "__main__":
    models.main(build)
