//===- ModelMetaFuzz.cpp - META comes from a file -------------------------===//

#include "runtime/Llm/ModelMeta.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  weft::rt::Result<weft::rt::ModelMeta> meta = weft::rt::ModelMeta::parse(text);
  if (meta && meta->vocabularySize < 1)
    __builtin_trap();
  return 0;
}
