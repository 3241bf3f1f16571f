//===- Steps.h - weft-bisect: what the entry is run on ----------*- C++ -*-===//

#ifndef WEFT_TOOLS_WEFTBISECT_STEPS_H
#define WEFT_TOOLS_WEFTBISECT_STEPS_H

#include "compiler/ReferenceRunner.h"
#include "runtime/Llm/ModelMeta.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace weft::bisect {

/// One run of the entry.
struct Step {
  struct Input {
    std::vector<int32_t> values; ///< Bits, where the type is f32.
    std::vector<int64_t> shape;
  };
  std::map<std::string, Input, std::less<>> inputs; ///< By name.
  ReferenceRunner::Symbols symbols;
};

/// Name of the entry of such a model.
llvm::StringRef getEntryName(const rt::ModelMeta &meta);

/// One sequence with these tokens. A decoder computes all but the last
/// `singles` of them in one step, and those one at a time; of every token the
/// logits are wanted. Errors say which id or length does not fit the model.
rt::Result<std::vector<Step>> makeSteps(const rt::ModelMeta &meta,
                                        std::span<const int32_t> ids,
                                        int64_t singles);

} // namespace weft::bisect

#endif // WEFT_TOOLS_WEFTBISECT_STEPS_H
