//===- OnnxModel.h - What stands in an ONNX file ----------------*- C++ -*-===//
//
// The messages of an ONNX file as plain structures, restricted to what a
// compiler needs. All text and all data refer to the bytes of the file, which
// must outlive them. Source: onnx.proto of the ONNX project (IR version 14).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_ONNXMODEL_H
#define WEFT_COMPILER_IMPORT_ONNX_ONNXMODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// TensorProto.DataType; the values are those of the format.
enum class OnnxType : uint8_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
};

/// The name that ONNX gives a type ("FLOAT16"); "type 99" if it is unknown.
std::string getName(OnnxType type);
/// Bits of one element; 0 for strings and unknown types.
unsigned getBitWidth(OnnxType type);

/// One key and value of external_data or metadata_props.
struct OnnxEntry {
  llvm::StringRef key, value;
};

struct OnnxTensor {
  llvm::StringRef name;
  OnnxType type = OnnxType::Undefined;
  llvm::SmallVector<int64_t, 4> shape; ///< As written; may be negative.
  /// Little-endian values, if the tensor has `raw_data`.
  std::optional<llvm::ArrayRef<uint8_t>> raw;
  bool isExternal = false;
  llvm::SmallVector<OnnxEntry, 0> external; ///< location, offset, length, ...
  /// The whole message, which has the values if they are in one of the typed
  /// fields (float_data, int32_data, ...).
  llvm::ArrayRef<uint8_t> message;
};

/// A size of a shape: a number, a name, or neither.
struct OnnxDim {
  std::optional<int64_t> value;
  llvm::StringRef name;
};

/// The type of a value. Of other types than tensors only the kind is kept.
struct OnnxValueType {
  enum class Kind : uint8_t { None, Tensor, Other };
  Kind kind = Kind::None;
  OnnxType element = OnnxType::Undefined;
  /// Absent: the rank is not known.
  std::optional<std::vector<OnnxDim>> shape;
};

struct OnnxValueInfo {
  llvm::StringRef name;
  OnnxValueType type;
};

struct OnnxGraph;

struct OnnxAttribute {
  /// AttributeProto.AttributeType; the values are those of the format.
  enum class Kind : uint8_t {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11,
    SparseTensors = 12,
    TypeProto = 13,
    TypeProtos = 14,
  };
  llvm::StringRef name;
  /// In the body of a function: the attribute of the function whose value this
  /// one has.
  llvm::StringRef reference;
  Kind kind = Kind::Undefined;
  std::vector<float> floats;                      ///< Float, Floats.
  std::vector<int64_t> ints;                      ///< Int, Ints.
  std::vector<llvm::StringRef> strings;           ///< String, Strings.
  std::vector<OnnxTensor> tensors;                ///< Tensor, Tensors.
  std::vector<std::shared_ptr<OnnxGraph>> graphs; ///< Graph, Graphs.
};

struct OnnxNode {
  llvm::StringRef name, op, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs; ///< Empty: not there.
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute *find(llvm::StringRef attribute) const;
};

struct OnnxGraph {
  llvm::StringRef name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValueInfo> inputs, outputs, values;
  /// Names of sparse initializers, which are not read any further.
  std::vector<llvm::StringRef> sparseInitializers;
};

struct OnnxOpset {
  llvm::StringRef domain;
  int64_t version = 0;
};

/// A function of the model, called like an operator.
struct OnnxFunction {
  llvm::StringRef name, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<llvm::StringRef> attributes; ///< Those without a default.
  std::vector<OnnxAttribute> defaults;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxOpset> opsets;
};

struct OnnxModel {
  int64_t irVersion = 0;
  llvm::StringRef producer, producerVersion;
  std::vector<OnnxOpset> opsets;
  std::vector<OnnxFunction> functions;
  std::vector<OnnxEntry> metadata;
  OnnxGraph graph;
};

/// "" for "ai.onnx", which is the same domain; others as they are.
llvm::StringRef canonicalDomain(llvm::StringRef domain);

/// "node 'x' (Add)", or with the first output's name if the node has none.
std::string describe(const OnnxNode &node);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_ONNXMODEL_H
