# Doubles five numbers and asserts what comes of it, as `assay minify --oracle stage` writes it.
import torch
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()


triton_poi_fused_mul_0 = async_compile.triton('triton_poi_fused_mul_0', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 8},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={'grid_type': 'Grid1D'}
)
@triton.jit
def triton_poi_fused_mul_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = tmp0 + tmp0
    tl.store(out_ptr0 + (x0), tmp1, xmask)
''', device_str='cuda')


def call(args):
    arg0_1, = args
    args.clear()
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        buf0 = empty_strided_cuda((5, ), (1, ), torch.float32)
        stream0 = get_raw_stream(0)
        triton_poi_fused_mul_0.run(arg0_1, buf0, 5, stream=stream0)
    return (buf0, )


def recorded(sizes, strides, *, device, dtype, data):
    flat = torch.frombuffer(bytearray.fromhex(data), dtype=dtype)
    return flat.to(device).as_strided(sizes, strides)


def get_args():
    arg0_1 = recorded((5, ), (1, ), device='cuda:0', dtype=torch.float32, data='0000003f000080bf000000400000504000000000')
    return [arg0_1]


if __name__ == "__main__":
    result = call(get_args())[0]
    expected = recorded((5, 1, ), (1, 1, ), device='cuda', dtype=torch.float32, data='7e1d803f82e2ffbf5f0780405f07d040faed6b3a')
    torch.testing.assert_close(result.reshape(-1), expected.reshape(-1), rtol=0, atol=0.001, equal_nan=True)
