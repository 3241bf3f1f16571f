//===- ReadOnnx.cpp - From the bytes of an ONNX file to its model ---------===//

#include "compiler/Import/Onnx/ReadOnnx.h"

#include "compiler/Import/Onnx/ProtoReader.h"

#include "llvm/ADT/bit.h"

using namespace llvm;

namespace weft {

namespace {
using Bytes = ArrayRef<uint8_t>;
using Type = ProtoField::Type;

/// One function a message of onnx.proto; the numbers are those of its fields.
class Reader {
public:
  explicit Reader(const OnnxLimits &limits) : limits(limits) {}

  void readModel(Bytes bytes, OnnxModel &model);
  void readTensor(Bytes bytes, OnnxTensor &tensor);

  ProtoError error;

private:
  void fail(const ProtoField &field, const Twine &message) {
    if (!error)
      error = {message.str(), field.bytes.data()};
  }

  /// Counts a part of the model.
  void count(const ProtoField &field) {
    if (++parts > limits.parts)
      fail(field, "more than " + Twine(limits.parts) +
                      " nodes, tensors, attributes and types");
  }
  void countNumbers(const ProtoField &field, size_t more) {
    if ((numbers += more) > limits.numbers)
      fail(field, "more than " + Twine(limits.numbers) +
                      " names and numbers outside of tensors");
  }

  StringRef readText(ProtoReader &reader, const ProtoField &field) {
    return reader.expect(field, Type::Bytes) ? field.getText() : StringRef();
  }
  int64_t readInt(ProtoReader &reader, const ProtoField &field) {
    return reader.expect(field, Type::Varint)
               ? static_cast<int64_t>(field.value)
               : 0;
  }
  void readInts(ProtoReader &reader, const ProtoField &field,
                std::vector<int64_t> &ints) {
    countNumbers(field, 1 + field.bytes.size());
    if (!error)
      reader.forEach(field, Type::Varint, [&](uint64_t value) {
        ints.push_back(static_cast<int64_t>(value));
      });
  }
  void readFloats(ProtoReader &reader, const ProtoField &field,
                  std::vector<float> &floats) {
    countNumbers(field, 1 + field.bytes.size() / 4);
    if (!error)
      reader.forEach(field, Type::Fixed32, [&](uint64_t value) {
        floats.push_back(bit_cast<float>(static_cast<uint32_t>(value)));
      });
  }
  void addText(ProtoReader &reader, const ProtoField &field,
               std::vector<StringRef> &texts) {
    countNumbers(field, 1);
    if (!error)
      texts.push_back(readText(reader, field));
  }
  /// Appends a part that `read` reads from the field's bytes.
  template <typename T, typename List, typename Read>
  void add(ProtoReader &reader, const ProtoField &field, List &list,
           Read read) {
    count(field);
    if (!reader.expect(field, Type::Bytes) || error)
      return;
    T part{};
    (this->*read)(field.bytes, part);
    list.push_back(std::move(part));
  }

  OnnxType toType(const ProtoField &field) {
    // Later numbers are kept as they are up to what the type holds.
    return static_cast<OnnxType>(std::min<uint64_t>(field.value, 255));
  }

  void readEntry(Bytes bytes, OnnxEntry &entry);
  void readDim(Bytes bytes, OnnxDim &dim);
  void readTensorType(Bytes bytes, OnnxValueType &type);
  void readType(Bytes bytes, OnnxValueType &type);
  void readValue(Bytes bytes, OnnxValueInfo &value);
  void readAttribute(Bytes bytes, OnnxAttribute &attribute);
  void readGraphAttribute(ProtoReader &reader, const ProtoField &field,
                          OnnxAttribute &attribute);
  void readNode(Bytes bytes, OnnxNode &node);
  void readGraph(Bytes bytes, OnnxGraph &graph);
  void readSparse(Bytes bytes, StringRef &name);
  void readOpset(Bytes bytes, OnnxOpset &opset);
  void readFunction(Bytes bytes, OnnxFunction &function);

  const OnnxLimits limits;
  size_t parts = 0, numbers = 0;
  unsigned depth = 0;
};
} // namespace

void Reader::readEntry(Bytes bytes, OnnxEntry &entry) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1)
      entry.key = readText(reader, field);
    else if (field.number == 2)
      entry.value = readText(reader, field);
  }
}

void Reader::readTensor(Bytes bytes, OnnxTensor &tensor) {
  tensor.message = bytes;
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    switch (field.number) {
    case 1:
      reader.forEach(field, Type::Varint, [&](uint64_t value) {
        if (tensor.shape.size() < limits.rank)
          tensor.shape.push_back(static_cast<int64_t>(value));
        else
          fail(field,
               "a tensor of more than " + Twine(limits.rank) + " dimensions");
      });
      break;
    case 2:
      if (reader.expect(field, Type::Varint))
        tensor.type = toType(field);
      break;
    case 3:
      fail(field, "a tensor in segments, which no version of ONNX has used");
      break;
    case 8:
      tensor.name = readText(reader, field);
      break;
    case 9:
      if (reader.expect(field, Type::Bytes))
        tensor.raw = field.bytes;
      break;
    case 13:
      add<OnnxEntry>(reader, field, tensor.external, &Reader::readEntry);
      break;
    case 14:
      tensor.isExternal = readInt(reader, field) == 1;
      break;
    default:
      break;
    }
  }
}

