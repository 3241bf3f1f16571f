//===- CheckerFixture.h - A checker of a compiled model ---------*- C++ -*-===//

#ifndef WEFT_TEST_TOOLS_WEFTBISECT_CHECKERFIXTURE_H
#define WEFT_TEST_TOOLS_WEFTBISECT_CHECKERFIXTURE_H

#include "compiler/CompileOptions.h"
#include "compiler/Import/HuggingFace/Import.h"
#include "tools/weft-bisect/CheckCommands.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

#include <functional>

namespace weft::bisect {

/// What to compile and where to run it.
struct CheckerSettings {
  std::string checkpoint; ///< A folder.
  CompileOptions options;
  std::function<std::shared_ptr<rt::Device>(const rt::Plan &)> makeDevice;
  std::vector<int32_t> ids = {1, 2, 3};
  int64_t singles = 0; ///< As of makeSteps.
  /// May change the plan before it is written.
  std::function<void(mlir::ModuleOp)> editPlan = {};
};

class CheckerFixture : public testing::Test {
protected:
  /// Compiles the model and makes `checker` and everything it needs.
  void makeChecker(const CheckerSettings &settings);

  /// The number of a command of the plan.
  size_t findCommand(llvm::StringRef label);

  std::optional<ImportedModel> model;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> fused;
  std::vector<Step> steps;
  std::unique_ptr<rt::Session> session;
  std::unique_ptr<ReferenceRunner> runner;
  ExpertChoices choices;
  std::unique_ptr<CommandChecker> checker;
};

} // namespace weft::bisect

#endif // WEFT_TEST_TOOLS_WEFTBISECT_CHECKERFIXTURE_H
