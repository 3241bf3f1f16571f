//===- ModelConfig.cpp - What a model is, independent of its file format --===//

#include "models/common/ModelConfig.h"

#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace weft {

StringRef getName(Family family) {
  switch (family) {
  case Family::Llama:
    return "llama";
  case Family::Mistral:
    return "mistral";
  case Family::Mixtral:
    return "mixtral";
  case Family::Qwen2:
    return "qwen2";
  case Family::Qwen3:
    return "qwen3";
  case Family::Qwen3Moe:
    return "qwen3_moe";
  case Family::Gemma2:
    return "gemma2";
  case Family::Gemma3:
    return "gemma3";
  case Family::Phi3:
    return "phi3";
  case Family::Gpt2:
    return "gpt2";
  case Family::GptNeox:
    return "gpt_neox";
  case Family::Bert:
    return "bert";
  }
  llvm_unreachable("not a Family");
}

StringRef getName(ActivationKind activation) {
  switch (activation) {
  case ActivationKind::Silu:
    return "silu";
  case ActivationKind::Gelu:
    return "gelu";
  case ActivationKind::GeluTanh:
    return "gelu_tanh";
  case ActivationKind::Relu:
    return "relu";
  case ActivationKind::QuickGelu:
    return "quick_gelu";
  }
  llvm_unreachable("not an ActivationKind");
}

} // namespace weft
