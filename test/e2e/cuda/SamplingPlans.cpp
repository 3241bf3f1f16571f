//===- SamplingPlans.cpp --------------------------------------------------===//

#include "test/e2e/cuda/SamplingPlans.h"

#include "compiler/Compile.h"
#include "compiler/Dialects.h"
#include "models/common/WeightSource.h"

#include "mlir/Parser/Parser.h"

#include <stdexcept>

using namespace weft;

namespace {

class NoWeights : public WeightSource {
public:
  llvm::ArrayRef<TensorInfo> getTensors() const override { return {}; }
  std::optional<llvm::ArrayRef<uint8_t>>
  getMapped(const TensorInfo &) const override {
    return std::nullopt;
  }

protected:
  void readChecked(const TensorInfo &, uint64_t,
                   llvm::MutableArrayRef<uint8_t>) const override {}
};

} // namespace

void weft::e2e::writeSamplingPlan(const std::string &path, int64_t vocabulary,
                                  const Target &target, bool sourceOnly) {
  const std::string x = "tensor<?x" + std::to_string(vocabulary) + "xf32>";
  auto argument = [](const char *value, const std::string &type,
                     const char *symbol) {
    return std::string("%") + value + ": " + type + " {weft.name = \"" + value +
           "\", weft.symbols = [\"" + symbol + "\"]}";
  };
  const std::string text =
      "func.func @step(" + argument("x", x, "logits") + ", " +
      argument("counts", "tensor<?x2xi32>", "logits") + ", " +
      argument("options", "tensor<?x4xf32>", "logits") + ", " +
      argument("places", "tensor<?x2xi32>", "adjustments") + ", " +
      argument("values", "tensor<?x2xf32>", "adjustments") + ") -> (" + x +
      " {weft.name = \"logits\"}, tensor<?xi32> {weft.name = \"ids\"}) {\n"
      "  %y = arith.addf %x, %x : " +
      x + "\n  %z = weft.adjust_logits %y, %places, %values : " + x +
      ", tensor<?x2xi32>, tensor<?x2xf32>\n"
      "  %ids = weft.sample %z, %counts, %options : " +
      x +
      ", tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>\n"
      "  return %z, %ids : " +
      x + ", tensor<?xi32>\n}\n";
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    throw std::runtime_error("the test's IR is wrong");
  CompileOptions options;
  options.target = target;
  options.cuda.sourceOnly = sourceOnly;
  ArtifactOptions output;
  output.path = path;
  PhaseRun run;
  run.last = getPhases().size() - 1;
  if (mlir::failed(
          compileToArtifact(*module, NoWeights(), options, run, output)))
    throw std::runtime_error("the test's IR does not compile");
}
