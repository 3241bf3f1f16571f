//===- ArtifactFuzzer.cpp - Any bytes are opened or refused ---------------===//
//
// Opens the input twice: as it is, and with its checksums made right, without
// which hardly any input would get behind them. The seeds are the artifacts
// that make-artifact-corpus writes.
//
//===----------------------------------------------------------------------===//

#include "runtime/Format/Reader.h"
#include "test/artifact/TestPlan.h"

using namespace weft::rt;
using namespace weft::rt::test;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  AlignedBytes bytes(std::as_bytes(std::span(data, size)));
  for (bool repaired : {false, true}) {
    if (repaired)
      repairChecksums(bytes.get());
    auto artifact = Artifact::openMemory(bytes.get());
    if (artifact)
      readEverything(**artifact);
  }
  return 0;
}
