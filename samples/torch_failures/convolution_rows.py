# Rows picked out of a convolution's result (PyTorch issue 193581).
# torch 2.11.0, CPU: InductorError: CppCompileError, a variable is used that is not declared.
import torch
from torch import nn

import models


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 2, (1, 6), padding=2)

    def forward(self, x, rows):
        return torch.index_select(self.conv(x[:, :, :5, :6]), 2, rows).flatten(1)


def build():
    rows = torch.tensor([3, 4, 6, 8])
    return models.ResidualNet(Rows(), 40), (torch.randn(1, 3, 12, 12), rows)


if __name__ == "__main__":
    models.main(build)
