//===- TestPlan.cpp - Small plans and files for the artifact tests --------===//

#include "test/artifact/TestPlan.h"
#include "runtime/Format/Layout.h"
#include "runtime/Format/Verify.h"
#include "runtime/Format/Writer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace weft::rt;
using namespace weft::rt::test;

static void check(const Status &status) {
  if (!status) {
    std::fprintf(stderr, "a test artifact is wrong: %s\n",
                 status.getMessage().c_str());
    std::abort();
  }
}

Plan weft::rt::test::makePlan() {
  Plan plan;
  plan.target = "cpu";
  plan.metaJson = R"({"model":"tiny"})";
  plan.symbols = {{"tokens", 1, 4096, false}, {"cache_blocks", 1, 64, true}};
  const Expr tokens = Expr::symbol(0), blocks = Expr::symbol(1);

  plan.params.resize(4);
  plan.params[0].name = "embed";
  plan.params[0].shape = {16, 8};
  plan.params[0].layout = "row-major";
  plan.params[1].name = "scale";
  plan.params[1].dtype = DType::BF16;
  plan.params[1].shape = {5};
  plan.params[2].name = "table.\u00e9";
  plan.params[2].dtype = DType::I8;
  plan.params[2].shape = {3};
  plan.params[3].name = "random";
  plan.params[3].dtype = DType::F16;
  plan.params[3].shape = {3, 4};
  plan.params[3].generated = {true, 0.25, 7};

  plan.states = {{"cache.0.key", DType::BF16, {blocks, Expr::constant(64)}},
                 {"cache.0.value", DType::BF16, {blocks, Expr::constant(64)}}};

  plan.kernels.resize(3);
  plan.kernels[0].name = "k0";
  plan.kernels[0].bufferCount = 3;
  plan.kernels[0].symbolCount = 1;
  plan.kernels[0].scratchBytes = 4096;
  plan.kernels[0].schedule = "tile<6x16>";
  plan.kernels[0].program = "embed";
  plan.kernels[0].code = {
      {Code::Kind::Elf, "x86-64-v2", {}, "k0", {{0x7f, 'E', 'L', 'F'}}},
      {Code::Kind::Elf, "x86-64-v4", {"avx512f"}, "k0", {{1, 2, 3}}}};
  plan.kernels[1].name = "k1";
  plan.kernels[1].bufferCount = 1;
  plan.kernels[1].code = {
      {Code::Kind::Elf, "x86-64-v2", {}, "k1", {{0x7f, 'E', 'L', 'F'}}}};

  plan.kernels[2].name = "k2";
  const LaunchShape shape = {256, 49152, 2, 3, true};
  plan.kernels[2].code = {
      {Code::Kind::Cubin, "sm_90a", {}, "k2", {{0x7f, 'E', 'L', 'F'}}, shape},
      {Code::Kind::CudaSource,
       "sm_90a",
       {"--fmad=true"},
       "k2",
       {{'v', 'o', 'i', 'd'}},
       shape}};

  Entry &entry = plan.entries.emplace_back();
  entry.name = "step";
  entry.symbols = {0};
  // 64-byte rows keep each offset aligned for every number of tokens.
  const Expr rowBytes = tokens * Expr::constant(64);
  auto addBuffer = [&](Buffer buffer) { entry.buffers.push_back(buffer); };
  addBuffer({"ids", BufferKind::Input, DType::I32, {tokens}, 0, {}, 0, 0});
  addBuffer({"embed",
             BufferKind::Param,
             DType::F32,
             {Expr::constant(16), Expr::constant(8)},
             0,
             {},
             0,
             0});
  addBuffer({"a",
             BufferKind::Temp,
             DType::F32,
             {tokens, Expr::constant(16)},
             0,
             {},
             0,
             1});
  addBuffer({"b",
             BufferKind::Temp,
             DType::F32,
             {tokens, Expr::constant(16)},
             0,
             rowBytes,
             1,
             3});
  addBuffer({"c",
             BufferKind::Temp,
             DType::F32,
             {tokens, Expr::constant(16)},
             0,
             {},
             2,
             3});
  addBuffer({"out",
             BufferKind::Output,
             DType::F32,
             {tokens, Expr::constant(16)},
             0,
             {},
             0,
             0});
  addBuffer({"cache.0.key",
             BufferKind::State,
             DType::BF16,
             {blocks, Expr::constant(64)},
             0,
             {},
             0,
             0});

  auto addCommand = [&](Command command) { entry.commands.push_back(command); };
  addCommand({CommandKind::Launch,
              "embed",
              0,
              {0, 1, 2},
              {tokens},
              Expr::ceilDiv(tokens, Expr::constant(6)),
              tokens * Expr::constant(16),
              rowBytes,
              {{1, 0, Expr::constant(1)}, {4, 0, tokens}}});
  // The first command's work by the keys of a run; `ids` stand for positions
  // and starts.
  entry.keyCounts = {{KeyCount::Kind::Seen, true, 0, 0, 0, KeyCount::noBuffer},
                     {KeyCount::Kind::Read, false, 512, 0, 0, 0}};
  const auto count = uint32_t(plan.symbols.size());
  entry.commands[0].countedFlops = Expr::symbol(count) * tokens;
  entry.commands[0].countedBytes = Expr::symbol(count + 1);
  addCommand({CommandKind::Copy, "copy", 0, {2, 3}, {}, {}, {}, rowBytes});
  addCommand({CommandKind::Fill, "clear", 255, {4}, {}, {}, {}, rowBytes});
  addCommand({CommandKind::Copy, "result", 0, {3, 5}, {}, {}, {}, rowBytes});
  entry.workspaceBytes = rowBytes * Expr::constant(2);
  entry.lowerBoundBytes = entry.workspaceBytes;

  plan.tokenizerFiles = {{"tokenizer.json", {{'{', '}', 0, 255}}}};
  plan.debug = {{"input", "module {}"}, {"plan", ""}};
  return plan;
}

