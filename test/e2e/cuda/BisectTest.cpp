//===- BisectTest.cpp - weft-bisect on plans for GPUs ---------------------===//
//
// The whole path without a GPU: the CUDA device, its memory that the host does
// not see, a driver without a GPU (FakeCuda.h) and NVRTC likewise; what a
// launch computes is done by the kernels' own text on the host
// (HostCudaDevice.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Cuda/CudaDevice.h"
#include "test/e2e/cuda/HostCudaDevice.h"
#include "test/reference/RandomCheckpoint.h"
#include "test/reference/Scratch.h"
#include "test/runtime/Device/Cuda/FakeCuda.h"
#include "test/tools/weft-bisect/CheckerFixture.h"

#include <gmock/gmock.h>

#include <algorithm>

using namespace weft;
using namespace weft::bisect;
using rt::test::FakeCuda;
using testing::HasSubstr;

namespace {

class CudaBisectTest : public CheckerFixture {
protected:
  CudaBisectTest() : scratch("cuda-bisect") {}

  /// A model whose weights lie in core matrices and activations in panels.
  void makeChecker() {
    reference::RandomOptions random;
    random.elementType = reference::ElementType::BF16;
    random.hidden = 128;
    random.heads = 8;
    random.kvHeads = 4;
    random.intermediate = 256;
    reference::writeRandomCheckpoint(scratch.path / "model", random);
    CheckerSettings settings;
    settings.checkpoint = (scratch.path / "model").string();
    settings.options.target = *parseTarget("cuda:sm_80");
    settings.options.cuda.sourceOnly = true;
    settings.singles = 1;
    settings.makeDevice = [&](const rt::Plan &plan) { return open(plan); };
    CheckerFixture::makeChecker(settings);
  }

  /// The device, whose driver runs the plan's kernels on the host.
  std::shared_ptr<rt::Device> open(const rt::Plan &plan) {
    host = e2e::createHostCudaDevice(plan, scratch.path / "host");
    hostStream = host->createStream().take();
    for (const rt::Kernel &kernel : plan.kernels) {
      std::shared_ptr<rt::LoadedKernel> loaded =
          host->loadKernel(kernel).take();
      fake.kernels[kernel.code[0].symbol] = {
          kernel.bufferCount, kernel.symbolCount,
          [this, loaded](std::span<void *const> buffers,
                         std::span<const int64_t> symbols, int64_t items) {
            rt::Status status =
                hostStream->launch(*loaded, {buffers, symbols, items});
            EXPECT_TRUE(status) << status.getMessage();
            return status ? rt::cuda::Code::Success
                          : rt::cuda::Code::LaunchFailed;
          }};
    }
    rt::CudaOptions options;
    options.driver = WEFT_FAKE_CUDA;
    options.nvrtc = WEFT_FAKE_NVRTC;
    options.cacheFolder = "";
    auto device = rt::CudaDevice::create(0, options);
    EXPECT_TRUE(device) << device.getStatus().getMessage();
    return device.take();
  }

  /// Overwrites the first elements of a buffer on the device.
  static rt::Status spoil(const rt::CommandEvent &event, uint32_t buffer) {
    const uint16_t values[] = {0x4480, 0x4480}; // 1024 as bf16.
    if (rt::Status s = event.stream.upload(event.bufferData[buffer], values,
                                           sizeof(values));
        !s)
      return s;
    return event.stream.synchronize();
  }

  reference::Scratch scratch;
  FakeCuda &fake = rt::test::resetFakeCuda();
  std::shared_ptr<rt::Device> host;
  std::unique_ptr<rt::Stream> hostStream;
};

TEST_F(CudaBisectTest, NothingDiffersInAGoodPlan) {
  ASSERT_NO_FATAL_FAILURE(makeChecker());
  ASSERT_EQ(steps.size(), 2u);
  const rt::Plan &plan = session->getPlan();
  EXPECT_TRUE(std::ranges::any_of(plan.params, [](const rt::Param &param) {
    return param.layout == "core_matrices";
  }));
  EXPECT_TRUE(std::ranges::any_of(
      plan.entries[0].buffers, [](const rt::Buffer &buffer) {
        return buffer.shape.size() == 3 &&
               buffer.shape[2] == rt::Expr::constant(128);
      }));
  auto outputs = checker->run(steps);
  ASSERT_TRUE(outputs) << outputs.getStatus().getMessage();
  for (const CommandRow &row : checker->getRows()) {
    EXPECT_FALSE(row.isBad()) << row.label << " " << row.note;
    EXPECT_EQ(row.target, "sm_90a") << "compiled for the driver's GPU";
  }
  EXPECT_EQ(outputs->front().name, "logits of step 0");
  EXPECT_EQ(outputs->back().name, "cache.1.value");
}

TEST_F(CudaBisectTest, WrongResultIsNamedAndDoesNotSpread) {
  ASSERT_NO_FATAL_FAILURE(makeChecker());
  size_t wrong = findCommand("layers.1.output"); // Its result is in panels.
  session->addHook([&](const rt::CommandEvent &event) {
    return event.commandIndex == wrong
               ? spoil(event, event.command.buffers.back())
               : rt::Status::ok();
  });
  auto outputs = checker->run(steps);
  ASSERT_TRUE(outputs) << outputs.getStatus().getMessage();
  for (size_t i = 0; i < checker->getRows().size(); ++i)
    EXPECT_EQ(checker->getRows()[i].isBad(), i == wrong) << i;
  ASSERT_TRUE(checker->getFirstBad());
  EXPECT_EQ(checker->getFirstBad()->row.difference.found, 1024);
  EXPECT_EQ(checker->getFirstBad()->row.difference.badElements, 2u);
}

TEST_F(CudaBisectTest, OverwrittenInputIsNamed) {
  ASSERT_NO_FATAL_FAILURE(makeChecker());
  size_t reader = findCommand("layers.0.output");
  std::string name;
  session->addHook([&](const rt::CommandEvent &event) {
    if (event.commandIndex + 1 != reader)
      return rt::Status::ok();
    uint32_t buffer = event.entry.commands[reader].buffers[2];
    name = event.entry.buffers[buffer].name;
    return spoil(event, buffer);
  });
  auto outputs = checker->run(steps);
  ASSERT_TRUE(outputs) << outputs.getStatus().getMessage();
  ASSERT_TRUE(checker->getFirstBad());
  const FirstBad &bad = *checker->getFirstBad();
  EXPECT_EQ(bad.command, reader);
  EXPECT_THAT(bad.row.note, HasSubstr("'" + name + "' was overwritten after"));
  EXPECT_FALSE(bad.row.difference.isBad())
      << "the command computes right what it was given";
}

} // namespace
