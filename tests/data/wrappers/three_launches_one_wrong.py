# AOT ID: ['0_inference']
import torch
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()


triton_poi_fused_double_0 = async_compile.triton('triton_poi_fused_double_0', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 128},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={'grid_type': 'Grid1D'}
)
@triton.jit
def triton_poi_fused_double_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = 2.0
    tmp2 = tmp0 * tmp1
    tl.store(out_ptr0 + (x0), tmp2, xmask)
''', device_str='cuda')


# Topologically Sorted Source Nodes: [shift], Original ATen: [aten.slice]
# Source node to ATen node mapping:
#   shift => slice_1
triton_poi_fused_shift_1 = async_compile.triton('triton_poi_fused_shift_1', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 128},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={'grid_type': 'Grid1D'}
)
@triton.jit
def triton_poi_fused_shift_1(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0 + 1), xmask)
    tmp1 = 2.0
    tmp2 = tmp0 * tmp1
    tl.store(out_ptr0 + (x0), tmp2, xmask)
''', device_str='cuda')


def call(args):
    arg0_1, = args
    args.clear()
    assert_size_stride(arg0_1, (90, ), (1, ))
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        stream0 = get_raw_stream(0)
        buf0 = empty_strided_cuda((90, ), (1, ), torch.float32)
        triton_poi_fused_double_0.run(arg0_1, buf0, 90, stream=stream0)
        del arg0_1
        buf1 = empty_strided_cuda((90, ), (1, ), torch.float32)
        triton_poi_fused_shift_1.run(buf0, buf1, 90, stream=stream0)
        buf2 = buf0; del buf0  # reuse
        triton_poi_fused_double_0.run(buf1, buf2, 90, stream=stream0)
        del buf1
    return (buf2, )


def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = rand_strided((90, ), (1, ), device='cuda:0', dtype=torch.float32)
    return [arg0_1]
