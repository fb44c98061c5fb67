"""Lists the operators of a PyTorch: what `assay conform --operators --schemas` holds the table against.

    python tests/torch/list_schemas.py > tests/data/schemas/pytorch.tsv

One line per overload, in order of name: the dispatcher's keys that have a kernel of its own, separated
by commas, a tab, the schema. The first line names the version. Namespaces of libraries that are not
installed are left out, operators of TorchScript (lists, strings, numbers) are no operators of the
dispatcher.
"""
import importlib
import sys

import torch

NAMESPACES = ("aten", "prims", "quantized_decomposed", "torchvision")
LIBRARIES = ("torchvision", "torch.ao.quantization.fx._decomposed")  # register at import
KEYS = ("CPU", "CUDA", "CompositeImplicitAutograd", "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional", "Meta", "SparseCPU", "SparseCUDA",
        "SparseCsrCPU", "SparseCsrCUDA", "QuantizedCPU", "QuantizedCUDA", "MkldnnCPU",
        "NestedTensorCPU", "NestedTensorCUDA", "MPS", "Vulkan", "XLA", "HPU", "XPU")


def keys_of(name):
    return [key for key in KEYS if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)]


def main():
    libraries = ["torch " + torch.__version__.split("+")[0]]
    for library in LIBRARIES:
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        if hasattr(module, "__version__"):
            libraries.append(f"{library} {module.__version__.split('+')[0]}")
    print("# " + ", ".join(libraries))
    names = sorted(name for name in torch._C._dispatch_get_all_op_names()
                   if name.split("::")[0] in NAMESPACES)
    for name in names:
        if torch._C._dispatch_has_kernel(name):
            base, _, overload = name.partition(".")
            schema = torch._C._get_schema(base, overload)
            print(",".join(keys_of(name)) + "\t" + str(schema))


if __name__ == "__main__":
    sys.exit(main())
