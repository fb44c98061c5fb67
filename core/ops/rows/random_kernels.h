// Kernels of the random operators: the numbers that PyTorch draws from its default generators, on
// the CPU as on CUDA. On tensors of other devices they draw as on the CPU.
#pragma once
#include "core/ops/call.h"

namespace assay {

void uniform_kernel(KernelCall& k);
void normal_kernel(KernelCall& k);
void log_normal_kernel(KernelCall& k);
void exponential_kernel(KernelCall& k);
void geometric_kernel(KernelCall& k);
void cauchy_kernel(KernelCall& k);
void bernoulli_kernel(KernelCall& k);
void poisson_kernel(KernelCall& k);
void random_integer_kernel(KernelCall& k);
void randperm_kernel(KernelCall& k);
void multinomial_kernel(KernelCall& k);
void native_dropout_kernel(KernelCall& k);
void rrelu_kernel(KernelCall& k);

}  // namespace assay
