//===- OnnxModel.cpp - What stands in an ONNX file ------------------------===//

#include "compiler/Import/Onnx/OnnxModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace weft {

namespace {
struct TypeFacts {
  const char *name;
  unsigned bits;
};
} // namespace

/// In the order of OnnxType.
static constexpr TypeFacts typeFacts[] = {
    {"UNDEFINED", 0},      {"FLOAT", 32},     {"UINT8", 8},
    {"INT8", 8},           {"UINT16", 16},    {"INT16", 16},
    {"INT32", 32},         {"INT64", 64},     {"STRING", 0},
    {"BOOL", 8},           {"FLOAT16", 16},   {"DOUBLE", 64},
    {"UINT32", 32},        {"UINT64", 64},    {"COMPLEX64", 64},
    {"COMPLEX128", 128},   {"BFLOAT16", 16},  {"FLOAT8E4M3FN", 8},
    {"FLOAT8E4M3FNUZ", 8}, {"FLOAT8E5M2", 8}, {"FLOAT8E5M2FNUZ", 8},
    {"UINT4", 4},          {"INT4", 4},       {"FLOAT4E2M1", 4},
    {"FLOAT8E8M0", 8},     {"UINT2", 2},      {"INT2", 2},
};

std::string getName(OnnxType type) {
  auto index = static_cast<size_t>(type);
  return index < std::size(typeFacts) ? typeFacts[index].name
                                      : "type " + std::to_string(index);
}

unsigned getBitWidth(OnnxType type) {
  auto index = static_cast<size_t>(type);
  return index < std::size(typeFacts) ? typeFacts[index].bits : 0;
}

const OnnxAttribute *OnnxNode::find(StringRef attribute) const {
  auto found = find_if(attributes, [&](const OnnxAttribute &candidate) {
    return candidate.name == attribute;
  });
  return found == attributes.end() ? nullptr : &*found;
}

StringRef canonicalDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

std::string describe(const OnnxNode &node) {
  std::string type =
      node.domain.empty() ? node.op.str() : (node.domain + "." + node.op).str();
  if (!node.name.empty())
    return ("node '" + node.name + "' (" + type + ")").str();
  for (StringRef output : node.outputs)
    if (!output.empty())
      return ("the node of '" + output + "' (" + type + ")").str();
  return "a node (" + type + ")";
}

} // namespace weft
