// weft-test-checkpoint: writes checkpoints for tests, and runs the reference.

#include "test/reference/MalformedCheckpoint.h"
#include "test/reference/RandomCheckpoint.h"
#include "test/reference/Transformer.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace weft::reference;

static int usage() {
  std::fputs("usage: weft-test-checkpoint FOLDER [OPTIONS]   write a random "
             "checkpoint;\n"
             "         OPTIONS is JSON, e.g. '{\"family\": \"qwen3\", "
             "\"heads\": 8}';\n"
             "         the members of RandomOptions (RandomCheckpoint.h)\n"
             "       weft-test-checkpoint --malformed NAME FOLDER\n"
             "       weft-test-checkpoint --list-malformed\n"
             "       weft-test-checkpoint --greedy FOLDER COUNT ID...\n"
             "         print the ids that the reference continues with\n",
             stderr);
  return 2;
}

static int writeMalformed(const std::string &name, const char *folder) {
  for (const Malformation &malformation : malformations())
    if (malformation.name == name) {
      malformation.write(folder);
      return 0;
    }
  throw Error("no malformed checkpoint '" + name +
              "'; --list-malformed prints the names");
}

static int64_t parseNumber(const char *text) {
  char *end = nullptr;
  long long value = std::strtoll(text, &end, 10);
  if (end == text || *end || value < 0 || value > INT32_MAX)
    throw Error("'" + std::string(text) + "' is not a number from 0 to 2^31-1");
  return value;
}

static int printGreedy(const char *folder, int64_t count, char **ids, int n) {
  std::vector<int32_t> prompt;
  for (int i = 0; i < n; ++i)
    prompt.push_back(int32_t(parseNumber(ids[i])));
  std::string separator;
  for (int32_t id : Transformer::load(folder).greedy(prompt, count)) {
    std::printf("%s%d", separator.c_str(), id);
    separator = " ";
  }
  std::puts("");
  return 0;
}

int main(int argc, char **argv) {
  try {
    std::string first = argc > 1 ? argv[1] : "";
    if (first == "--list-malformed" && argc == 2) {
      for (const Malformation &malformation : malformations())
        std::printf("%s: %s\n", malformation.name.c_str(),
                    malformation.cause.c_str());
      return 0;
    }
    if (first == "--malformed" && argc == 4)
      return writeMalformed(argv[2], argv[3]);
    if (first == "--greedy" && argc > 4)
      return printGreedy(argv[2], parseNumber(argv[3]), argv + 4, argc - 4);
    if (first.empty() || first[0] == '-' || argc > 3)
      return usage();
    RandomOptions options;
    if (argc == 3)
      options = RandomOptions::parse(nlohmann::json::parse(argv[2]));
    writeRandomCheckpoint(argv[1], options);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "weft-test-checkpoint: error: %s\n", error.what());
    return 1;
  }
}