std::vector<std::byte> weft::rt::test::makeParamBytes(const Plan &plan,
                                                      size_t index) {
  if (plan.params[index].generated.isUsed)
    return {};
  std::vector<std::byte> bytes(plan.params[index].size);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + index * 31 + (i >> 8));
  return bytes;
}

std::string weft::rt::test::writePlan(const std::filesystem::path &path,
                                      const Plan &plan, bool externalWeights) {
  WriterOptions options;
  options.externalWeights = externalWeights;
  auto writer = ArtifactWriter::create(path.string(), plan, options);
  check(writer.getStatus());
  const Plan &written = (*writer)->getPlan();
  for (size_t i = 0; i < written.params.size(); ++i)
    if (!written.params[i].generated.isUsed)
      check((*writer)->writeParam(i, makeParamBytes(written, i)));
  check((*writer)->finish());
  return path.string();
}

std::vector<std::byte>
weft::rt::test::readFile(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void weft::rt::test::writeFile(const std::filesystem::path &path,
                               std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

void weft::rt::test::repairChecksums(std::span<std::byte> file) {
  layout::Prefix prefix;
  if (file.size() < sizeof(prefix))
    return;
  std::memcpy(&prefix, file.data(), sizeof(prefix));
  const uint64_t headerBytes = sizeof(prefix) + uint64_t{prefix.sectionCount} *
                                                    sizeof(layout::SectionRow);
  if (prefix.headerBytes != headerBytes || headerBytes > file.size())
    return;
  for (uint32_t i = 0; i < prefix.sectionCount; ++i) {
    std::byte *at =
        file.data() + sizeof(prefix) + i * sizeof(layout::SectionRow);
    layout::SectionRow row;
    std::memcpy(&row, at, sizeof(row));
    if (row.offset > file.size() || row.size > file.size() - row.offset)
      continue;
    if (row.tag != layout::Tag{'D', 'A', 'T', 'A'})
      row.hash = xxh64(file.subspan(row.offset, row.size));
    std::memcpy(at, &row, sizeof(row));
  }
  prefix.headerHash = layout::hashHeader(file.first(headerBytes));
  std::memcpy(file.data(), &prefix, sizeof(prefix));
}

void weft::rt::test::readEverything(const Artifact &artifact) {
  const Plan &plan = artifact.getPlan();
  check(verifyPlan(plan));
  Xxh64 hash;
  for (size_t i = 0; i < plan.params.size(); ++i)
    hash.update(artifact.getParamData(i));
  for (const Kernel &kernel : plan.kernels)
    for (const Code &code : kernel.code)
      hash.update(std::as_bytes(std::span<const uint8_t>(code.bytes)));
  for (const auto &[name, bytes] : plan.tokenizerFiles)
    hash.update(std::as_bytes(std::span<const uint8_t>(bytes)));
  volatile uint64_t sink = hash.digest();
  (void)sink;
  (void)artifact.verifyData();
  std::vector<std::string> names;
  for (const Symbol &symbol : plan.symbols)
    names.push_back(symbol.name);
  for (const Entry &entry : plan.entries)
    for (const Command &command : entry.commands)
      (void)command.grid.print(names);
}

TemporaryFolder::TemporaryFolder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
  if (!mkdtemp(name.data()))
    std::abort();
  path = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::vector<std::string> TemporaryFolder::list() const {
  std::vector<std::string> names;
  for (const auto &item : std::filesystem::directory_iterator(path))
    names.push_back(item.path().filename().string());
  std::ranges::sort(names);
  return names;
}

AlignedBytes::AlignedBytes(std::span<const std::byte> from)
    : storage(from.size() + 64), size(from.size()) {
  void *at = storage.data();
  size_t space = storage.size();
  begin = static_cast<std::byte *>(std::align(64, size, at, space));
  std::ranges::copy(from, begin);
}
