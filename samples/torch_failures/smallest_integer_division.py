# The smallest 32-bit integer divided by -1, rounding down (PyTorch issue 184406).
# torch 2.11.0, CPU: the compiled program dies of SIGFPE; eager wraps around.
import torch
from torch import nn

import models


class Buckets(nn.Module):
    """Distances to buckets of a given, possibly negative, width."""

    def forward(self, x, distance, step):
        bucket = torch.div(distance, step, rounding_mode="floor").clamp(-8, 8)
        return x.mean(1) + bucket.float()


def build():
    distance = torch.arange(64, dtype=torch.int32).view(2, 32) - 20
    distance[0, 3] = torch.iinfo(torch.int32).min  # "no distance"
    step = torch.full((2, 32), -1, dtype=torch.int32)
    return models.Transformer(Buckets(), 32), (torch.randn(2, 10, 32), distance, step)


if __name__ == "__main__":
    models.main(build)
