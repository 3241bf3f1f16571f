//===- ModelWeights.cpp - Which tensor plays which part in a model --------===//

#include "models/common/ModelWeights.h"

#include "models/common/WeightCatalog.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>

using namespace llvm;

namespace weft {

int64_t ModelWeights::getParameterCount() const {
  int64_t count = 0;
  for (const TensorUse &tensor : tensors) {
    int64_t elements = 1;
    for (int64_t dim : tensor.shape)
      elements *= dim;
    count += elements;
  }
  return count;
}

ModelWeights describeWeights(const ModelConfig &config,
                             const WeightSource *source) {
  ModelWeights weights;
  WeightCatalog catalog(weights, source);
  switch (config.family) {
  case Family::Llama:
  case Family::Mistral:
    describeLlama(catalog, config, weights);
    break;
  case Family::Mixtral:
    describeMixtral(catalog, config, weights);
    break;
  case Family::Qwen2:
  case Family::Qwen3:
  case Family::Qwen3Moe:
    describeQwen(catalog, config, weights);
    break;
  case Family::Gemma2:
  case Family::Gemma3:
    describeGemma(catalog, config, weights);
    break;
  case Family::Phi3:
    describePhi3(catalog, config, weights);
    break;
  case Family::Gpt2:
    describeGpt2(catalog, config, weights);
    break;
  case Family::GptNeox:
    describeGptNeox(catalog, config, weights);
    break;
  case Family::Bert:
    describeBert(catalog, config, weights);
    break;
  }
  return weights;
}

/// Whether `name` matches a pattern with at most one '*'.
static bool matches(StringRef name, StringRef pattern) {
  auto [head, tail] = pattern.split('*');
  if (head.size() == pattern.size())
    return name == pattern;
  return name.size() >= head.size() + tail.size() && name.starts_with(head) &&
         name.ends_with(tail);
}

static bool isHead(StringRef name) {
  return name == "lm_head.weight" || name == "embed_out.weight" ||
         name == "language_model.lm_head.weight";
}

static bool isUsable(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F16 ||
         type == ElementType::BF16;
}

/// Whether two tensors hold the same bytes, read in pieces.
static bool areEqual(const WeightSource &source, const TensorInfo &a,
                     const TensorInfo &b) {
  if (a.type != b.type || a.shape != b.shape)
    return false;
  constexpr uint64_t piece = 1 << 20;
  std::vector<uint8_t> first(piece), second(piece);
  for (uint64_t offset = 0; offset < a.byteSize; offset += piece) {
    uint64_t size = std::min(piece, a.byteSize - offset);
    cantFail(source.read(a, offset, MutableArrayRef(first).take_front(size)));
    cantFail(source.read(b, offset, MutableArrayRef(second).take_front(size)));
    if (!std::equal(first.begin(), first.begin() + size, second.begin()))
      return false;
  }
  return true;
}

static void checkTensor(const ModelConfig &config, const TensorUse &use,
                        const WeightSource &source, ImportReport &report) {
  std::string where = "tensor '" + use.name + "'";
  const TensorInfo *info = source.find(use.name);
  if (!info) {
    report.error(where, "no such tensor",
                 "one of shape " + printShape(use.shape),
                 isHead(use.name)
                     ? "the config says tie_word_embeddings false, so the "
                       "checkpoint must have its own output head"
                     : "the config and the checkpoint do not fit together, or "
                       "the checkpoint is not complete");
    return;
  }
  if (ArrayRef(info->shape) != ArrayRef(use.shape))
    report.error(where, "shape " + printShape(info->shape),
                 "shape " + printShape(use.shape),
                 "the config and the checkpoint do not fit together");
  if (!isUsable(info->type))
    report.error(where, "elements of type " + getName(info->type),
                 "f32, f16 or bf16", "quantized checkpoints are not supported");
}

void checkWeights(const ModelConfig &config, const ModelWeights &weights,
                  const WeightSource &source, ImportReport &report) {
  StringMap<const TensorUse *> uses;
  for (const TensorUse &use : weights.tensors) {
    uses[use.name] = &use;
    checkTensor(config, use, source, report);
  }
  for (const TensorInfo &tensor : source.getTensors()) {
    if (uses.contains(tensor.name))
      continue;
    if (config.tiedEmbeddings && isHead(tensor.name)) {
      const TensorInfo *embedding =
          source.find(weights.tokenEmbedding.sources.front().name);
      if (embedding && !areEqual(source, *embedding, tensor))
        report.warning("tensor '" + tensor.name + "'",
                       "values that differ from '" + embedding->name + "'",
                       "the same, because of tie_word_embeddings",
                       "the embedding is used as the output head");
      continue;
    }
    bool ignored = any_of(weights.ignored, [&](const std::string &pattern) {
      return matches(tensor.name, pattern);
    });
    if (!ignored)
      report.error("tensor '" + tensor.name + "'",
                   "a tensor of shape " + printShape(tensor.shape) +
                       " that the model does not use",
                   "only tensors of a " + getName(config.family) +
                       " model of this config",
                   "the config and the checkpoint do not fit together, or "
                   "this variant of the model is not supported");
  }
}

} // namespace weft
