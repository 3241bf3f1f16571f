//===- ExitCodesTest.cpp --------------------------------------------------===//

#include "tools/common/ExitCodes.h"

#include <gtest/gtest.h>
#include <stdexcept>

using namespace weft;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

namespace {

TEST(ExitCodes, FollowTheStatus) {
  EXPECT_EQ(tools::finish("weft-x", rt::Status::ok()), 0);
  CaptureStderr();
  EXPECT_EQ(tools::finish("weft-x", rt::Status::notFound("no file")), 1);
  EXPECT_EQ(GetCapturedStderr(), "weft-x: error: no file\n");
  CaptureStderr();
  EXPECT_EQ(tools::finish("weft-x", rt::Status::internal("oh")), 70);
  GetCapturedStderr();
  CaptureStderr();
  EXPECT_EQ(tools::finish("weft-x", {rt::StatusCode::Cancelled, "stopped"}),
            130);
  EXPECT_EQ(GetCapturedStderr(), "weft-x: stopped\n");
}

TEST(ExitCodes, ExceptionsAreBugsExceptForMemory) {
  CaptureStderr();
  EXPECT_EQ(tools::runMain("weft-x",
                           []() -> int { throw std::runtime_error("boo"); }),
            70);
  EXPECT_EQ(GetCapturedStderr(),
            "weft-x: internal error: boo; please report this\n");
  CaptureStderr();
  EXPECT_EQ(tools::runMain("weft-x", []() -> int { throw std::bad_alloc(); }),
            1);
  EXPECT_EQ(GetCapturedStderr(), "weft-x: error: out of memory\n");
  EXPECT_EQ(tools::runMain("weft-x", [] { return 2; }), 2);
}

} // namespace
