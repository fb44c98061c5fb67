# The minimum of bytes along an axis of 16 places or more (PyTorch issue 191499).
# torch 2.11.0, CPU: wrong values, 0 where the smallest byte is larger.
import torch
from torch import nn

import models


class Bytes(nn.Module):
    """Features quantised to bytes, centred by the smallest byte of each row."""

    def forward(self, x):
        codes = (x.mean(1).sigmoid() * 100 + 50).to(torch.uint8)
        return (codes - codes.amin(1, keepdim=True)).float() / 32


def build():
    return models.Transformer(Bytes(), 32), (torch.randn(2, 10, 32),)


if __name__ == "__main__":
    models.main(build)
