# Two ordinary models around a failure, so that its graph has the size of a real one, and the
# program that records them. Every NAME.py of this folder is one failure.
import argparse
import os
import sys

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "record"))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.feed(self.norms[1](x))


class Transformer(nn.Module):
    """Layers, then `middle`, which returns what the head reads, then a head."""

    def __init__(self, middle, features, width=32, layers=3):
        super().__init__()
        self.before = nn.Sequential(*(Layer(width, 4) for _ in range(layers)))
        self.middle = middle
        self.head = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, 10))

    def forward(self, x, *more):
        return self.head(self.middle(self.before(x), *more)).softmax(-1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(2))

    def forward(self, x):
        y = self.norms[0](self.convs[0](x)).relu()
        return (x + self.norms[1](self.convs[1](y))).relu()


class ResidualNet(nn.Module):
    """Residual blocks, then `middle`, which returns (batch, features), then a head."""

    def __init__(self, middle, features, width=8, blocks=10):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.before = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.middle = middle
        self.head = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x, *more):
        return self.head(self.middle(self.before(self.stem(x)), *more)).softmax(-1)


def main(build):
    """`build` returns (model, inputs): records the graph, or runs it under torch.compile."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", help="where graph0_inf.json goes")
    parser.add_argument("--compile", action="store_true", help="only run it with Inductor")
    given = parser.parse_args()
    if not given.compile and given.folder is None:
        parser.error("needs a folder, or --compile")
    torch.manual_seed(0)
    model, inputs = build()
    model.eval()
    with torch.no_grad():
        if given.compile:
            expected, got = model(*inputs), torch.compile(model)(*inputs)
            print(f"largest difference {float((expected - got).abs().max()):.3g}, "
                  f"strides {expected.stride()} and {got.stride()}")
            return
        import assay_record
        torch.compile(model, backend=assay_record.backend(given.folder, decompose=False))(*inputs)
    print(os.path.join(given.folder, "graph0_inf.json"))
