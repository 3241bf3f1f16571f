//===- CompileLogFuzzer.cpp - libFuzzer target for ptxas' logs ------------===//

#include "runtime/Nvrtc/CompileLog.h"

using namespace weft::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view log(reinterpret_cast<const char *>(data), size);
  LaunchShape launch;
  launch.threads = 1024;
  checkResources(parseCompileLog(log, "k"), launch, {227 * 1024, 65536});
  explainErrors(log);
  return 0;
}