void Reader::readDim(Bytes bytes, OnnxDim &dim) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1)
      dim.value = readInt(reader, field);
    else if (field.number == 2)
      dim.name = readText(reader, field);
  }
}

void Reader::readTensorType(Bytes bytes, OnnxValueType &type) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1 && reader.expect(field, Type::Varint))
      type.element = toType(field);
    if (field.number != 2 || !reader.expect(field, Type::Bytes))
      continue;
    type.shape.emplace();
    ProtoReader shape(field.bytes, error);
    for (ProtoField dim; shape.next(dim);) {
      if (dim.number != 1)
        continue;
      add<OnnxDim>(shape, dim, *type.shape, &Reader::readDim);
      if (type.shape->size() > limits.rank)
        fail(dim, "a shape of more than " + Twine(limits.rank) + " dimensions");
    }
  }
}

void Reader::readType(Bytes bytes, OnnxValueType &type) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1 && reader.expect(field, Type::Bytes)) {
      type.kind = OnnxValueType::Kind::Tensor;
      readTensorType(field.bytes, type);
    } else if (field.number != 6) {
      type.kind = OnnxValueType::Kind::Other;
    }
  }
}

void Reader::readValue(Bytes bytes, OnnxValueInfo &value) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1)
      value.name = readText(reader, field);
    else if (field.number == 2 && reader.expect(field, Type::Bytes))
      readType(field.bytes, value.type);
  }
}

void Reader::readGraphAttribute(ProtoReader &reader, const ProtoField &field,
                                OnnxAttribute &attribute) {
  count(field);
  if (!reader.expect(field, Type::Bytes))
    return;
  if (depth == limits.depth)
    return fail(field, "graphs that are nested more than " +
                           Twine(limits.depth) + " deep");
  ++depth;
  auto graph = std::make_shared<OnnxGraph>();
  readGraph(field.bytes, *graph);
  attribute.graphs.push_back(std::move(graph));
  --depth;
}

void Reader::readAttribute(Bytes bytes, OnnxAttribute &attribute) {
  using Kind = OnnxAttribute::Kind;
  ProtoReader reader(bytes, error);
  Kind guessed = Kind::Undefined; // Files before IR version 2 have no kind.
  for (ProtoField field; reader.next(field);) {
    switch (field.number) {
    case 1:
      attribute.name = readText(reader, field);
      break;
    case 2:
      guessed = Kind::Float;
      readFloats(reader, field, attribute.floats);
      break;
    case 3:
      guessed = Kind::Int;
      readInts(reader, field, attribute.ints);
      break;
    case 4:
      guessed = Kind::String;
      addText(reader, field, attribute.strings);
      break;
    case 5:
      guessed = Kind::Tensor;
      add<OnnxTensor>(reader, field, attribute.tensors, &Reader::readTensor);
      break;
    case 6:
      guessed = Kind::Graph;
      readGraphAttribute(reader, field, attribute);
      break;
    case 7:
      guessed = Kind::Floats;
      readFloats(reader, field, attribute.floats);
      break;
    case 8:
      guessed = Kind::Ints;
      readInts(reader, field, attribute.ints);
      break;
    case 9:
      guessed = Kind::Strings;
      addText(reader, field, attribute.strings);
      break;
    case 10:
      guessed = Kind::Tensors;
      add<OnnxTensor>(reader, field, attribute.tensors, &Reader::readTensor);
      break;
    case 11:
      guessed = Kind::Graphs;
      readGraphAttribute(reader, field, attribute);
      break;
    case 20:
      attribute.kind =
          static_cast<Kind>(std::min<uint64_t>(readInt(reader, field), 255));
      break;
    case 21:
      attribute.reference = readText(reader, field);
      break;
    default:
      break;
    }
  }
  if (attribute.kind == Kind::Undefined)
    attribute.kind = guessed;
  // Protobuf leaves out a number or text that is zero or empty.
  if (!attribute.reference.empty())
    return;
  if (attribute.kind == Kind::Float && attribute.floats.empty())
    attribute.floats.push_back(0);
  if (attribute.kind == Kind::Int && attribute.ints.empty())
    attribute.ints.push_back(0);
  if (attribute.kind == Kind::String && attribute.strings.empty())
    attribute.strings.emplace_back();
}

