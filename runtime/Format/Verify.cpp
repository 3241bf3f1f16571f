//===- Verify.cpp - Whether a plan may be run -----------------------------===//

#include "runtime/Format/Verify.h"
#include "runtime/Format/Layout.h"
#include "runtime/Format/MappedFile.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

using namespace weft::rt;

namespace {

constexpr size_t maxSymbols = 256;
constexpr size_t maxEntries = 256;
constexpr size_t maxRank = 16;
constexpr size_t maxNameBytes = 1024;

template <typename... T> std::string concat(const T &...parts) {
  std::string text;
  auto add = [&](const auto &part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
      text += std::to_string(part);
    else
      text += part;
  };
  (add(parts), ...);
  return text;
}

template <typename... T> Status corrupt(const T &...parts) {
  return Status::corrupt(concat(parts...));
}

/// Calls `check` for each element until one fails.
template <typename List, typename Check>
Status forEach(const List &list, Check check) {
  for (const auto &item : list)
    if (Status status = check(item); !status)
      return status;
  return Status::ok();
}

/// The names of one kind of thing: valid text and all different.
class Names {
public:
  explicit Names(const char *kind) : kind(kind) {}

  Status add(const std::string &name) {
    if (name.empty())
      return corrupt("a ", kind, " has no name");
    if (name.size() > maxNameBytes)
      return corrupt("the name of a ", kind, " has ", name.size(),
                     " bytes, at most ", maxNameBytes, " are allowed");
    if (!isUtf8(name))
      return corrupt("the name of a ", kind, " is not UTF-8 text");
    if (!seen.insert(name).second)
      return corrupt("two ", kind, "s are named '", name, "'");
    return Status::ok();
  }

private:
  const char *kind;
  std::unordered_set<std::string_view> seen;
};

Status checkText(const std::string &text, const char *what) {
  return isUtf8(text) ? Status::ok() : corrupt(what, " is not UTF-8 text");
}

/// Which symbols an expression may use, and what it is for in messages.
struct ExprScope {
  const Plan &plan;
  std::vector<bool> allowed;
  std::string where;

  Status check(const Expr &expr, const char *what) const {
    if (Status status = expr.verify(plan.symbols.size()); !status)
      return corrupt("the ", what, " of ", where, ": ", status.getMessage());
    return forEach(expr.getOps(), [&](const ExprOp &op) {
      if (op.kind == ExprOp::Kind::Symbol && !allowed[op.value])
        return corrupt("the ", what, " of ", where, " uses the symbol '",
                       plan.symbols[op.value].name,
                       "', which has no value there");
      return Status::ok();
    });
  }

  Status checkShape(const std::vector<Expr> &shape) const {
    if (shape.size() > maxRank)
      return corrupt(where, " has rank ", shape.size(), ", at most ", maxRank,
                     " is allowed");
    return forEach(shape, [&](const Expr &dim) { return check(dim, "shape"); });
  }
};

class Verifier {
public:
  explicit Verifier(const Plan &plan) : plan(plan) {}

  Status run() {
    for (auto step : {&Verifier::checkTexts, &Verifier::checkSymbols,
                      &Verifier::checkExternalFiles, &Verifier::checkParams,
                      &Verifier::checkStates, &Verifier::checkKernels,
                      &Verifier::checkEntries})
      if (Status status = (this->*step)(); !status)
        return status;
    return Status::ok();
  }

private:
  Status checkTexts() {
    if (plan.target.empty() || plan.target.size() >= layout::targetCapacity ||
        !isUtf8(plan.target))
      return corrupt("the target must be UTF-8 text of 1 to ",
                     layout::targetCapacity - 1, " bytes, found ",
                     plan.target.size(), " bytes");
    if (Status status = checkText(plan.metaJson, "the metadata"); !status)
      return status;
    Names fileNames("tokenizer file"), debugNames("debug text");
    for (const auto &[name, bytes] : plan.tokenizerFiles) {
      if (Status status = fileNames.add(name); !status)
        return status;
      if (Status status = checkRelativePath(name); !status)
        return corrupt("tokenizer file: ", status.getMessage());
    }
    return forEach(plan.debug, [&](const DebugText &debug) {
      if (Status status = debugNames.add(debug.name); !status)
        return status;
      return checkText(debug.text, "a debug text");
    });
  }

