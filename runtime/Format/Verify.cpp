//===- Verify.cpp - Whether a plan may be run -----------------------------===//

#include "runtime/Format/Verify.h"
#include "runtime/Format/Layout.h"
#include "runtime/Format/MappedFile.h"
#include "runtime/Format/VerifyParts.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

using namespace weft::rt;
using namespace weft::rt::verify;

namespace {

constexpr size_t maxSymbols = 256;
constexpr size_t maxEntries = 256;

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

  Status checkStates() {
    Names names("state");
    ExprScope scope(plan, "");
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
      if (Status status = checkEntry(plan, entry); !status)
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
