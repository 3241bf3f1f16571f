//===- ConfigReader.h - Typed reading of one JSON object ------------------===//
//
// Reads the keys of a config and remembers which it was asked for, so that
// what is left over can be reported: no key is ignored silently.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_HUGGINGFACE_CONFIGREADER_H
#define WEFT_COMPILER_IMPORT_HUGGINGFACE_CONFIGREADER_H

#include "models/common/ImportReport.h"

#include "llvm/ADT/StringSet.h"

#include <optional>

namespace weft {

/// Whether a number is positive and finite in float.
bool isPositiveFloat(double value);

class ConfigReader {
public:
  /// `where` names the object in messages: "config.json".
  ConfigReader(const llvm::json::Object &object, std::string where,
               ImportReport &report)
      : object(object), where(std::move(where)), report(report) {}

  /// Whether the key is present and not null. Does not count as reading it.
  bool has(llvm::StringRef key) const {
    const llvm::json::Value *value = object.get(key);
    return value && value->kind() != llvm::json::Value::Null;
  }
  /// Whether the key is present, null or not.
  bool isPresent(llvm::StringRef key) const { return object.get(key); }

  /// Whether the key's value was asked for.
  bool wasRead(llvm::StringRef key) const { return read.contains(key); }

  /// The value of a key, null if it is absent. Counts as reading it.
  const llvm::json::Value *get(llvm::StringRef key);

  /// Typed values. An absent key gives `absent`. A null gives `absent` too,
  /// except for the optional forms, where it gives nothing. A value of another
  /// type or out of range is an error in the report and gives `absent`.
  int64_t getInt(llvm::StringRef key, int64_t absent, int64_t min, int64_t max);
  std::optional<int64_t> getOptionalInt(llvm::StringRef key,
                                        std::optional<int64_t> absent,
                                        int64_t min, int64_t max);
  double getDouble(llvm::StringRef key, double absent);
  std::optional<double> getOptionalDouble(llvm::StringRef key,
                                          std::optional<double> absent);
  /// A number that is positive and finite in float, the type it is computed
  /// with.
  double getPositive(llvm::StringRef key, double absent);
  std::optional<double> getOptionalPositive(llvm::StringRef key,
                                            std::optional<double> absent);
  bool getBool(llvm::StringRef key, bool absent);
  std::string getString(llvm::StringRef key, llvm::StringRef absent);
  /// Numbers; empty if absent.
  std::vector<double> getDoubles(llvm::StringRef key);
  std::vector<int64_t> getInts(llvm::StringRef key);
  std::vector<std::string> getStrings(llvm::StringRef key);
  /// One integer or a list of them; nothing if absent or null.
  std::optional<std::vector<int64_t>> getIntOrInts(llvm::StringRef key,
                                                   int64_t min, int64_t max);
  const llvm::json::Object *getObject(llvm::StringRef key);

  /// Marks keys as known without reading them.
  void markKnown(llvm::ArrayRef<llvm::StringRef> keys) {
    for (llvm::StringRef key : keys)
      known.insert(key);
  }

  /// Reports that a key's value cannot be used.
  void reject(llvm::StringRef key, const llvm::Twine &expected,
              const llvm::Twine &advice = "");

  /// Reports every key that was neither read nor marked: an error, or for a
  /// null value a warning.
  void reportUnknown(const llvm::Twine &advice);

  llvm::StringRef getWhere() const { return where; }
  ImportReport &getReport() { return report; }

private:
  const llvm::json::Object &object;
  std::string where;
  ImportReport &report;
  llvm::StringSet<> known, read;
};

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_HUGGINGFACE_CONFIGREADER_H