  Status checkSymbols() {
    if (plan.symbols.size() > maxSymbols)
      return corrupt("the plan has ", plan.symbols.size(), " symbols, at most ",
                     maxSymbols, " are allowed");
    Names names("symbol");
    return forEach(plan.symbols, [&](const Symbol &symbol) {
      if (Status status = names.add(symbol.name); !status)
        return status;
      if (symbol.min < 0 || symbol.min > symbol.max)
        return corrupt("the symbol '", symbol.name, "' has the range [",
                       symbol.min, ", ", symbol.max,
                       "], expected 0 <= min <= max");
      return Status::ok();
    });
  }

  Status checkExternalFiles() {
    Names names("external file");
    return forEach(plan.externalFiles, [&](const ExternalFile &file) {
      if (Status status = names.add(file.path); !status)
        return status;
      if (Status status = checkRelativePath(file.path); !status)
        return corrupt("external file: ", status.getMessage());
      return Status::ok();
    });
  }

  Status checkParams() {
    Names names("parameter");
    return forEach(plan.params, [&](const Param &param) {
      if (Status status = names.add(param.name); !status)
        return status;
      return checkParam(param);
    });
  }

  Status checkParam(const Param &param) {
    const std::string where = "parameter '" + param.name + "'";
    if (Status status = checkText(param.layout, "the layout of a parameter");
        !status)
      return status;
    uint64_t bytes = getByteSize(param.dtype);
    if (!bytes)
      return corrupt(where, " has an unknown element type");
    if (param.shape.size() > maxRank)
      return corrupt(where, " has rank ", param.shape.size(), ", at most ",
                     maxRank, " is allowed");
    for (int64_t dim : param.shape)
      if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes) ||
          bytes > INT64_MAX)
        return corrupt(where, " has a shape that is negative or too large");
    if (param.size != bytes)
      return corrupt(where, " has ", param.size, " bytes, its shape and type ",
                     getName(param.dtype), " need ", bytes);
    if (param.file > plan.externalFiles.size())
      return corrupt(where, " lies in external file ", param.file,
                     ", the plan has only ", plan.externalFiles.size());
    if (param.generated.isUsed)
      return checkGenerated(param, where);
    const uint64_t alignment = layout::getParamAlignment(bytes);
    if (param.offset % alignment)
      return corrupt(where, " lies at offset ", param.offset,
                     ", expected a multiple of ", alignment);
    uint64_t end = 0;
    if (__builtin_add_overflow(param.offset, param.size, &end))
      return corrupt(where, " lies at offset ", param.offset,
                     ", which is beyond every file");
    if (param.file && end > plan.externalFiles[param.file - 1].size)
      return corrupt(where, " ends at byte ", end, " of '",
                     plan.externalFiles[param.file - 1].path,
                     "', which has only ",
                     plan.externalFiles[param.file - 1].size);
    return Status::ok();
  }

  static Status checkGenerated(const Param &param, const std::string &where) {
    const double deviation = param.generated.deviation;
    const bool isFloat = param.dtype == DType::F32 ||
                         param.dtype == DType::F16 ||
                         param.dtype == DType::BF16;
    if (!isFloat)
      return corrupt(where, " has generated values of the type ",
                     getName(param.dtype), ", expected f32, f16 or bf16");
    if (!std::isfinite(deviation) || deviation < 0)
      return corrupt(where, " has generated values of the deviation ",
                     deviation, ", expected a finite number from 0 on");
    if (param.file || param.offset || param.hash)
      return corrupt(where, " has generated values and stored ones");
    return Status::ok();
  }

  ExprScope makeScope(std::string where) {
    ExprScope scope{plan, {}, std::move(where)};
    for (const Symbol &symbol : plan.symbols)
      scope.allowed.push_back(symbol.perSession);
    return scope;
  }

  Status checkStates() {
    Names names("state");
    ExprScope scope = makeScope("");
    return forEach(plan.states, [&](const State &state) {
      if (Status status = names.add(state.name); !status)
        return status;
      scope.where = "state '" + state.name + "'";
      if (!getByteSize(state.dtype))
        return corrupt(scope.where, " has an unknown element type");
      return scope.checkShape(state.shape);
    });
  }

  Status checkKernels() {
    Names names("kernel");
    return forEach(plan.kernels, [&](const Kernel &kernel) {
      if (Status status = names.add(kernel.name); !status)
        return status;
      for (const std::string *text : {&kernel.schedule, &kernel.program})
        if (Status status = checkText(*text, "the description of a kernel");
            !status)
          return status;
      return forEach(kernel.code, [&](const Code &code) {
        if (code.kind < Code::Kind::Elf || code.kind > Code::Kind::CudaSource)
          return corrupt("kernel '", kernel.name,
                         "' has code of an unknown kind ",
                         static_cast<int>(code.kind));
        if (code.symbol.empty() || code.target.empty())
          return corrupt("kernel '", kernel.name,
                         "' has code without a target or a symbol");
        for (const std::string *text : {&code.target, &code.symbol})
          if (Status status = checkText(*text, "the target of a kernel");
              !status)
            return status;
        if (Status status = checkLaunchShape(kernel, code); !status)
          return status;
        return forEach(code.features, [](const std::string &feature) {
          return checkText(feature, "a processor feature");
        });
      });
    });
  }

  static Status checkLaunchShape(const Kernel &kernel, const Code &code) {
    const LaunchShape &shape = code.launch;
    const std::string where =
        "kernel '" + kernel.name + "', code for " + code.target;
    if (code.kind == Code::Kind::Elf) {
      if (shape != LaunchShape())
        return corrupt(where, ", has a launch shape, which CPU code has not");
      return Status::ok();
    }
    if (shape.threads == 0 || shape.threads % 32 ||
        shape.threads > LaunchShape::maxThreads)
      return corrupt(where, ", has blocks of ", shape.threads,
                     " threads, expected a multiple of 32 from 32 to ",
                     LaunchShape::maxThreads);
    if (shape.clusterSize == 0 || shape.clusterSize > LaunchShape::maxCluster)
      return corrupt(where, ", has clusters of ", shape.clusterSize,
                     " blocks, expected 1 to ", LaunchShape::maxCluster);
    constexpr uint32_t maxShared = 1u << 20, maxBlocks = 64;
    if (shape.sharedBytes > maxShared)
      return corrupt(where, ", has blocks with ", shape.sharedBytes,
                     " bytes of shared memory, expected at most ", maxShared);
    if (shape.blocksPerMultiprocessor > maxBlocks)
      return corrupt(where, ", has ", shape.blocksPerMultiprocessor,
                     " blocks on a multiprocessor, expected at most ",
                     maxBlocks);
    if (code.kind == Code::Kind::CudaSource) {
      const std::string_view text(
          reinterpret_cast<const char *>(code.bytes.data()), code.bytes.size());
      if (!isUtf8(text))
        return corrupt(where, ": the source is not UTF-8 text");
    }
    return Status::ok();
  }

  Status checkEntries() {
    if (plan.entries.size() > maxEntries)
      return corrupt("the plan has ", plan.entries.size(), " entries, at most ",
                     maxEntries, " are allowed");
    Names names("entry");
    for (const Entry &entry : plan.entries) {
      if (Status status = names.add(entry.name); !status)
        return status;
      if (Status status = checkEntry(entry); !status)
        return status;
    }
    const auto samples = sampleSymbols(plan);
    for (const Entry &entry : plan.entries)
      for (const std::vector<int64_t> &symbols : samples)
        // A size beyond 64 bits cannot be reached: the executor refuses the
        // same values for the same reason.
        if (Status status = verifyWorkspace(plan, entry, symbols);
            !status && status.getCode() != StatusCode::LimitExceeded)
          return status;
    return Status::ok();
  }

  Status checkEntry(const Entry &entry) {
    const std::string where = "entry '" + entry.name + "'";
    ExprScope scope = makeScope(where);
    std::unordered_set<uint32_t> own;
    for (uint32_t index : entry.symbols) {
      if (index >= plan.symbols.size())
        return corrupt(where, " uses symbol ", index, ", the plan has only ",
                       plan.symbols.size());
      if (!own.insert(index).second)
        return corrupt(where, " lists the symbol '", plan.symbols[index].name,
                       "' twice");
      scope.allowed[index] = true;
    }
    for (const Expr *size : {&entry.workspaceBytes, &entry.lowerBoundBytes})
      if (Status status = scope.check(*size, "workspace size"); !status)
        return status;

    Names names("buffer");
    for (const Buffer &buffer : entry.buffers) {
      if (Status status = names.add(buffer.name); !status)
        return corrupt(where, ": ", status.getMessage());
      scope.where = where + ", buffer '" + buffer.name + "'";
      if (Status status = checkBuffer(entry, buffer, scope); !status)
        return status;
    }
    for (size_t i = 0; i < entry.commands.size(); ++i) {
      const Command &command = entry.commands[i];
      if (command.label.size() > maxNameBytes || !isUtf8(command.label))
        return corrupt(where, ", command ", i,
                       ": the label is too long or not UTF-8 text");
      scope.where = concat(where, ", command ", i, " ('", command.label, "')");
      if (Status status = checkCommand(entry, i, scope); !status)
        return status;
    }
    return Status::ok();
  }

  Status checkBuffer(const Entry &entry, const Buffer &buffer,
                     const ExprScope &scope) {
    if (!getByteSize(buffer.dtype))
      return corrupt(scope.where, " has an unknown element type");
    if (Status status = scope.checkShape(buffer.shape); !status)
      return status;
    switch (buffer.kind) {
    case BufferKind::Input:
    case BufferKind::Output:
      return Status::ok();
    case BufferKind::State: {
      if (buffer.index >= plan.states.size())
        return corrupt(scope.where, " is state ", buffer.index,
                       ", the plan has only ", plan.states.size());
      const State &state = plan.states[buffer.index];
      if (buffer.dtype != state.dtype || buffer.shape != state.shape)
        return corrupt(scope.where,
                       " differs in type or shape from its state '", state.name,
                       "'");
      return Status::ok();
    }
    case BufferKind::Param: {
      if (buffer.index >= plan.params.size())
        return corrupt(scope.where, " is parameter ", buffer.index,
                       ", the plan has only ", plan.params.size());
      return checkParamBuffer(buffer, plan.params[buffer.index], scope);
    }
    case BufferKind::Temp:
      if (buffer.firstUse > buffer.lastUse ||
          buffer.lastUse >= entry.commands.size())
        return corrupt(scope.where, " lives from command ", buffer.firstUse,
                       " to ", buffer.lastUse, ", the entry has ",
                       entry.commands.size(), " commands");
      return scope.check(buffer.offset, "offset");
    }
    return corrupt(scope.where, " is of an unknown kind ",
                   static_cast<int>(buffer.kind));
  }

  /// A buffer may show the stored bytes with another shape, not with another
  /// element type, and never more bytes than there are.
  Status checkParamBuffer(const Buffer &buffer, const Param &param,
                          const ExprScope &scope) {
    if (buffer.dtype != param.dtype)
      return corrupt(scope.where, " has type ", getName(buffer.dtype),
                     ", its parameter '", param.name, "' has ",
                     getName(param.dtype));
    for (const Expr &dim : buffer.shape)
      if (!dim.isConstant())
        return corrupt(scope.where,
                       " is a parameter, but its shape is not constant");
    Result<int64_t> bytes = evaluateByteSize(buffer.shape, buffer.dtype, {});
    if (!bytes)
      return corrupt(scope.where, ": ", bytes.getStatus().getMessage());
    if (static_cast<uint64_t>(*bytes) > param.size)
      return corrupt(scope.where, " has ", *bytes, " bytes, its parameter '",
                     param.name, "' only ", param.size);
    return Status::ok();
  }

  /// A kernel that a launch may run takes what the launch gives.
  Status checkKernel(const Command &command, uint32_t index,
                     const ExprScope &scope) {
    if (index >= plan.kernels.size())
      return corrupt(scope.where, " launches kernel ", index,
                     ", the plan has only ", plan.kernels.size());
    const Kernel &kernel = plan.kernels[index];
    if (command.buffers.size() != kernel.bufferCount ||
        command.symbols.size() != kernel.symbolCount)
      return corrupt(scope.where, " gives ", command.buffers.size(),
                     " buffers and ", command.symbols.size(),
                     " symbols to the kernel '", kernel.name, "', which takes ",
                     kernel.bufferCount, " and ", kernel.symbolCount);
    return Status::ok();
  }

  Status checkCommand(const Entry &entry, size_t position,
                      const ExprScope &scope) {
    const Command &command = entry.commands[position];
    for (uint32_t index : command.buffers) {
      if (index >= entry.buffers.size())
        return corrupt(scope.where, " uses buffer ", index,
                       ", the entry has only ", entry.buffers.size());
      const Buffer &buffer = entry.buffers[index];
      if (buffer.kind == BufferKind::Temp &&
          (position < buffer.firstUse || position > buffer.lastUse))
        return corrupt(scope.where, " uses the buffer '", buffer.name,
                       "', which lives only from command ", buffer.firstUse,
                       " to ", buffer.lastUse);
    }
    for (const Expr &symbol : command.symbols)
      if (Status status = scope.check(symbol, "symbol argument"); !status)
        return status;
    for (const Expr *expr : {&command.grid, &command.flops, &command.bytes})
      if (Status status = scope.check(*expr, "grid or cost"); !status)
        return status;

    switch (command.kind) {
    case CommandKind::Launch: {
      if (Status status = checkKernel(command, command.kernel, scope); !status)
        return status;
      if (!command.variants.empty() && command.symbols.empty())
        return corrupt(scope.where, " has variants, but no rows to choose by");
      int64_t before = 0;
      for (const Variant &variant : command.variants) {
        if (variant.limit <= before)
          return corrupt(scope.where, " has variants whose limits ", before,
                         " and ", variant.limit, " do not ascend");
        before = variant.limit;
        if (Status status = checkKernel(command, variant.kernel, scope);
            !status)
          return status;
        if (Status status = scope.check(variant.grid, "grid"); !status)
          return status;
      }
      return Status::ok();
    }
    case CommandKind::Copy:
      if (command.buffers.size() != 2)
        return corrupt(scope.where, " copies with ", command.buffers.size(),
                       " buffers, expected a source and a destination");
      return checkWritable(entry, command.buffers[1], scope);
    case CommandKind::Fill:
      if (command.buffers.size() != 1 || command.kernel > 255)
        return corrupt(scope.where, " fills ", command.buffers.size(),
                       " buffers with ", command.kernel,
                       ", expected one buffer and a byte");
      return checkWritable(entry, command.buffers[0], scope);
    }
    return corrupt(scope.where, " is of an unknown kind ",
                   static_cast<int>(command.kind));
  }

  Status checkWritable(const Entry &entry, uint32_t index,
                       const ExprScope &scope) {
    const Buffer &buffer = entry.buffers[index];
    if (buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Param)
      return corrupt(scope.where, " writes to '", buffer.name,
                     "', which is an input or a parameter");
    return Status::ok();
  }

  const Plan &plan;
};

} // namespace

