//===- MakeToyDecoder.cpp - Writes the toy decoder to a file --------------===//

#include "test/runtime/Llm/Support/ToyDecoder.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE.weft\n", argv[0]);
    return 2;
  }
  weft::rt::Status status = weft::rt::toydecoder::writeFile(argv[1]);
  if (!status)
    std::fprintf(stderr, "%s\n", status.getMessage().c_str());
  return status ? 0 : 1;
}
