//===- Checkpoint.h - Read a Hugging Face folder for the reference --------===//
//
// A small reader of config.json and safetensors files that shares no code with
// the importer, so that the two can be compared.
//
// Format: a safetensors file is an unsigned 64-bit little-endian length N, N
// bytes of JSON (name -> dtype, shape, data_offsets) and the tensor bytes; the
// offsets count from the end of the header. Several files are joined by
// model.safetensors.index.json, whose "weight_map" maps names to files.
// https://github.com/huggingface/safetensors#format
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_REFERENCE_CHECKPOINT_H
#define WEFT_TEST_REFERENCE_CHECKPOINT_H

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft::reference {

/// What every function of the reference throws on bad input. The message says
/// what was found, what was expected and, where it helps, what to do.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Element types of stored weights that the reference reads.
enum class ElementType { F32, F16, BF16 };

/// Bytes of one element.
int64_t sizeInBytes(ElementType type);

/// The safetensors spelling: "F32", "F16" or "BF16".
std::string_view spelling(ElementType type);

/// IEEE binary16 and bfloat16 to binary32; exact for every value.
float halfToFloat(uint16_t bits);
float bfloatToFloat(uint16_t bits);

/// Rounds to nearest, ties to even; NaN stays NaN.
uint16_t floatToHalf(float value);
uint16_t floatToBfloat(float value);

/// A tensor in memory: row-major float32 values.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// One entry of a safetensors header. `begin` and `end` are byte offsets from
/// the end of the header.
struct TensorEntry {
  std::string name;
  std::string elementType; ///< As spelled in the file; may be unreadable.
  std::vector<int64_t> shape;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Parses the header of a safetensors file from its first bytes. `bytes` holds
/// at least the 8-byte length and the header (the data need not follow);
/// `fileSize` is the size of the whole file. Checks that the header lies in
/// the file, names are unique, offsets are ordered, in range and agree with
/// dtype and shape, and that no two tensors overlap. Throws Error.
std::vector<TensorEntry> parseSafetensorsHeader(std::span<const char> bytes,
                                                uint64_t fileSize);

/// A checkpoint folder. Opening reads config.json and all headers; tensors are
/// read from disk on request. Not thread-safe. Throws Error.
class Checkpoint {
public:
  /// Opens a folder with config.json and either model.safetensors or
  /// model.safetensors.index.json plus its shards. A shard name must be a
  /// plain file name: nothing outside the folder is opened.
  static Checkpoint open(const std::filesystem::path &folder);

  const nlohmann::json &config() const { return configuration; }
  bool has(const std::string &name) const { return tensors.count(name) != 0; }
  /// All names, sorted.
  std::vector<std::string> names() const;
  /// The stored spelling of the element type of a tensor that exists.
  const std::string &elementType(const std::string &name) const;
  const std::vector<int64_t> &shape(const std::string &name) const;

  /// Reads a tensor. An empty `shape` accepts any; otherwise the stored shape
  /// must be equal.
  Tensor read(const std::string &name,
              const std::vector<int64_t> &shape = {}) const;

private:
  struct Location {
    std::filesystem::path file;
    int64_t dataStart = 0; ///< Offset in the file of offset 0.
    TensorEntry entry;
  };

  void addFile(const std::filesystem::path &file,
               const nlohmann::json *weightMap);
  const Location &find(const std::string &name) const;

  nlohmann::json configuration;
  std::map<std::string, Location> tensors;
};

} // namespace weft::reference

#endif // WEFT_TEST_REFERENCE_CHECKPOINT_H
