//===- Stream.h - Sections as sequences of fields -------------------------===//
//
// A record's fields are listed once, in Records.h, for both directions: a
// stream is called with the fields in order and either appends or fills them.
//
//   integer, enum  little-endian, its own width     bool  one byte, 0 or 1
//   double         IEEE 754 binary64, little-endian
//   string         u32 length, UTF-8 bytes          list  u32 count, elements
//   Expr           u8 count, then per operation u8 kind and, for constants, i64
//                  and, for symbols, u32
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_STREAM_H
#define WEFT_RUNTIME_FORMAT_STREAM_H

#include "runtime/Format/Plan.h"

#include <cstring>
#include <type_traits>

namespace weft::rt {

/// A type whose fields Records.h lists.
template <typename Stream, typename T>
concept IsRecord = requires(Stream &s, T &record) { transfer(s, record); };

class SectionWriter {
public:
  template <typename... T> void operator()(T &...fields) { (one(fields), ...); }

  /// Bytes that lie in the section itself: u64 size, bytes.
  void bytes(const Bytes &value);

  bool hasFailed() const { return false; }
  std::vector<uint8_t> take() { return std::move(out); }

private:
  void append(const void *from, size_t size);
  void one(const std::string &text);
  void one(const Expr &expr);

  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void one(T value) {
    append(&value, sizeof(T));
  }

  template <typename T> void one(std::vector<T> &list) {
    one(static_cast<uint32_t>(list.size()));
    for (T &item : list)
      one(item);
  }

  template <typename T>
    requires IsRecord<SectionWriter, T>
  void one(T &record) {
    transfer(*this, record);
  }

  std::vector<uint8_t> out;
};

/// Reads fields with bounds checks. After the first failure every further read
/// does nothing, so that callers check the status once, at the end.
class SectionReader {
public:
  /// `tag` names the section in messages; `owner` keeps `in` alive for Bytes.
  SectionReader(std::string tag, std::span<const uint8_t> in,
                std::shared_ptr<const void> owner)
      : tag(std::move(tag)), in(in), owner(std::move(owner)) {}

  template <typename... T> void operator()(T &...fields) { (one(fields), ...); }

  void bytes(Bytes &value);

  bool hasFailed() const { return !status.isOk(); }
  /// The first failure, or an error if bytes are left over.
  Status finish() const;

private:
  void fail(std::string what);
  /// The next bytes; null, and a failure, if there are fewer.
  const uint8_t *next(uint64_t size);
  void one(std::string &text);
  void one(Expr &expr);
  void one(bool &value);

  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void one(T &value) {
    if (const uint8_t *from = next(sizeof(T)))
      std::memcpy(&value, from, sizeof(T));
  }

  template <typename T> void one(std::vector<T> &list) {
    uint32_t count = 0;
    one(count);
    // Every element has at least a byte, and elements are only made while
    // their bytes are there: a huge count cannot allocate more than the file
    // accounts for.
    if (count > in.size() - at)
      return fail("a list of " + std::to_string(count) + " elements");
    for (uint32_t i = 0; i < count && !hasFailed(); ++i)
      one(list.emplace_back());
  }

  template <typename T>
    requires IsRecord<SectionReader, T>
  void one(T &record) {
    transfer(*this, record);
  }

  std::string tag;
  std::span<const uint8_t> in;
  std::shared_ptr<const void> owner;
  size_t at = 0;
  Status status;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_STREAM_H
