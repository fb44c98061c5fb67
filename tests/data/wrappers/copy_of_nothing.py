# AOT ID: ['0_inference']
import torch
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()


triton_poi_fused_clone_0 = async_compile.triton('triton_poi_fused_clone_0', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 128},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={'grid_type': 'Grid1D'}
)
@triton.jit
def triton_poi_fused_clone_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tl.store(out_ptr0 + (x0), tmp0, xmask)
''', device_str='cuda')


triton_poi_fused_mul_1 = async_compile.triton('triton_poi_fused_mul_1', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 128},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'out_ptr0': '*fp32', 'ks0': 'i64', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={'grid_type': 'Grid1D'}
)
@triton.jit
def triton_poi_fused_mul_1(in_ptr0, in_ptr1, out_ptr0, ks0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x2 = xindex
    x1 = xindex // ks0
    tmp0 = tl.load(in_ptr0 + (x2), xmask)
    tmp1 = tl.load(in_ptr1 + (x1), xmask, eviction_policy='evict_last')
    tmp2 = tmp0 * tmp1
    tl.store(out_ptr0 + (x2), tmp2, xmask)
''', device_str='cuda')


def call(args):
    arg0_1, arg1_1, arg2_1 = args
    args.clear()
    s0 = arg0_1
    assert_size_stride(arg1_1, (7, s0), (s0, 1))
    assert_size_stride(arg2_1, (7, ), (1, ))
    with torch.cuda._DeviceGuard(0):
        buf0 = empty_strided_cuda((7, s0), (s0, 1), torch.float32)
        buf1 = empty_strided_cuda((7, s0), (s0, 1), torch.float32)
        triton_poi_fused_clone_0_xnumel = 7*s0
        stream0 = get_raw_stream(0)
        triton_poi_fused_clone_0.run(buf0, buf1, triton_poi_fused_clone_0_xnumel, stream=stream0)
        buf2 = empty_strided_cuda((7, s0), (s0, 1), torch.float32)
        triton_poi_fused_mul_1_xnumel = 7*s0
        triton_poi_fused_mul_1.run(buf1, arg2_1, buf2, s0, triton_poi_fused_mul_1_xnumel, stream=stream0)
        del arg1_1
        del arg2_1
    return (buf2, )


def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = 9
    arg1_1 = rand_strided((7, 9), (9, 1), device='cuda:0', dtype=torch.float32)
    arg2_1 = rand_strided((7, ), (1, ), device='cuda:0', dtype=torch.float32)
    return [arg0_1, arg1_1, arg2_1]
