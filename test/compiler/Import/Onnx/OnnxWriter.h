//===- OnnxWriter.h - Making ONNX files for tests ---------------*- C++ -*-===//
//
// Messages of onnx.proto as text of bytes, written independently of the reader:
//
//   model({opset(18)}, graph({node("Relu", {"x"}, {"y"})}, ...))
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_COMPILER_IMPORT_ONNX_ONNXWRITER_H
#define WEFT_TEST_COMPILER_IMPORT_ONNX_ONNXWRITER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace weft::test::onnx {

using Texts = std::vector<std::string>;

inline std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7)
    text += static_cast<char>(0x80 | (value & 0x7f));
  return text + static_cast<char>(value);
}

inline std::string number(unsigned field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}

inline std::string bytes(unsigned field, const std::string &content) {
  return varint(field << 3 | 2) + varint(content.size()) + content;
}

inline std::string each(unsigned field, const Texts &contents) {
  std::string text;
  for (const std::string &content : contents)
    text += bytes(field, content);
  return text;
}

template <typename T> std::string raw(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

/// A tensor without values: `rest` adds them.
inline std::string tensor(const std::string &name, int type,
                          const std::vector<int64_t> &shape,
                          const std::string &rest) {
  std::string text;
  for (int64_t size : shape)
    text += number(1, size);
  return text + number(2, type) + bytes(8, name) + rest;
}

inline std::string rawTensor(const std::string &name, int type,
                             const std::vector<int64_t> &shape,
                             const std::string &values) {
  return tensor(name, type, shape, bytes(9, values));
}

/// External data with these keys and values.
inline std::string
external(const std::vector<std::pair<std::string, std::string>> &entries) {
  std::string text = number(14, 1);
  for (const auto &[key, value] : entries)
    text += bytes(13, bytes(1, key) + bytes(2, value));
  return text;
}

inline std::string attribute(const std::string &name, int64_t value) {
  return bytes(1, name) + number(3, value) + number(20, 2);
}
inline std::string attribute(const std::string &name,
                             const std::vector<int64_t> &values) {
  std::string text = bytes(1, name) + number(20, 7);
  for (int64_t value : values)
    text += number(8, value);
  return text;
}
inline std::string floatAttribute(const std::string &name, float value) {
  return bytes(1, name) + varint(2 << 3 | 5) + raw<float>({value}) +
         number(20, 1);
}
inline std::string stringAttribute(const std::string &name,
                                   const std::string &value) {
  return bytes(1, name) + bytes(4, value) + number(20, 3);
}
inline std::string tensorAttribute(const std::string &name,
                                   const std::string &value) {
  return bytes(1, name) + bytes(5, value) + number(20, 4);
}
inline std::string graphAttribute(const std::string &name,
                                  const std::string &graph) {
  return bytes(1, name) + bytes(6, graph) + number(20, 5);
}

inline std::string node(const std::string &op, const Texts &inputs,
                        const Texts &outputs, const Texts &attributes = {},
                        const std::string &domain = "",
                        const std::string &overload = "") {
  std::string text = each(1, inputs) + each(2, outputs) + bytes(4, op) +
                     each(5, attributes) + bytes(7, domain);
  return overload.empty() ? text : text + bytes(8, overload);
}

/// A value of a tensor type; a size that is no number is a name, "?" neither.
inline std::string value(const std::string &name, int type,
                         const Texts &sizes) {
  std::string shape;
  for (const std::string &size : sizes) {
    bool isNumber = size.find_first_not_of("0123456789") == std::string::npos;
    shape += bytes(1, size == "?" ? ""
                      : isNumber  ? number(1, std::stoll(size))
                                  : bytes(2, size));
  }
  return bytes(1, name) + bytes(2, bytes(1, number(1, type) + bytes(2, shape)));
}

inline std::string graph(const Texts &nodes, const Texts &inputs,
                         const Texts &outputs, const Texts &initializers = {}) {
  return each(1, nodes) + bytes(2, "g") + each(5, initializers) +
         each(11, inputs) + each(12, outputs);
}

inline std::string opset(int64_t version, const std::string &domain = "") {
  return bytes(1, domain) + number(2, version);
}

inline std::string function(const std::string &domain, const std::string &name,
                            const Texts &inputs, const Texts &outputs,
                            const Texts &nodes, const Texts &rest = {},
                            const std::string &overload = "") {
  std::string text = bytes(1, name) + each(4, inputs) + each(5, outputs) +
                     each(7, nodes) + bytes(9, opset(18)) + bytes(10, domain);
  for (const std::string &more : rest)
    text += more;
  return overload.empty() ? text : text + bytes(13, overload);
}

inline std::string model(const Texts &opsets, const std::string &graph,
                         const Texts &functions = {}, int64_t irVersion = 10) {
  return number(1, irVersion) + bytes(7, graph) + each(8, opsets) +
         each(25, functions);
}

} // namespace weft::test::onnx

#endif // WEFT_TEST_COMPILER_IMPORT_ONNX_ONNXWRITER_H
