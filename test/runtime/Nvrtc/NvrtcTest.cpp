//===- NvrtcTest.cpp - Finding NVRTC --------------------------------------===//
//
// What it compiles is tested where kernels are compiled (CompileKernelsTest).
//
//===----------------------------------------------------------------------===//

#include "runtime/Nvrtc/Nvrtc.h"

#include "test/reference/Scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

using namespace weft;
using namespace weft::rt;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

TEST(Nvrtc, MissingIsExplained) {
  reference::Scratch scratch("no-cuda");
  auto nvrtc = Nvrtc::load(scratch.path.string());
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_EQ(nvrtc.getStatus().getMessage(),
            "cannot compile for CUDA without NVRTC, NVIDIA's run-time "
            "compiler: looked for libnvrtc.so.13 and libnvrtc.so.12 in " +
                scratch.path.string() +
                "; install the CUDA toolkit, version 12 or 13 (its NVRTC "
                "package is enough), or say where it is: weft-compile "
                "--cuda-path, or the variable CUDA_HOME");
}

TEST(Nvrtc, FileThatIsNoLibrary) {
  reference::Scratch scratch("bad-cuda");
  fs::create_directories(scratch.path / "lib64");
  std::ofstream(scratch.path / "lib64" / "libnvrtc.so.13") << "text";
  auto nvrtc = Nvrtc::load(scratch.path.string());
  ASSERT_FALSE(nvrtc);
  EXPECT_THAT(nvrtc.getStatus().getMessage(),
              HasSubstr("libnvrtc.so.13: file too short"));
}

TEST(Nvrtc, OneFileIsTakenOrExplained) {
  auto missing = Nvrtc::open("libweft-no-such-nvrtc.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.getStatus().getCode(), StatusCode::Unsupported);
  EXPECT_THAT(missing.getStatus().getMessage(),
              HasSubstr("libweft-no-such-nvrtc.so"));
  // A library of other functions.
  auto other = Nvrtc::open("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.getStatus().getMessage(),
              HasSubstr("has no function nvrtcVersion; expected NVRTC 12 or "
                        "13"));
}

} // namespace
