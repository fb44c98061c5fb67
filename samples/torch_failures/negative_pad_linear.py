# A pad that shrinks, in front of a linear layer (PyTorch issue 194558).
# torch 2.11.0, CPU: InductorError: LoweringException / ValueRangeError while it lowers the pad in
# place. Fails iff the pad is negative, its input is computed, and only a matrix product reads it.
import torch
from torch import nn

import models


class Shrink(nn.Module):
    def __init__(self):
        super().__init__()
        self.widen = nn.Linear(32, 40)
        self.narrow = nn.Linear(36, 24)

    def forward(self, x):
        wide = self.widen(x.mean(1)).relu()
        return self.narrow(torch.nn.functional.pad(wide, (0, -4, 0, 0)))


def build():
    return models.Transformer(Shrink(), 24), (torch.randn(2, 10, 32),)


if __name__ == "__main__":
    models.main(build)
