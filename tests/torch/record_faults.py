#!/usr/bin/env python3
"""Small parts of real models for the faults of which the reference corpus holds few: `record_faults.py [FOLDER]`.

FOLDER, tests/data/faults without it, gets one folder for each, with its graphs as samples/record/assay_record.py
writes them, without values. Each class is named for the fault that it has something for. Recorded with PyTorch 2.15.
"""
import pathlib
import shutil
import sys

import torch
from torch import nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "samples" / "record"))
import assay_record  # noqa: E402


# ---- negative pads ------------------------------------------------------------------------------

class PadUNetCrop(nn.Module):
    """Unpadded U-Net: what skips a level is cropped to the size of what comes back up."""
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 4, 3), nn.Conv2d(8, 2, 3)

    def forward(self, x):
        skipped = F.relu(self.down(x))
        inner = F.interpolate(F.max_pool2d(skipped, 2), scale_factor=2.0)[:, :, 2:-2, 2:-2]
        return self.up(torch.cat([F.pad(skipped, (-2, -2, -2, -2)), inner], 1))


class PadCausalConv(nn.Module):
    """Temporal convolutional network: padding on both sides, then the future is cut off."""
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 3, 3, padding=4, dilation=2)

    def forward(self, x):
        return F.relu(F.pad(torch.tanh(self.conv(x)), (0, -4)) + x)


class PadShiftedReduction(nn.Module):
    """A factorised reduction, as NASNet has it: one path looks one pixel further."""
    def __init__(self):
        super().__init__()
        self.shift = nn.ZeroPad2d((-1, 0, -1, 0))
        self.first, self.second = nn.Conv2d(3, 2, 1), nn.Conv2d(3, 2, 1)

    def forward(self, x):
        x = F.relu(x)
        odd = self.second(F.avg_pool2d(self.shift(x), 1, 2))
        return torch.cat([self.first(F.avg_pool2d(x, 1, 2)), odd], 1)


class PadTransposedSame(nn.Module):
    """A transposed convolution with "same" sizes, as TensorFlow has it: the border is cropped."""
    def __init__(self):
        super().__init__()
        self.conv = nn.ConvTranspose2d(3, 2, 4, stride=2)

    def forward(self, x):
        return F.pad(F.leaky_relu(self.conv(x), 0.1), (-1, -1, -1, -1)) * 2


class PadTokens(nn.Module):
    """Windows of a Swin block: tokens are padded to whole windows, mixed, and cropped again."""
    def __init__(self):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x):
        more = -x.shape[1] % 4
        padded = F.pad(self.norm(x), (0, 0, 0, more))
        return x + F.pad(F.gelu(self.mix(padded)), (0, 0, 0, -more))


class PadTrimAudio(nn.Module):
    """Vocoder: the last layer's overhang is trimmed before the output's nonlinearity."""
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose1d(2, 1, 4, stride=2)

    def forward(self, x):
        wave = torch.sin(self.up(x)) + 1
        return torch.tanh(F.pad(wave, (-1, -1)))


# ---- views that begin behind the start of their storage ------------------------------------------

class OffsetQkv(nn.Module):
    """One projection for queries, keys and values."""
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(4, 12)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


class OffsetGate(nn.Module):
    """Gated feed-forward whose halves go through layers of their own."""
    def __init__(self):
        super().__init__()
        self.both, self.left, self.right = nn.Linear(4, 8), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        a, b = self.both(x).split(4, -1)
        return self.left(a) * torch.sigmoid(self.right(b))


class OffsetRollingBuffer(nn.Module):
    """Streaming convolution: the newest frames are what the next call starts with."""
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 2, 3)

    def forward(self, state, x):
        frames = torch.cat([state, torch.tanh(x)], -1)
        return self.conv(frames), frames[:, :, -2:]


class OffsetExperts(nn.Module):
    """Stacked weights of experts, one slice a matrix product."""
    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(3, 4, 4))

    def forward(self, x):
        x = F.relu(x)
        return sum(x @ self.weights[i] for i in range(3))


class OffsetLastToken(nn.Module):
    """The classifier reads the class token, the decoder all others."""
    def __init__(self):
        super().__init__()
        self.norm, self.head, self.decoder = nn.LayerNorm(4), nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, x):
        x = self.norm(x)
        return self.head(x[:, -1]), self.decoder(x[0, 1:])


class OffsetGru(nn.Module):
    """Gates of a recurrent cell from one product, the candidate from another."""
    def __init__(self):
        super().__init__()
        self.gates, self.candidate = nn.Linear(8, 8), nn.Linear(4, 4)

    def forward(self, x, h):
        r, z = torch.sigmoid(self.gates(torch.cat([x, h], 1))).chunk(2, 1)
        n = torch.tanh(x + r * self.candidate(h))
        return (1 - z) * n + self.candidate(z)


