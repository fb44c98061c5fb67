# As PyTorch 2.0 and 2.1 wrote wrappers: heuristics without module, `meta`, pointers as c_void_p.
from ctypes import c_void_p, c_long
import torch
from torch import empty_strided, device
from torch._inductor.codecache import AsyncCompile

assert_size_stride = torch._C._dynamo.guards.assert_size_stride
async_compile = AsyncCompile()

triton_poi_fused_mul_0 = async_compile.triton('triton_', '''
import triton
import triton.language as tl
from torch._inductor.triton_heuristics import pointwise
from torch._inductor.utils import instance_descriptor

@pointwise(size_hints=[128], filename=__file__, meta={'signature': {0: '*fp32', 1: '*fp32', 2: 'i32'}, 'device': 0, 'constants': {}, 'mutated_arg_names': [], 'configs': [instance_descriptor(divisible_by_16=(0, 1), equal_to_1=())]})
@triton.jit
def triton_(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 100
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = 2.0
    tmp2 = tmp0 * tmp1
    tl.store(out_ptr0 + (x0), tmp2, xmask)
''')

cpp_fused_neg_1 = async_compile.cpp('''
extern "C" void kernel(const float* in_ptr0,
                       float* out_ptr0,
                       const long ks0)
{
    {
        for(long i0=static_cast<long>(0L); i0<static_cast<long>(ks0); i0+=static_cast<long>(1L))
        {
            auto tmp0 = in_ptr0[static_cast<long>(i0)];
            auto tmp1 = decltype(tmp0)(-tmp0);
            out_ptr0[static_cast<long>(i0)] = tmp1;
        }
    }
}
''')

async_compile.wait(globals())
del async_compile

def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    assert_size_stride(arg0_1, (100, ), (1, ))
    assert_size_stride(arg1_1, (32, ), (1, ))
    with torch.cuda._DeviceGuard(0):
        buf0 = empty_strided((100, ), (1, ), device='cuda', dtype=torch.float32)
        stream0 = get_cuda_stream(0)
        triton_poi_fused_mul_0.run(arg0_1, buf0, 100, grid=grid(100), stream=stream0)
        del arg0_1
    buf1 = empty_strided((32, ), (1, ), device='cpu', dtype=torch.float32)
    cpp_fused_neg_1(c_void_p(arg1_1.data_ptr()), c_void_p(buf1.data_ptr()), c_long(32))
    del arg1_1
    return (buf0, buf1, )
