#!/bin/sh
# Stands for a Python with PyTorch: fails while the kernel reads one element further.
grep -q "x0 + 1" "$1" || exit 0
echo "torch.AcceleratorError: CUDA error: device-side assert triggered" >&2
echo "Compile with TORCH_USE_CUDA_DSA to enable device-side assertions." >&2
exit 1