Status weft::rt::verifyPlan(const Plan &plan) { return Verifier(plan).run(); }

bool weft::rt::isUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    // Eight characters of ASCII at once: debug texts have megabytes of it. The
    // subtraction borrows into a top bit where a byte is NUL.
    constexpr uint64_t topBits = 0x8080808080808080;
    constexpr uint64_t ones = 0x0101010101010101;
    uint64_t word;
    if (text.size() - i >= sizeof(word)) {
      std::memcpy(&word, text.data() + i, sizeof(word));
      if (!((word | (word - ones)) & topBits)) {
        i += sizeof(word);
        continue;
      }
    }
    const unsigned char lead = text[i];
    if (lead == 0)
      return false;
    const size_t length = lead < 0x80             ? 1
                          : (lead & 0xE0) == 0xC0 ? 2
                          : (lead & 0xF0) == 0xE0 ? 3
                          : (lead & 0xF8) == 0xF0 ? 4
                                                  : 0;
    if (!length || length > text.size() - i)
      return false;
    uint32_t point = length == 1 ? lead : lead & (0x7F >> length);
    for (size_t k = 1; k < length; ++k) {
      const unsigned char next = text[i + k];
      if ((next & 0xC0) != 0x80)
        return false;
      point = point << 6 | (next & 0x3F);
    }
    constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < least[length] || point > 0x10FFFF ||
        (point >= 0xD800 && point < 0xE000))
      return false;
    i += length;
  }
  return true;
}
