// Any bytes as a safetensors file, and as a config.json: a result or an Error.

#include "test/reference/Checkpoint.h"
#include "test/reference/Config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const char> bytes(reinterpret_cast<const char *>(data), size);
  try {
    weft::reference::parseSafetensorsHeader(bytes, size);
  } catch (const weft::reference::Error &) {
  }
  nlohmann::json config =
      nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (config.is_discarded() || !config.is_object())
    return 0;
  try {
    weft::reference::parseConfig(config);
  } catch (const weft::reference::Error &) {
  }
  return 0;
}
