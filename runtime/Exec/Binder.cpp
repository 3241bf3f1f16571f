//===- Binder.cpp ---------------------------------------------------------===//

#include "runtime/Exec/Binder.h"

#include <algorithm>

using namespace weft::rt;

namespace {

/// The symbol that a dimension is, if it is nothing else.
std::optional<uint32_t> getPlainSymbol(const Expr &dimension) {
  const std::vector<ExprOp> &ops = dimension.getOps();
  if (ops.size() != 1 || ops[0].kind != ExprOp::Kind::Symbol)
    return std::nullopt;
  return uint32_t(ops[0].value);
}

/// Bytes of a tensor; 0 if there are more than fit in 64 bits, which no memory
/// of the caller can have.
uint64_t getTensorBytes(const TensorView &tensor) {
  uint64_t bytes = getByteSize(tensor.dtype);
  for (int64_t size : tensor.shape)
    if (__builtin_mul_overflow(bytes, uint64_t(size), &bytes))
      return 0;
  return bytes;
}

bool overlap(const TensorView &a, const TensorView &b) {
  uint64_t aBytes = getTensorBytes(a), bBytes = getTensorBytes(b);
  auto aBegin = reinterpret_cast<uintptr_t>(a.data);
  auto bBegin = reinterpret_cast<uintptr_t>(b.data);
  return aBytes != 0 && bBytes != 0 && aBegin < bBegin + bBytes &&
         bBegin < aBegin + aBytes;
}

} // namespace

Binder::Binder(const Plan &plan, const Entry &entry, const SymbolLimits &limits)
    : plan(plan), entry(entry), limits(limits), perRun(plan.symbols.size()),
      data(entry.buffers.size()), ignored(entry.buffers.size()),
      given(entry.buffers.size()) {
  for (uint32_t symbol : entry.symbols)
    perRun[symbol] = !plan.symbols[symbol].perSession;
}

std::string Binder::describe(const Buffer &buffer) const {
  return (buffer.kind == BufferKind::Input ? "input '" : "output '") +
         buffer.name + "' of entry '" + entry.name + "'";
}

std::string Binder::listNames(BufferKind kind) const {
  std::string names;
  for (const Buffer &buffer : entry.buffers)
    if (buffer.kind == kind)
      names += (names.empty() ? "" : ", ") + buffer.name;
  return names.empty() ? "none" : names;
}

Status Binder::matchNames(std::span<const Argument> arguments,
                          BufferKind kind) {
  const char *word = kind == BufferKind::Input ? "input" : "output";
  for (const Argument &argument : arguments) {
    auto it = std::ranges::find_if(entry.buffers, [&](const Buffer &buffer) {
      return buffer.kind == kind && buffer.name == argument.name;
    });
    if (it == entry.buffers.end())
      return Status::notFound("entry '" + entry.name + "' has no " + word +
                              " '" + std::string(argument.name) +
                              "'; it has: " + listNames(kind));
    size_t index = it - entry.buffers.begin();
    if (given[index])
      return Status::invalid(describe(*it) + " is given twice");
    given[index] = &argument;
    data[index] = argument.tensor.data;
    ignored[index] = argument.isIgnored;
  }
  for (size_t i = 0; i < entry.buffers.size(); ++i)
    if (entry.buffers[i].kind == kind && !given[i])
      return Status::invalid(
          describe(entry.buffers[i]) +
          " is missing; the entry takes: " + listNames(kind));
  return Status::ok();
}

Status Binder::bindShape(const Buffer &buffer, std::span<const int64_t> shape,
                         std::span<int64_t> symbols) {
  if (shape.size() != buffer.shape.size())
    return Status::invalid(describe(buffer) + " has the shape " +
                           formatShape(shape) + "; expected " +
                           formatShape(buffer.shape, plan));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0)
      return Status::invalid(describe(buffer) +
                             " has a negative size: " + formatShape(shape));
    std::optional<uint32_t> symbol = getPlainSymbol(buffer.shape[i]);
    // A symbol that has a value already is compared by checkTensor.
    if (symbol && perRun[*symbol] && symbols[*symbol] == unset)
      symbols[*symbol] = shape[i];
  }
  return Status::ok();
}

Status Binder::bindExplicit(std::span<const SymbolValue> values,
                            std::span<int64_t> symbols) {
  for (const SymbolValue &value : values) {
    Result<uint32_t> index = findSymbol(plan, value.name);
    if (!index)
      return index.getStatus();
    int64_t &current = symbols[*index];
    if (current == unset)
      current = value.value;
    else if (current != value.value)
      return Status::invalid("symbol '" + std::string(value.name) +
                             "' was given as " + std::to_string(value.value) +
                             " but is " + std::to_string(current) +
                             (perRun[*index] ? " in the shapes of the arguments"
                                             : " in this session"));
  }
  return Status::ok();
}

