//===- TraceTest.cpp ------------------------------------------------------===//

#include "runtime/Exec/Trace.h"
#include "test/runtime/Exec/ToySession.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft::rt;
using nlohmann::json;
using testing::HasSubstr;

namespace {

class TraceTest : public ToySession {
protected:
  TraceTest()
      : path(testing::TempDir() + "weft-trace-" + std::to_string(getpid()) +
             ".json") {}
  ~TraceTest() override { std::filesystem::remove(path); }

  json read() const {
    std::ifstream in(path);
    json parsed = json::parse(in, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << "the trace is not JSON";
    return parsed;
  }

  std::unique_ptr<Trace> create() const {
    Result<std::unique_ptr<Trace>> trace = Trace::create(path);
    EXPECT_OK(trace.getStatus());
    return trace.take();
  }

  std::string path;
};

TEST_F(TraceTest, HasOneCompleteEventPerCommand) {
  make(1, 64);
  std::unique_ptr<Trace> trace = create();
  session->addHook(trace->makeHook(3));
  Step step(4);
  ASSERT_OK(step.run(*session));
  ASSERT_OK(trace->recordSpan("prefill", "step", 1000, 3500, 3));
  ASSERT_OK(trace->close());

  json events = read()["traceEvents"];
  ASSERT_EQ(events.size(), 6u);
  for (const json &event : events) {
    EXPECT_EQ(event["ph"], "X");
    EXPECT_EQ(event["pid"], 1);
    EXPECT_EQ(event["tid"], 3);
    EXPECT_GE(event["dur"], 0.0);
  }
  EXPECT_EQ(events[0]["name"], "layers.0.linear");
  EXPECT_EQ(events[0]["cat"], "launch");
  EXPECT_EQ(events[0]["args"]["kernel"], "linear");
  EXPECT_EQ(events[0]["args"]["entry"], "step");
  EXPECT_EQ(events[0]["args"]["flops"], 4 * 128);
  EXPECT_EQ(events[0]["args"]["bytes"], 4 * 64 + 288);
  EXPECT_EQ(events[0]["args"]["symbols"]["tokens"], 4);
  EXPECT_EQ(events[1]["cat"], "copy");
  // Rates are work over the time of the event: bytes per nanosecond.
  double time = events[0]["dur"].get<double>() * 1e3;
  if (time > 0) {
    EXPECT_NEAR(events[0]["args"]["gb_per_s"], (4 * 64 + 288) / time, 1e-3);
  }
  EXPECT_EQ(events[5]["name"], "prefill");
  EXPECT_EQ(events[5]["ts"], 1.0);
  EXPECT_EQ(events[5]["dur"], 2.5);
}

TEST_F(TraceTest, AnEmptyTraceIsJson) {
  std::unique_ptr<Trace> trace = create();
  EXPECT_EQ(read()["traceEvents"].size(), 0u);
  ASSERT_OK(trace->close());
  EXPECT_EQ(read()["traceEvents"].size(), 0u);
}

TEST_F(TraceTest, IsJsonAfterEveryFlushWithoutClose) {
  std::unique_ptr<Trace> trace = create();
  for (int i = 1; i <= 5; ++i) {
    ASSERT_OK(trace->recordSpan("s", "c", i, i + 1, 0));
    ASSERT_OK(trace->flush());
    EXPECT_EQ(read()["traceEvents"].size(), size_t(i));
  }
}

TEST_F(TraceTest, IsJsonWhenTheProcessIsKilled) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Result<std::unique_ptr<Trace>> trace = Trace::create(path);
    // Enough for a few automatic flushes.
    for (int i = 0; i < 20000; ++i)
      (void)(*trace)->recordSpan("a span with a name", "c", i, i + 1, 0);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  size_t events = read()["traceEvents"].size();
  EXPECT_GT(events, 1000u);
  EXPECT_LE(events, 20000u);
}

TEST_F(TraceTest, IsJsonWhenTheFileCannotGrow) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{400000, 400000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Result<std::unique_ptr<Trace>> trace = Trace::create(path);
    Status status;
    for (int i = 0; i < 20000 && status.isOk(); ++i)
      status = (*trace)->recordSpan("a span with a name", "c", i, i + 1, 0);
    bool told = status.getCode() == StatusCode::Io &&
                status.getMessage().find(path) != std::string::npos;
    _exit(told ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_GT(read()["traceEvents"].size(), 1000u);
}

TEST_F(TraceTest, ReplacesTracesAndNothingElse) {
  std::unique_ptr<Trace> trace = create();
  ASSERT_OK(trace->recordSpan("old", "c", 1, 2, 0));
  ASSERT_OK(trace->close());
  trace = create();
  ASSERT_OK(trace->close());
  EXPECT_EQ(read()["traceEvents"].size(), 0u);
  for (const char *content : {"WEFT", "{\"model\": 1}", "x"}) {
    std::ofstream(path) << content;
    Result<std::unique_ptr<Trace>> refused = Trace::create(path);
    ASSERT_FALSE(refused) << content;
    EXPECT_EQ(refused.getStatus().getCode(), StatusCode::Io);
    EXPECT_THAT(refused.getStatus().getMessage(),
                HasSubstr("exists and is no trace"));
    std::string kept;
    std::getline(std::ifstream(path), kept);
    EXPECT_EQ(kept, content);
  }
  std::ofstream(path).flush();
  EXPECT_OK(Trace::create(path).getStatus());
}

TEST_F(TraceTest, NamesWithAnyBytesGiveJson) {
  std::unique_ptr<Trace> trace = create();
  ASSERT_OK(trace->recordSpan("a\"b\\c\n\x01", "d", 0, 1, 0));
  ASSERT_OK(trace->recordSpan("\xff\xc3(", "d", 0, 1, 0));
  ASSERT_OK(trace->close());
  json events = read()["traceEvents"];
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"], "a\"b\\c\n\x01");
}

TEST_F(TraceTest, ErrorsNameTheFile) {
  Result<std::unique_ptr<Trace>> trace =
      Trace::create("/no/such/folder/t.json");
  ASSERT_FALSE(trace.isOk());
  EXPECT_EQ(trace.getStatus().getCode(), StatusCode::Io);
  EXPECT_THAT(trace.getStatus().getMessage(),
              HasSubstr("/no/such/folder/t.json"));
  std::unique_ptr<Trace> closed = create();
  ASSERT_OK(closed->close());
  ASSERT_OK(closed->close());
  EXPECT_EQ(closed->recordSpan("s", "c", 0, 1, 0).getCode(),
            StatusCode::InvalidArgument);
}

} // namespace
