//===- ReadBandwidth.cpp --------------------------------------------------===//

#include "runtime/Device/Cuda/ReadBandwidth.h"

#include "runtime/Device/Cuda/CudaStream.h"

#include <algorithm>

using namespace weft::rt;
using namespace weft::rt::cuda;

/// Every thread reads 16 bytes four times, `step` apart, until the end; `count`
/// is in 16-byte words and a multiple of 4 x `step`. The words are combined,
/// and a result that cannot be is stored, so that no load can be left out.
static constexpr const char *readKernel = R"(
.version 7.0
.target sm_80
.address_size 64

.visible .entry weft_read(.param .u64 data, .param .u64 count, .param .u64 step)
.maxntid 512, 1, 1
{
  .reg .pred %p;
  .reg .b32 %t, %b, %n, %a<4>, %w<16>;
  .reg .b64 %data, %count, %step, %stride, %i, %p0, %p1, %p2, %p3;

  ld.param.u64 %data, [data];
  ld.param.u64 %count, [count];
  ld.param.u64 %step, [step];
  cvta.to.global.u64 %data, %data;
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %t, %b, %n, %t;
  cvt.u64.u32 %i, %t;
  shl.b64 %stride, %step, 4;
  mov.b32 %a0, 0;
  mov.b32 %a1, 0;
  mov.b32 %a2, 0;
  mov.b32 %a3, 0;
LOOP:
  shl.b64 %p0, %i, 4;
  add.u64 %p0, %data, %p0;
  add.u64 %p1, %p0, %stride;
  add.u64 %p2, %p1, %stride;
  add.u64 %p3, %p2, %stride;
  ld.global.nc.v4.u32 {%w0, %w1, %w2, %w3}, [%p0];
  ld.global.nc.v4.u32 {%w4, %w5, %w6, %w7}, [%p1];
  ld.global.nc.v4.u32 {%w8, %w9, %w10, %w11}, [%p2];
  ld.global.nc.v4.u32 {%w12, %w13, %w14, %w15}, [%p3];
  or.b32 %w0, %w0, %w4;
  or.b32 %w1, %w1, %w5;
  or.b32 %w2, %w2, %w6;
  or.b32 %w3, %w3, %w7;
  or.b32 %w8, %w8, %w12;
  or.b32 %w9, %w9, %w13;
  or.b32 %w10, %w10, %w14;
  or.b32 %w11, %w11, %w15;
  or.b32 %w0, %w0, %w8;
  or.b32 %w1, %w1, %w9;
  or.b32 %w2, %w2, %w10;
  or.b32 %w3, %w3, %w11;
  or.b32 %a0, %a0, %w0;
  or.b32 %a1, %a1, %w1;
  or.b32 %a2, %a2, %w2;
  or.b32 %a3, %a3, %w3;
  shl.b64 %p0, %step, 2;
  add.u64 %i, %i, %p0;
  setp.lt.u64 %p, %i, %count;
  @%p bra LOOP;
  or.b32 %a0, %a0, %a1;
  or.b32 %a2, %a2, %a3;
  or.b32 %a0, %a0, %a2;
  setp.eq.u32 %p, %a0, 1;
  @%p st.global.u32 [%data], %a0;
  ret;
}
)";

namespace {

/// The loaded kernel.
struct Reader {
  std::shared_ptr<CudaContext> context;
  Module module = nullptr;
  Function function = nullptr;

  ~Reader() {
    if (module && context->activate())
      context->getApi().moduleUnload(module);
  }

  Status load() {
    if (Status status = context->activate(); !status)
      return status;
    const Api &api = context->getApi();
    const cuda::Code code = api.moduleLoadData(&module, readKernel);
    if (Status status = context->check(
            code, "compiling the kernel that measures bandwidth");
        !status)
      return Status::unsupported(status.getMessage());
    return context->check(api.moduleGetFunction(&function, module, "weft_read"),
                          "finding the kernel that measures bandwidth");
  }
};

} // namespace

Result<double>
weft::rt::cuda::measureReadBandwidth(std::shared_ptr<CudaContext> context,
                                     Device &device, size_t bytes) {
  Reader reader{context};
  if (Status status = reader.load(); !status)
    return status;
  Result<std::unique_ptr<CudaStream>> stream = CudaStream::create(context);
  if (!stream)
    return stream.getStatus();

  constexpr unsigned threads = 512, blocksPerMultiprocessor = 4;
  constexpr uint64_t wordBytes = 16, wordsPerTurn = 4;
  uint64_t blocks =
      uint64_t(context->getFacts().multiprocessors) * blocksPerMultiprocessor;
  const uint64_t turnBytes = blocks * threads * wordBytes * wordsPerTurn;
  const uint64_t turns = std::max<uint64_t>(bytes / turnBytes, 1);
  uint64_t step = blocks * threads, count = turns * wordsPerTurn * step;
  Result<DeviceMemory> memory =
      device.allocate(count * wordBytes, "measuring bandwidth");
  if (!memory)
    return memory.getStatus();

  void *data = memory->getData();
  // Not zeros: the same bits everywhere take less power than a model's.
  if (Status status = (*stream)->fill(data, 0x5A, memory->getSize()); !status)
    return status;
  void *parameters[] = {&data, &count, &step};
  const LaunchConfig config = {
      unsigned(blocks),       1,       1, threads, 1, 1, 0,
      (*stream)->getHandle(), nullptr, 0};
  int64_t best = INT64_MAX;
  for (int pass = 0; pass < 8; ++pass) {
    Status status = (*stream)->markTime(0);
    if (status)
      status =
          context->check(context->getApi().launchKernelEx(
                             &config, reader.function, parameters, nullptr),
                         "the kernel that measures bandwidth");
    if (status)
      status = (*stream)->markTime(1);
    if (status)
      status = (*stream)->synchronize();
    if (!status)
      return status;
    Result<int64_t> begin = (*stream)->getTime(0), end = (*stream)->getTime(1);
    if (!begin || !end)
      return begin ? end.getStatus() : begin.getStatus();
    best = std::min(best, std::max<int64_t>(*end - *begin, 1));
  }
  return double(count * wordBytes) / (double(best) * 1e-9);
}