Status Binder::checkRanges(std::span<const int64_t> symbols) const {
  for (uint32_t index : entry.symbols) {
    const Symbol &symbol = plan.symbols[index];
    int64_t value = symbols[index];
    if (value == unset)
      return Status::invalid("symbol '" + symbol.name + "' of entry '" +
                             entry.name +
                             "' has no value: no argument shows it as a "
                             "dimension; pass it");
    if (value < symbol.min)
      return Status::invalid("symbol '" + symbol.name + "' of entry '" +
                             entry.name + "' is " + std::to_string(value) +
                             "; expected at least " +
                             std::to_string(symbol.min));
    if (value > limits.maximum[index])
      return Status::limit(
          "symbol '" + symbol.name + "' of entry '" + entry.name + "' is " +
          std::to_string(value) + "; this session was made for at most " +
          std::to_string(limits.maximum[index]) + " (the plan allows " +
          std::to_string(symbol.max) + ")");
  }
  return Status::ok();
}

Status Binder::checkTensor(const Buffer &buffer, const TensorView &tensor,
                           std::span<const int64_t> symbols) const {
  if (tensor.dtype != buffer.dtype)
    return Status::invalid(describe(buffer) + " has the element type " +
                           getName(tensor.dtype) + "; expected " +
                           getName(buffer.dtype));
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    Result<int64_t> size = buffer.shape[i].evaluate(symbols);
    if (!size)
      return Status(size.getStatus().getCode(),
                    describe(buffer) + ": " + size.getStatus().getMessage());
    if (*size == tensor.shape[i])
      continue;
    std::vector<std::string> names;
    for (const Symbol &symbol : plan.symbols)
      names.push_back(symbol.name);
    return Status::invalid(describe(buffer) + " has the shape " +
                           formatShape(tensor.shape) + "; expected " +
                           formatShape(buffer.shape, plan) + ", where " +
                           buffer.shape[i].print(names) + " is " +
                           std::to_string(*size) + " here");
  }
  uint64_t bytes = getTensorBytes(tensor);
  if (!tensor.data && bytes != 0)
    return Status::invalid(describe(buffer) + " has no data (null pointer)");
  if (reinterpret_cast<uintptr_t>(tensor.data) % getByteSize(tensor.dtype))
    return Status::invalid(
        describe(buffer) + " is not aligned to its element size of " +
        std::to_string(getByteSize(tensor.dtype)) + " bytes");
  return Status::ok();
}

Status Binder::checkOverlaps(std::span<const Argument> inputs,
                             std::span<const Argument> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const auto &others : {inputs, outputs.first(i)})
      for (const Argument &other : others)
        if (overlap(outputs[i].tensor, other.tensor))
          return Status::invalid("output '" + std::string(outputs[i].name) +
                                 "' and '" + std::string(other.name) +
                                 "' of entry '" + entry.name +
                                 "' overlap in memory");
  }
  return Status::ok();
}

Status Binder::bind(std::span<const Argument> inputs,
                    std::span<const Argument> outputs,
                    std::span<const SymbolValue> explicitValues,
                    std::span<int64_t> symbols) {
  std::ranges::fill(given, nullptr);
  for (size_t i = 0; i < symbols.size(); ++i)
    symbols[i] = perRun[i] ? unset : limits.maximum[i];

  if (Status status = matchNames(inputs, BufferKind::Input); !status)
    return status;
  if (Status status = matchNames(outputs, BufferKind::Output); !status)
    return status;
  // Inputs before outputs, whatever their order in the plan: a wrong output is
  // then reported against the sizes of the inputs.
  for (BufferKind kind : {BufferKind::Input, BufferKind::Output})
    for (size_t i = 0; i < given.size(); ++i)
      if (entry.buffers[i].kind == kind)
        if (Status status =
                bindShape(entry.buffers[i], given[i]->tensor.shape, symbols);
            !status)
          return status;
  if (Status status = bindExplicit(explicitValues, symbols); !status)
    return status;
  if (Status status = checkRanges(symbols); !status)
    return status;
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i])
      if (Status status =
              checkTensor(entry.buffers[i], given[i]->tensor, symbols);
          !status)
        return status;
  return checkOverlaps(inputs, outputs);
}
