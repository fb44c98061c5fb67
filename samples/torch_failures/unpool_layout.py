# Unpooling of channels-last features whose result is returned.
# torch 2.11.0, CPU: no error, other strides than eager: contiguous instead of channels-last.
import torch
from torch import nn

import models


class Segment(nn.Module):
    """Residual blocks between a pooling and the unpooling that puts values back in place."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.Sequential(*(models.Block(8) for _ in range(10)))

    def forward(self, x):
        pooled, places = nn.functional.max_pool2d(self.stem(x), 2, return_indices=True)
        return nn.functional.max_unpool2d(self.blocks(pooled), places, 2) * 2


def build():
    image = torch.randn(2, 3, 12, 12).to(memory_format=torch.channels_last)
    return Segment().to(memory_format=torch.channels_last), (image,)


if __name__ == "__main__":
    models.main(build)
