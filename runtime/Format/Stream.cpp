//===- Stream.cpp - Sections as sequences of fields -----------------------===//

#include "runtime/Format/Stream.h"

using namespace weft::rt;

using Kind = ExprOp::Kind;

void SectionWriter::append(const void *from, size_t size) {
  const auto *begin = static_cast<const uint8_t *>(from);
  out.insert(out.end(), begin, begin + size);
}

void SectionWriter::one(const std::string &text) {
  one(static_cast<uint32_t>(text.size()));
  append(text.data(), text.size());
}

void SectionWriter::one(const Expr &expr) {
  one(static_cast<uint8_t>(expr.getOps().size()));
  for (const ExprOp &op : expr.getOps()) {
    one(op.kind);
    if (op.kind == Kind::Constant)
      one(op.value);
    else if (op.kind == Kind::Symbol)
      one(static_cast<uint32_t>(op.value));
  }
}

void SectionWriter::bytes(const Bytes &value) {
  one(static_cast<uint64_t>(value.size()));
  append(value.data(), value.size());
}

void SectionReader::fail(std::string what) {
  if (status)
    status = Status::corrupt("section " + tag + " has " + std::move(what) +
                             " at byte " + std::to_string(at) + " of " +
                             std::to_string(in.size()) +
                             ", which is more than is left or not allowed; the "
                             "file is damaged");
}

const uint8_t *SectionReader::next(uint64_t size) {
  if (hasFailed())
    return nullptr;
  if (size > in.size() - at) {
    fail("a field of " + std::to_string(size) + " bytes");
    return nullptr;
  }
  const uint8_t *from = in.data() + at;
  at += size;
  return from;
}

void SectionReader::one(std::string &text) {
  uint32_t size = 0;
  one(size);
  if (const uint8_t *from = next(size))
    text.assign(reinterpret_cast<const char *>(from), size);
}

void SectionReader::one(bool &value) {
  uint8_t byte = 0;
  one(byte);
  if (byte > 1)
    fail("the value " + std::to_string(byte) + " for a yes or no");
  value = byte;
}

void SectionReader::one(Expr &expr) {
  uint8_t count = 0;
  one(count);
  std::vector<ExprOp> ops;
  for (uint8_t i = 0; i < count && !hasFailed(); ++i) {
    ExprOp &op = ops.emplace_back();
    one(op.kind);
    if (op.kind == Kind::Constant) {
      one(op.value);
    } else if (op.kind == Kind::Symbol) {
      uint32_t index = 0;
      one(index);
      op.value = index;
    }
  }
  expr = Expr(std::move(ops));
}

void SectionReader::bytes(Bytes &value) {
  uint64_t size = 0;
  one(size);
  if (const uint8_t *from = next(size))
    value = Bytes({from, static_cast<size_t>(size)}, owner);
}

Status SectionReader::finish() const {
  if (status && at != in.size())
    return Status::corrupt("section " + tag + " has " +
                           std::to_string(in.size() - at) +
                           " bytes after its last field; the file is damaged");
  return status;
}