void Reader::readNode(Bytes bytes, OnnxNode &node) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    switch (field.number) {
    case 1:
      addText(reader, field, node.inputs);
      break;
    case 2:
      addText(reader, field, node.outputs);
      break;
    case 3:
      node.name = readText(reader, field);
      break;
    case 4:
      node.op = readText(reader, field);
      break;
    case 5:
      add<OnnxAttribute>(reader, field, node.attributes,
                         &Reader::readAttribute);
      break;
    case 7:
      node.domain = canonicalDomain(readText(reader, field));
      break;
    case 8:
      node.overload = readText(reader, field);
      break;
    default:
      break;
    }
  }
}

/// A sparse tensor has its name in the tensor of its values.
void Reader::readSparse(Bytes bytes, StringRef &name) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);)
    if (field.number == 1 && reader.expect(field, Type::Bytes)) {
      OnnxTensor values;
      readTensor(field.bytes, values);
      name = values.name;
    }
}

void Reader::readGraph(Bytes bytes, OnnxGraph &graph) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    switch (field.number) {
    case 1:
      add<OnnxNode>(reader, field, graph.nodes, &Reader::readNode);
      break;
    case 2:
      graph.name = readText(reader, field);
      break;
    case 5:
      add<OnnxTensor>(reader, field, graph.initializers, &Reader::readTensor);
      break;
    case 11:
      add<OnnxValueInfo>(reader, field, graph.inputs, &Reader::readValue);
      break;
    case 12:
      add<OnnxValueInfo>(reader, field, graph.outputs, &Reader::readValue);
      break;
    case 13:
      add<OnnxValueInfo>(reader, field, graph.values, &Reader::readValue);
      break;
    case 15:
      add<StringRef>(reader, field, graph.sparseInitializers,
                     &Reader::readSparse);
      break;
    default:
      break;
    }
  }
}

void Reader::readOpset(Bytes bytes, OnnxOpset &opset) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1)
      opset.domain = canonicalDomain(readText(reader, field));
    else if (field.number == 2)
      opset.version = readInt(reader, field);
  }
}

void Reader::readFunction(Bytes bytes, OnnxFunction &function) {
  ProtoReader reader(bytes, error);
  for (ProtoField field; reader.next(field);) {
    switch (field.number) {
    case 1:
      function.name = readText(reader, field);
      break;
    case 4:
      addText(reader, field, function.inputs);
      break;
    case 5:
      addText(reader, field, function.outputs);
      break;
    case 6:
      addText(reader, field, function.attributes);
      break;
    case 7:
      add<OnnxNode>(reader, field, function.nodes, &Reader::readNode);
      break;
    case 9:
      add<OnnxOpset>(reader, field, function.opsets, &Reader::readOpset);
      break;
    case 10:
      function.domain = canonicalDomain(readText(reader, field));
      break;
    case 11:
      add<OnnxAttribute>(reader, field, function.defaults,
                         &Reader::readAttribute);
      break;
    case 13:
      function.overload = readText(reader, field);
      break;
    default:
      break;
    }
  }
}

void Reader::readModel(Bytes bytes, OnnxModel &model) {
  ProtoReader reader(bytes, error);
  bool hasGraph = false;
  for (ProtoField field; reader.next(field);) {
    switch (field.number) {
    case 1:
      model.irVersion = readInt(reader, field);
      break;
    case 2:
      model.producer = readText(reader, field);
      break;
    case 3:
      model.producerVersion = readText(reader, field);
      break;
    case 7:
      if (hasGraph)
        fail(field, "a second graph");
      hasGraph = true;
      if (reader.expect(field, Type::Bytes))
        readGraph(field.bytes, model.graph);
      break;
    case 8:
      add<OnnxOpset>(reader, field, model.opsets, &Reader::readOpset);
      break;
    case 14:
      add<OnnxEntry>(reader, field, model.metadata, &Reader::readEntry);
      break;
    case 25:
      add<OnnxFunction>(reader, field, model.functions, &Reader::readFunction);
      break;
    default:
      break;
    }
  }
  if (!hasGraph && !error)
    error = {"no graph", bytes.end()};
}

/// Whether reading went well; otherwise the report says where it did not.
static bool reportError(const ProtoError &error, Bytes file, StringRef fileName,
                        StringRef what, ImportReport &report) {
  if (!error)
    return true;
  std::string place;
  if (error.place)
    place = " at byte " + std::to_string(error.place - file.data());
  report.error(fileName, error.message + place, what,
               "the file is damaged, incomplete or of another kind: fetch or "
               "export it again");
  return false;
}

std::optional<OnnxModel> readOnnx(Bytes file, StringRef fileName,
                                  ImportReport &report,
                                  const OnnxLimits &limits) {
  Reader reader(limits);
  OnnxModel model;
  reader.readModel(file, model);
  if (!reportError(reader.error, file, fileName, "an ONNX model", report))
    return std::nullopt;
  return model;
}

std::optional<OnnxTensor> readOnnxTensor(Bytes file, StringRef fileName,
                                         ImportReport &report) {
  Reader reader({});
  OnnxTensor tensor;
  reader.readTensor(file, tensor);
  if (!reportError(reader.error, file, fileName, "an ONNX tensor", report))
    return std::nullopt;
  return tensor;
}

} // namespace weft
