//===- Compile.cpp - From a model to an artifact --------------------------===//

#include "compiler/Compile.h"

#include "compiler/Artifact/ExportPlan.h"
#include "compiler/Artifact/ReadParam.h"
#include "compiler/GenerateCode.h"
#include "dialects/Plan/PlanDialect.h"
#include "runtime/Format/Writer.h"

#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/xxhash.h"

#include <atomic>
#include <mutex>

using namespace mlir;
using namespace weft;

/// Bytes of a param that are written at once. The operating system keeps what
/// is written together in adjacent pages of its cache, from which a plan that
/// was just compiled runs: a stream through large runs of pages is a tenth
/// faster than through small ones.
static constexpr size_t writeBytes = size_t(8) << 20;

/// Reads one param and appends it to the artifact in large pieces.
static llvm::Error writeParam(plan::ParamOp param, size_t index,
                              const WeightSource &weights,
                              rt::ArtifactWriter &writer,
                              const ArtifactOptions &options, uint64_t total) {
  std::vector<uint8_t> pending;
  auto flush = [&]() -> llvm::Error {
    if (pending.empty())
      return llvm::Error::success();
    rt::Status status =
        writer.appendParam(index, std::as_bytes(std::span(pending)));
    if (!status)
      return llvm::createStringError(status.getMessage());
    if (options.progress)
      options.progress(total, pending.size());
    pending.clear();
    return llvm::Error::success();
  };
  llvm::Error error = readParam(
      param, weights, [&](llvm::ArrayRef<uint8_t> bytes) -> llvm::Error {
        pending.insert(pending.end(), bytes.begin(), bytes.end());
        return pending.size() < writeBytes ? llvm::Error::success() : flush();
      });
  return error ? std::move(error) : flush();
}

/// Marks the large matrices as generated. Norms and biases are vectors, which
/// stay, and so do literals, such as the tables of RoPE: they mean something.
static void markGenerated(ModuleOp module, rt::Plan &plan,
                          const ArtifactOptions &options) {
  if (options.generatedBytes == 0)
    return;
  for (auto [op, param] :
       llvm::zip_equal(module.getOps<plan::ParamOp>(), plan.params)) {
    auto type = cast<RankedTensorType>(op.getType());
    const uint64_t bytes = type.getNumElements() * rt::getByteSize(param.dtype);
    const bool isFloat = isa<FloatType>(type.getElementType());
    if (op.getSources() && isFloat && type.getRank() > 1 &&
        bytes >= options.generatedBytes)
      param.generated = {true, 0.02,
                         options.generatedSeed ^ llvm::xxh3_64bits(param.name)};
  }
}

/// Writes all params, several at a time. The first error wins.
static LogicalResult writeParams(ModuleOp module, const WeightSource &weights,
                                 rt::ArtifactWriter &writer,
                                 const ArtifactOptions &options) {
  SmallVector<plan::ParamOp> params(module.getOps<plan::ParamOp>());
  uint64_t total = 0;
  for (const rt::Param &param : writer.getPlan().params)
    total += param.generated.isUsed ? 0 : param.size;
  if (options.progress)
    options.progress(total, 0);
  std::mutex mutex;
  std::string message;
  std::atomic<bool> failed = false;
  llvm::DefaultThreadPool pool;
  for (auto [index, param] : llvm::enumerate(params))
    pool.async([&, index = index, param = param]() mutable {
      if (failed || writer.getPlan().params[index].generated.isUsed)
        return;
      llvm::Error error =
          writeParam(param, index, weights, writer, options, total);
      if (!error)
        return;
      std::lock_guard lock(mutex);
      std::string text = llvm::toString(std::move(error));
      if (!failed.exchange(true))
        message = text;
    });
  pool.wait();
  if (failed)
    return emitError(module.getLoc(), message);
  return success();
}

LogicalResult weft::compileToArtifact(ModuleOp module,
                                      const WeightSource &weights,
                                      const CompileOptions &options,
                                      PhaseRun run,
                                      const ArtifactOptions &artifact) {
  auto generator = CodeGenerator::create(options);
  if (!generator)
    return emitError(module.getLoc(), llvm::toString(generator.takeError()));
  std::vector<rt::DebugText> debug;
  auto outer = run.afterPhase;
  run.last = getPhases().size() - 1;
  run.afterPhase = [&](const Phase &phase, ModuleOp result) {
    if (outer)
      outer(phase, result);
    if (!artifact.keepIr)
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    result.print(stream, OpPrintingFlags().elideLargeElementsAttrs());
    debug.push_back({phase.name.str(), std::move(text)});
  };
  if (failed(runPhases(module, options, run)))
    return failure();
  FailureOr<std::vector<ProgramCode>> code = generator->run(module);
  if (failed(code))
    return failure();
  FailureOr<rt::Plan> plan =
      exportPlan(module, options.target.getName(), std::move(*code));
  if (failed(plan) || failed(generator->dump(module, *plan)))
    return failure();
  if (plan->entries.empty())
    return emitError(module.getLoc(),
                     "the IR has no entry point, so a plan could do nothing");
  plan->debug = std::move(debug);
  for (const auto &[name, content] : artifact.tokenizerFiles)
    plan->tokenizerFiles.push_back(
        {name, std::vector<uint8_t>(content.begin(), content.end())});

  markGenerated(module, *plan, artifact);
  rt::WriterOptions writerOptions;
  writerOptions.externalWeights = artifact.externalWeights;
  auto writer = rt::ArtifactWriter::create(artifact.path, std::move(*plan),
                                           writerOptions);
  if (!writer)
    return emitError(module.getLoc(), writer.getStatus().getMessage());
  if (failed(writeParams(module, weights, **writer, artifact)))
    return failure();
  if (rt::Status status = (*writer)->finish(); !status)
    return emitError(module.getLoc(), status.getMessage());
  return success();
}