# ---- equal results that must not share memory ----------------------------------------------------

class CopiesStates(nn.Module):
    """A fresh state of a recurrent network: two tensors of zeros."""
    def forward(self, x):
        return torch.tanh(x), x.new_zeros(x.shape[0], 4), x.new_zeros(x.shape[0], 4)


class CopiesTarget(nn.Module):
    """Double Q-learning: the target network begins as a copy."""
    def forward(self, weight):
        return weight.clone(), weight.clone()


class CopiesCache(nn.Module):
    """Empty caches of keys and values, filled by later calls."""
    def forward(self, x):
        k = torch.zeros(x.shape[0], 2, 8, 4)
        v = torch.zeros(x.shape[0], 2, 8, 4)
        return k, v, x.mean(-1)


class CopiesBeams(nn.Module):
    """Beam search: each hypothesis has its own copy of the encoder's states."""
    def forward(self, x):
        states = F.layer_norm(x, (4,))
        return states, states.clone()


class CopiesMoments(nn.Module):
    """Adam's two moments of a parameter."""
    def forward(self, weight, gradient):
        first, second = torch.zeros_like(weight), torch.zeros_like(weight)
        return weight - 0.1 * gradient, first, second


class CopiesSnapshot(nn.Module):
    """What is kept of a buffer before it is updated in place."""
    def forward(self, average, x):
        before = average.clone()
        average.mul_(0.9).add_(x, alpha=0.1)
        return before


# ---- inputs that are written ---------------------------------------------------------------------

class WritesBatchNorm(nn.Module):
    """Running statistics of a batch norm in training."""
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x):
        return F.relu(self.norm(x))


class WritesKvCache(nn.Module):
    """Static cache: the new keys go to their position."""
    def forward(self, cache, keys, at):
        cache.index_copy_(1, at, keys)
        return cache.sum(-1)


class WritesAverage(nn.Module):
    """Exponential average of weights."""
    def forward(self, average, weight):
        average.lerp_(weight, 0.1)
        return weight * 2


class WritesMomentum(nn.Module):
    """A step of SGD with momentum."""
    def forward(self, weight, gradient, momentum):
        momentum.mul_(0.9).add_(gradient)
        weight.sub_(0.01 * momentum)
        return gradient.abs().max()


class WritesRolling(nn.Module):
    """A window of the last frames, moved by one."""
    def forward(self, window, frame):
        window.copy_(torch.cat([window[:, 1:], frame.unsqueeze(1)], 1))
        return window.mean(1)


class WritesCodebook(nn.Module):
    """Vector quantisation: counts of codes are updated as they are used."""
    def forward(self, counts, x):
        codes = x.argmax(-1)
        counts.mul_(0.99).add_(F.one_hot(codes, 4).float().sum(0), alpha=0.01)
        return codes


MODELS = [
    (PadUNetCrop, (2, 3, 14, 14)), (PadCausalConv, (2, 3, 9)), (PadShiftedReduction, (2, 3, 8, 8)),
    (PadTransposedSame, (2, 3, 5, 5)), (PadTokens, (2, 5, 4)), (PadTrimAudio, (2, 2, 6)),
    (OffsetQkv, (2, 5, 4)), (OffsetGate, (3, 4)), (OffsetRollingBuffer, (2, 2, 2), (2, 2, 5)),
    (OffsetExperts, (3, 4)), (OffsetLastToken, (2, 5, 4)), (OffsetGru, (3, 4), (3, 4)),
    (CopiesStates, (3, 4)), (CopiesTarget, (3, 4)), (CopiesCache, (3, 4)), (CopiesBeams, (3, 4)),
    (CopiesMoments, (3, 4), (3, 4)), (CopiesSnapshot, (3, 4), (3, 4)),
    (WritesBatchNorm, (2, 3, 4, 4)), (WritesKvCache, (2, 6, 4), (2, 2, 4), [1, 3]),
    (WritesAverage, (3, 4), (3, 4)), (WritesMomentum, (3, 4), (3, 4), (3, 4)),
    (WritesRolling, (2, 4, 3), (2, 3)), (WritesCodebook, (4,), (5, 4)),
]


def folder_name(model):
    return "".join("_" + c.lower() if c.isupper() else c for c in model.__name__)[1:]


def record(folder, model, shapes):
    torch._dynamo.reset()
    torch.manual_seed(0)
    target = folder / folder_name(model)
    shutil.rmtree(target, ignore_errors=True)
    inputs = [torch.tensor(one) if isinstance(one, list) else torch.randn(one) for one in shapes]
    backend = assay_record.backend(str(target), values=False, real=False, writes=True)
    compiled = torch.compile(model(), dynamic=True, backend=backend)
    with torch.no_grad():
        compiled(*inputs)


def main(folder):
    for model, *shapes in MODELS:
        record(folder, model, shapes)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests" / "data" / "faults")
