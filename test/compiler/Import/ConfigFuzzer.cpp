//===- ConfigFuzzer.cpp - Any text as a config.json -----------------------===//

#include "compiler/Import/HuggingFace/Config.h"

#include <cmath>
#include <cstdlib>

using namespace weft;

static void check(bool condition) {
  if (!condition)
    std::abort();
}

static void checkTable(const RopeTable &table) {
  check(table.rotarySize > 0 && table.inverseFrequencies.size() * 2 ==
                                    static_cast<size_t>(table.rotarySize));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ImportReport report;
  auto config = parseHuggingFaceConfig(
      llvm::StringRef(reinterpret_cast<const char *>(data), size), std::nullopt,
      {}, report);
  check(config.has_value() != report.hasErrors());
  if (!config)
    return 0;
  check(config->layerKinds.size() == static_cast<size_t>(config->layerCount));
  check(config->headSize > 0 && config->headCount % config->kvHeadCount == 0);
  if (config->rope)
    checkTable(*config->rope);
  if (config->slidingRope)
    checkTable(*config->slidingRope);
  return 0;
}
