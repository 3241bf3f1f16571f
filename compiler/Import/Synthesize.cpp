//===- Synthesize.cpp - Random weights in place of a checkpoint -----------===//

#include "compiler/Import/Synthesize.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <cstring>

using namespace llvm;

namespace weft {

static constexpr unsigned tableSize = 4096;
/// Elements that one hash decides.
static constexpr unsigned perHash = 4;

/// The inverse of the standard normal distribution function, by bisection;
/// only a few thousand values are ever needed.
static double normalQuantile(double probability) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    double middle = (low + high) / 2;
    bool below = 0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability;
    (below ? low : high) = middle;
  }
  return (low + high) / 2;
}

static uint32_t encode(double value, ElementType type) {
  APFloat number(value);
  const fltSemantics &semantics =
      type == ElementType::F32   ? APFloat::IEEEsingle()
      : type == ElementType::F16 ? APFloat::IEEEhalf()
                                 : APFloat::BFloat();
  bool exact;
  number.convert(semantics, APFloat::rmNearestTiesToEven, &exact);
  return static_cast<uint32_t>(number.bitcastToAPInt().getZExtValue());
}

/// The output function of the splitmix64 generator (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", 2014) at position `index`.
static inline uint64_t hash(uint64_t key, uint64_t index) {
  uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// Writes elements [begin, end) of the tensor with this key.
template <typename T>
static void fill(uint8_t *out, uint64_t begin, uint64_t end, uint64_t key,
                 const uint32_t *table) {
  auto store = [&](uint64_t bits, unsigned lane) {
    T value = static_cast<T>(table[(bits >> (16 * lane)) % tableSize]);
    std::memcpy(out, &value, sizeof(T));
    out += sizeof(T);
  };
  uint64_t i = begin;
  for (; i < end && i % perHash != 0; ++i)
    store(hash(key, i / perHash), i % perHash);
  for (; i + perHash <= end; i += perHash) {
    uint64_t bits = hash(key, i / perHash);
    for (unsigned lane = 0; lane < perHash; ++lane)
      store(bits, lane);
  }
  for (; i < end; ++i)
    store(hash(key, i / perHash), i % perHash);
}

unsigned SynthesizedWeights::getTable(double mean, double deviation) {
  for (auto [i, table] : enumerate(tables))
    if (table.mean == mean && table.deviation == deviation)
      return i;
  Table table{mean, deviation, std::vector<uint32_t>(tableSize)};
  for (unsigned i = 0; i < tableSize; ++i)
    table.values[i] =
        encode(deviation == 0
                   ? mean
                   : mean + deviation * normalQuantile((i + 0.5) / tableSize),
               type);
  tables.push_back(std::move(table));
  return tables.size() - 1;
}

Expected<std::unique_ptr<SynthesizedWeights>>
SynthesizedWeights::create(std::vector<SynthesizedTensor> tensors,
                           ElementType type, uint64_t seed) {
  if (type != ElementType::F32 && type != ElementType::F16 &&
      type != ElementType::BF16)
    return createStringError(inconvertibleErrorCode(),
                             "cannot synthesize weights of type %s; expected "
                             "f32, f16 or bf16",
                             weft::getName(type).str().c_str());
  std::unique_ptr<SynthesizedWeights> result(new SynthesizedWeights);
  result->type = type;
  result->seed = seed;
  llvm::sort(tensors,
             [](const auto &a, const auto &b) { return a.name < b.name; });
  constexpr uint64_t maxTotal = uint64_t(1) << 60;
  uint64_t total = 0;
  for (const SynthesizedTensor &tensor : tensors) {
    std::optional<uint64_t> size = computeByteSize(tensor.shape, type);
    if (!size || *size > maxTotal || (total += *size) > maxTotal)
      return createStringError(inconvertibleErrorCode(),
                               "tensor '" + tensor.name + "' of shape " +
                                   printShape(tensor.shape) + " is too large");
    if (!result->infos.empty() && result->infos.back().name == tensor.name)
      return createStringError(inconvertibleErrorCode(),
                               "tensor '" + tensor.name + "' stands twice");
    result->infos.push_back({tensor.name, type, tensor.shape, *size, "", 0});
    result->tableOfTensor.push_back(
        result->getTable(tensor.mean, tensor.deviation));
  }
  return result;
}

Expected<std::unique_ptr<SynthesizedWeights>>
SynthesizedWeights::create(const ModelConfig &config,
                           const ModelWeights &weights, uint64_t seed) {
  std::vector<SynthesizedTensor> tensors;
  for (const TensorUse &use : weights.tensors) {
    SynthesizedTensor tensor;
    tensor.name = use.name;
    tensor.shape.assign(use.shape.begin(), use.shape.end());
    if (use.role == TensorRole::Norm || use.role == TensorRole::NormOffset) {
      tensor.mean = use.role == TensorRole::Norm ? 1.0 : 0.0;
      tensor.deviation = 0;
    }
    tensors.push_back(std::move(tensor));
  }
  return create(std::move(tensors), config.dtype, seed);
}

void SynthesizedWeights::readChecked(const TensorInfo &tensor, uint64_t offset,
                                     MutableArrayRef<uint8_t> bytes) const {
  size_t index = &tensor - infos.data();
  const uint32_t *table = tables[tableOfTensor[index]].values.data();
  uint64_t key = hash(seed, xxh3_64bits(tensor.name));
  uint64_t element = getByteSize(type);
  uint64_t begin = offset / element, end = begin + bytes.size() / element;
  if (element == 4)
    fill<uint32_t>(bytes.data(), begin, end, key, table);
  else
    fill<uint16_t>(bytes.data(), begin, end, key, table);
}

} // namespace weft
