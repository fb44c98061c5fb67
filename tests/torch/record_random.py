#!/usr/bin/env python3
"""Records what PyTorch's random operators draw for a seed: `record_random.py DEVICE FILE.json`.

DEVICE is cpu or cuda. tests/data/random holds the files; the unit test of random streams plays them.
A case: overload, seed, arguments (a tensor is {"size", "stride"?, "dtype", "value"}, its storage filled
with one value or counting from 1), positions and values of the result, and two numbers drawn afterwards.
"""
import json
import sys

import torch

SEED = 1234
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8", "bool"]


def tensor(size, dtype, value=0.0, stride=None, offset=0):
    return {"size": size, "dtype": dtype, "value": value, "stride": stride, "offset": offset}


def build(spec, device):
    if not isinstance(spec, dict):
        return spec
    stride = spec["stride"] or list(torch.empty(spec["size"], device="meta").stride())
    extent = spec["offset"] + 1 + sum((n - 1) * s for n, s in zip(spec["size"], stride))
    if spec["value"] == "count":
        base = torch.arange(1, extent + 1).to(getattr(torch, spec["dtype"]))
    else:
        base = torch.full((extent,), spec["value"], dtype=getattr(torch, spec["dtype"]))
    return base.to(device).as_strided(spec["size"], stride, spec["offset"])


def calls(cuda):
    sizes = [3, 257, 1024, 1500, 5000, 2000003] if cuda else [3, 15, 16, 17, 35, 1000]
    for d in FLOATS:
        for n in sizes:
            yield "uniform_", [tensor([n], d), -1.0, 2.0]
            yield "normal_", [tensor([n], d), 0.5, 2.0]
            yield "bernoulli_.float", [tensor([n], d), 0.3]
            yield "native_dropout", [tensor([n], d, 1.0), 0.3, True]
            yield "random_.to", [tensor([n], d), 100]
        turned, part = [4, 5], [1, 4]
        yield "uniform_", [tensor([40, 50], d, stride=[1, 40])]
        yield "uniform_", [tensor([40, 30], d, stride=[50, 1], offset=3)]
        yield "normal_", [tensor(turned, d, stride=part), 0.5, 2.0]
        yield "normal_", [tensor([40, 30], d, stride=[50, 1], offset=3)]
        yield "native_dropout", [tensor([40, 50], d, 1.0, stride=[1, 40]), 0.3, True]
        yield "native_dropout", [tensor([40, 30], d, 1.0, stride=[50, 1], offset=3), 0.3, True]
        yield "native_dropout", [tensor([5000], d, 1.0, offset=1), 0.3, True]
        yield "dropout", [tensor([300], d, 1.0), 0.3, True]
        yield "bernoulli_.float", [tensor([300], d), 1.0]
        for n in [20, 3000]:
            yield "exponential_", [tensor([n], d), 1.5]
            yield "cauchy_", [tensor([n], d), 1.0, 2.0]
            yield "log_normal_", [tensor([n], d), 1.0, 0.5]
            yield "geometric_", [tensor([n], d), 0.3]
            yield "random_", [tensor([n], d)]
            yield "bernoulli_.Tensor", [tensor([n], d), tensor([n], "float32", 0.3)]
            yield "bernoulli_.Tensor", [tensor([n], d), tensor([n], "float64", 0.3)]
            yield "bernoulli_.Tensor", [tensor([n], d), tensor([], "float32", 0.6)]
            yield "bernoulli", [tensor([n], d, 0.3)]
            yield "bernoulli.p", [tensor([n], d, 0.3), 0.6]
            yield "rrelu_with_noise", [tensor([n], d, -1.0), tensor([n], d), 0.1, 0.4, True]
        if d in ("float32", "float64"):
            for count, again in [(4, False), (1, False), (9, True), (1, True)]:
                yield "multinomial", [tensor([3, 6], d, "count"), count, again]
            yield "normal.Tensor_float", [tensor([20], d, "count"), 2.0]
            yield "normal.float_Tensor", [2.0, tensor([20], d, "count")]
            yield "normal.Tensor_Tensor", [tensor([20], d, "count"), tensor([20], d, "count")]
            if not cuda:
                yield "poisson", [tensor([40], d, "count")]
                for shape in [0.3, 1.0, 2.5, "count"]:
                    yield "_standard_gamma", [tensor([20], d, shape)]
                    yield "_sample_dirichlet", [tensor([4, 5], d, shape)]
                for count, chance in [(0.0, 0.5), (7.0, 0.3), (7.0, 0.8), (50.0, 0.4), (300.0, 0.9), ("count", 0.5)]:
                    yield "binomial", [tensor([40], d, count), tensor([40], d, chance)]
                yield "_standard_gamma", [tensor([4, 5], d, "count", stride=[1, 4])]
                yield "randint_like.Tensor", [tensor([20], d), tensor([], "int64", 100)]
    for d in INTEGERS:
        for n in [20, 3000]:
            yield "random_", [tensor([n], d)]
            yield "random_.to", [tensor([n], d), 1 if d == "bool" else 100]
            yield "bernoulli_.float", [tensor([n], d), 0.3]
            if d != "bool":
                yield "geometric_", [tensor([n], d), 0.3]
    for low, high in [(0, 1 << 28), (0, (1 << 28) - 1), (0, 1 << 32), (0, (1 << 32) - 1), (-50, 1 << 40),
                      (-2**63, 2**63 - 1), (-2**63, None), (-3, 3)]:
        yield "random_.from", [tensor([3000], "int64"), low, high]
    for n in [0, 1, 2, 20, 1000]:
        yield "randperm", [n]
    yield "rand", [[7, 3]]
    yield "randn", [[7, 3]]
    yield "randint", [10, [7, 3]]
    yield "randint.low", [-5, 10, [7, 3]]
    yield "rand_like", [tensor([4, 5], "float32", stride=[1, 4])]
    yield "randn_like", [tensor([4, 5], "float32", stride=[1, 4])]


def sampled(count):
    if count <= 24:
        return list(range(count))
    picked = {0, 1, 2, 3, 4, 5, 255, 256, 257, 1023, 1024, count // 3, count // 2, count - 2, count - 1}
    return sorted(i for i in picked | {k * 65537 % count for k in range(8)} if i < count)


def record(name, arguments, device):
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
    built = [build(a, device) for a in arguments]
    torch.manual_seed(SEED)
    makes = {"rand", "randn", "randint", "randperm"}
    result = operator(*built, **({"device": device} if packet in makes else {}))
    after = torch.rand(2, device=device)
    first = result[0] if isinstance(result, tuple) else result
    at = sampled(first.numel())
    values = first.flatten()[torch.tensor(at, dtype=torch.int64, device=device)]
    exact = values.double() if values.is_floating_point() else values.long()
    return {"op": f"aten.{packet}.{overload or 'default'}", "args": arguments, "at": at,
            "values": exact.tolist(), "after": after.double().tolist()}


def main():
    device, path = sys.argv[1:]
    environment = {"torch": torch.__version__, "device": device}
    if device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        environment.update(name=properties.name, multiprocessors=properties.multi_processor_count,
                           threads=properties.max_threads_per_multi_processor)
    with open(path, "w") as f:
        json.dump({**environment, "seed": SEED}, f)
        for name, arguments in calls(device == "cuda"):
            try:
                case = record(name, arguments, device)
            except NotImplementedError:  # not for this dtype
                continue
            f.write("\n")
            json.dump(case, f)
        f.write("\n")


if __name__ == "__main__":
    main()
