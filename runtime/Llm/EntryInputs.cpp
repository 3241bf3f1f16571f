//===- EntryInputs.cpp - Values of inputs that come from outside ----------===//

#include "runtime/Llm/EntryInputs.h"

#include "runtime/Llm/ModelMeta.h"

#include <algorithm>
#include <cstring>

using namespace weft::rt;

namespace {

/// What the elements of an input may be, or those of one column of a matrix.
struct Range {
  static constexpr int64_t allColumns = -1;

  std::string_view input;
  int64_t least = 0, most = 0;
  int64_t column = allColumns;
};

class Checker {
public:
  explicit Checker(std::span<const Argument> inputs) : inputs(inputs) {}

  /// A dimension of an input, if there is one.
  std::optional<int64_t> getSize(std::string_view name,
                                 size_t dimension) const {
    const TensorView *tensor = find(name);
    if (!tensor || dimension >= tensor->shape.size())
      return std::nullopt;
    return tensor->shape[dimension];
  }

  Status check(const Range &range) const {
    const TensorView *tensor = find(range.input);
    if (!tensor)
      return Status::ok();
    const bool whole = range.column == Range::allColumns;
    const int64_t stride =
        whole || tensor->shape.empty() ? 1 : tensor->shape.back();
    const int64_t count = countElements(*tensor);
    for (int64_t i = whole ? 0 : range.column; i < count; i += stride)
      if (int64_t value = read(*tensor, i);
          value < range.least || value > range.most)
        return fail(range.input, value, i,
                    "expected " + std::to_string(range.least) + " to " +
                        std::to_string(range.most));
    return Status::ok();
  }

  Status checkAscending(std::string_view name) const {
    const TensorView *tensor = find(name);
    const int64_t count = tensor ? countElements(*tensor) : 0;
    for (int64_t i = 1; i < count; ++i)
      if (int64_t value = read(*tensor, i); value < read(*tensor, i - 1))
        return fail(name, value, i,
                    "expected at least the element before, " +
                        std::to_string(read(*tensor, i - 1)));
    return Status::ok();
  }

  /// That each token lies in the rows of its sequence and, in a decoder, before
  /// the end of it. The inputs are in their ranges.
  Status checkSequences() const {
    const TensorView *ids = find("sequence_ids");
    const TensorView *starts = find("sequence_starts");
    const TensorView *lengths = find("context_lengths");
    const TensorView *positions = find("positions");
    if (!ids || !starts)
      return Status::ok();
    const int64_t tokens = countElements(*ids);
    for (int64_t i = 0; i < tokens; ++i) {
      const int64_t id = read(*ids, i);
      if (id + 1 >= countElements(*starts)) // Of a shape that will be refused.
        continue;
      const int64_t begin = read(*starts, id), end = read(*starts, id + 1);
      if (i < begin || i >= end)
        return fail("sequence_ids", id, i,
                    "sequence_starts gives this sequence the tokens from " +
                        std::to_string(begin) + " to before " +
                        std::to_string(end));
      if (!lengths || !positions || id >= countElements(*lengths) ||
          i >= countElements(*positions))
        continue;
      if (const int64_t length = read(*lengths, id),
          place = read(*positions, i);
          place >= length)
        return fail("positions", place, i,
                    "context_lengths says that sequence " + std::to_string(id) +
                        " has " + std::to_string(length) + " positions");
    }
    return Status::ok();
  }

private:
  const TensorView *find(std::string_view name) const {
    auto it = std::ranges::find(inputs, name, &Argument::name);
    return it != inputs.end() && it->tensor.data &&
                   it->tensor.dtype == DType::I32
               ? &it->tensor
               : nullptr;
  }

  static int64_t countElements(const TensorView &tensor) {
    int64_t count = 1;
    for (int64_t size : tensor.shape)
      if (size < 0 || __builtin_mul_overflow(count, size, &count))
        return 0;
    return count;
  }

  static int64_t read(const TensorView &tensor, int64_t index) {
    int32_t value;
    std::memcpy(&value,
                static_cast<const std::byte *>(tensor.data) +
                    index * int64_t(sizeof value),
                sizeof value);
    return value;
  }

  static Status fail(std::string_view input, int64_t value, int64_t place,
                     const std::string &expected) {
    return Status::invalid("input '" + std::string(input) + "' has " +
                           std::to_string(value) + " as element " +
                           std::to_string(place) + "; " + expected);
  }

  std::span<const Argument> inputs;
};

/// The product, or the largest number if it is larger.
int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/// Rows of the encoder's table of token types, which no model fact tells.
int64_t countTokenTypes(const Plan &plan) {
  for (const Param &param : plan.params)
    if (param.name.ends_with("token_type_embeddings.weight") &&
        !param.shape.empty())
      return param.shape.front();
  return 1;
}

} // namespace

EntryInputVerifier::EntryInputVerifier(const Plan &plan, int64_t cacheBlocks)
    : cacheBlocks(cacheBlocks) {
  if (const Result<ModelMeta> meta = ModelMeta::parse(plan.metaJson))
    sizes = {meta->vocabularySize, meta->contextLength, meta->blockSize,
             countTokenTypes(plan)};
}

Status EntryInputVerifier::verify(const Entry &entry,
                                  std::span<const Argument> inputs) const {
  if (!sizes || (entry.name != "step" && entry.name != "encode"))
    return Status::ok();
  const Checker checker(inputs);
  constexpr int64_t any = INT32_MAX;
  // A model need not have all of these inputs.
  const int64_t tokens = checker.getSize("tokens", 0).value_or(any);
  const int64_t sequences =
      checker.getSize("sequence_starts", 0).value_or(any) - 1;
  const int64_t logits = checker.getSize("logit_rows", 0).value_or(any);
  const int64_t vocabulary = sizes->vocabulary;
  // Positions beyond the table of blocks have no place in the cache.
  const int64_t blocks = checker.getSize("block_table", 1).value_or(any);
  const int64_t length =
      std::min(sizes->contextLength, multiply(blocks, sizes->blockSize));
  const int64_t slots = multiply(cacheBlocks, sizes->blockSize);
  const Range ranges[] = {
      {"tokens", 0, vocabulary - 1},
      {"positions", 0, length - 1},
      {"token_types", 0, sizes->tokenTypes - 1},
      {"sequence_ids", 0, sequences - 1},
      {"slots", 0, slots - 1},
      {"sequence_starts", 0, tokens},
      {"context_lengths", 0, length},
      {"block_table", 0, cacheBlocks - 1},
      {"logit_rows", 0, tokens - 1},
      {"rope_choice", 0, 1},
      {"sampling_counts", 0, any, 0},
      {"sampling_counts", 0, vocabulary, 1},
      // Row -1 is skipped.
      {"adjustment_places", -1, logits - 1, 0},
      {"adjustment_places", -1, vocabulary - 1, 1},
  };
  for (const Range &range : ranges)
    if (Status status = checker.check(range); !status)
      return status;
  if (Status status = checker.checkAscending("sequence_starts"); !status)
    return status;
  return checker.checkSequences();
}

InputCheck weft::rt::makeInputCheck(const Session &session) {
  // Without such a size there is no cache that could be left.
  const Result<uint32_t> symbol = findSymbol(session.getPlan(), "cache_blocks");
  const int64_t blocks =
      symbol ? session.getLimits().maximum[*symbol] : INT64_MAX;
  return [verifier = EntryInputVerifier(session.getPlan(), blocks)](
             const Entry &entry, std::span<const Argument> inputs) {
    return verifier.verify(entry, inputs);
  };
}
