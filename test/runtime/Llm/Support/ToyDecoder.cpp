//===- ToyDecoder.cpp -----------------------------------------------------===//

#include "test/runtime/Llm/Support/ToyDecoder.h"

#include "runtime/Format/Writer.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

using namespace weft::rt;
using Json = nlohmann::json;

namespace {

enum SymbolIndex : uint32_t { Tokens, Sequences, TableWidth, Logits, Blocks };
enum BufferIndex : uint32_t {
  TokenIds,
  Positions,
  SequenceIds,
  Slots,
  BlockTable,
  LogitRows,
  Story,
  Cache,
  LogitsOut
};

Buffer makeBuffer(const char *name, BufferKind kind, std::vector<Expr> shape,
                  DType dtype = DType::I32) {
  Buffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.dtype = dtype;
  buffer.shape = std::move(shape);
  return buffer;
}

Kernel makeKernel(const char *name, uint32_t buffers, uint32_t symbols) {
  std::ifstream in(WEFT_TOY_DECODER_OBJECT, std::ios::binary);
  Code code;
  code.target = "x86-64-v2";
  code.symbol = name;
  code.bytes = std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
  Kernel kernel;
  kernel.name = name;
  kernel.code = {code};
  kernel.bufferCount = buffers;
  kernel.symbolCount = symbols;
  return kernel;
}

Entry makeEntry() {
  auto symbol = [](SymbolIndex index) { return Expr::symbol(index); };
  auto constant = [](int64_t value) { return Expr::constant(value); };
  int64_t storyLength = int64_t(toydecoder::storyIds().size());
  Entry entry;
  entry.name = "step";
  entry.symbols = {Tokens, Sequences, TableWidth, Logits, Blocks};
  const BufferKind input = BufferKind::Input;
  entry.buffers = {
      makeBuffer("tokens", input, {symbol(Tokens)}),
      makeBuffer("positions", input, {symbol(Tokens)}),
      makeBuffer("sequence_ids", input, {symbol(Tokens)}),
      makeBuffer("slots", input, {symbol(Tokens)}),
      makeBuffer("block_table", input, {symbol(Sequences), symbol(TableWidth)}),
      makeBuffer("logit_rows", input, {symbol(Logits)}),
      makeBuffer("story", BufferKind::Param, {constant(storyLength)}),
      makeBuffer("cache.0.key", BufferKind::State,
                 {symbol(Blocks), constant(toydecoder::blockSize)}),
      makeBuffer("logits", BufferKind::Output,
                 {symbol(Logits), constant(toydecoder::headWidth)},
                 DType::F32)};
  Command remember;
  remember.label = "layers.0.cache";
  remember.kernel = 0;
  remember.buffers = {TokenIds, Slots, Cache};
  remember.symbols = {symbol(Tokens)};
  remember.grid = constant(1);
  remember.bytes = symbol(Tokens) * constant(12);
  Command tell;
  tell.label = "head.logits";
  tell.kernel = 1;
  tell.buffers = {Positions, SequenceIds, BlockTable, LogitRows,
                  Story,     Cache,       LogitsOut};
  tell.symbols = {symbol(TableWidth), constant(storyLength)};
  tell.grid = symbol(Logits);
  tell.flops = symbol(Logits) * constant(toydecoder::headWidth);
  tell.bytes = symbol(Logits) * constant(toydecoder::headWidth * 4);
  entry.commands = {remember, tell};
  return entry;
}

/// How byte-level tokenizers write a byte (the table of GPT-2).
std::string spell(int byte) {
  auto printable = [](int b) {
    return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
  };
  int point = byte;
  if (!printable(byte)) {
    point = 256;
    for (int b = 0; b < byte; ++b)
      point += !printable(b);
  }
  if (point < 0x80)
    return {char(point)};
  return {char(0xC0 | point >> 6), char(0x80 | (point & 0x3F))};
}

std::string makeTokenizerJson() {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[spell(byte)] = byte;
  auto special = [](int id, const char *content) {
    return Json{{"id", id},           {"content", content},
                {"special", true},    {"single_word", false},
                {"lstrip", false},    {"rstrip", false},
                {"normalized", false}};
  };
  Json byteLevel = {{"type", "ByteLevel"},
                    {"add_prefix_space", false},
                    {"trim_offsets", true},
                    {"use_regex", true}};
  Json json = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens",
       {special(toydecoder::bos, "<s>"), special(toydecoder::eos, "</s>")}},
      {"normalizer", nullptr},
      {"pre_tokenizer", byteLevel},
      {"post_processor", nullptr},
      {"decoder", byteLevel},
      {"model",
       {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  return json.dump();
}

} // namespace

std::vector<int32_t> toydecoder::storyIds() {
  std::vector<int32_t> ids = {bos};
  for (unsigned char byte : story)
    ids.push_back(byte);
  ids.push_back(eos);
  return ids;
}

std::vector<float> toydecoder::expectedLogits(std::span<const int32_t> ids) {
  uint32_t seed = 0;
  for (size_t p = 0; p < ids.size(); ++p)
    seed += uint32_t(ids[p]) * uint32_t(p + 1);
  std::vector<float> logits(headWidth, 100.0f);
  for (uint32_t v = 0; v < tokenizerSize; ++v)
    logits[v] = float((seed * 31u + v * 17u) % 97u) / 97.0f;
  std::vector<int32_t> told = storyIds();
  logits[told[ids.size() % told.size()]] += 8.0f;
  return logits;
}

Status toydecoder::writeFile(const std::string &path,
                             const FileOptions &options) {
  std::vector<int32_t> ids = storyIds();
  Plan plan;
  plan.target = "cpu";
  plan.metaJson = R"({"format":1,"kind":")" + options.kind +
                  R"(","family":"toy","name":"story",)"
                  R"("vocab_size":264,"context_length":96,"block_size":4,)"
                  R"("bos_token_id":256,"eos_token_ids":[257],"add_bos":true,)"
                  R"("weights_dtype":"f32")" +
                  options.extraMeta + "}";
  plan.symbols = {{"tokens", 1, 32, false},
                  {"sequences", 1, 8, false},
                  {"table_width", 1, contextLength / blockSize, false},
                  {"logits", 0, 32, false},
                  {"cache_blocks", 1, 1024, true}};
  Param param;
  param.name = "story";
  param.dtype = DType::I32;
  param.shape = {int64_t(ids.size())};
  param.layout = "row-major";
  plan.params = {param};
  plan.states = {{"cache.0.key",
                  DType::I32,
                  {Expr::symbol(Blocks), Expr::constant(blockSize)}}};
  plan.kernels = {makeKernel("toy_remember", 3, 1),
                  makeKernel("toy_tell", 7, 2)};
  plan.entries = {makeEntry()};
  if (options.fakeCuda) {
    plan.target = "cuda:sm_90a";
    for (Kernel &kernel : plan.kernels) {
      Code &code = kernel.code[0];
      code.kind = Code::Kind::Cubin;
      code.target = "sm_90a";
      code.bytes = std::vector<uint8_t>{'F', 'A', 'K', 'E', 0};
      code.launch = {32, 0, 1, 0, true};
    }
  }
  if (options.edit)
    options.edit(plan);
  if (options.tokenizer) {
    std::string json = makeTokenizerJson();
    plan.tokenizerFiles = {
        {"tokenizer.json", std::vector<uint8_t>(json.begin(), json.end())}};
  }
  Result<std::unique_ptr<ArtifactWriter>> writer =
      ArtifactWriter::create(path, std::move(plan));
  if (!writer)
    return writer.getStatus();
  if (Status s = (*writer)->writeParam(0, std::as_bytes(std::span(ids))); !s)
    return s;
  return (*writer)->finish();
}
