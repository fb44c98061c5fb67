# Replication padding of channels-last features whose result is returned.
# torch 2.11.0, CPU: no error, other strides than eager: contiguous instead of channels-last.
import torch
from torch import nn

import models


class Border(nn.Module):
    """The residual network without its head: a feature map with its border repeated."""

    def __init__(self):
        super().__init__()
        net = models.ResidualNet(nn.Identity(), 8)
        self.body = nn.Sequential(net.stem, net.before)

    def forward(self, x):
        return torch.nn.functional.pad(self.body(x), (1, 1, 1, 1), mode="replicate").relu()


def build():
    image = torch.randn(2, 3, 12, 12).to(memory_format=torch.channels_last)
    return Border().to(memory_format=torch.channels_last), (image,)


if __name__ == "__main__":
    models.main(build)
