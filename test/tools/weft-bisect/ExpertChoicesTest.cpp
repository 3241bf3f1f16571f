//===- ExpertChoicesTest.cpp - Near ties between experts ------------------===//

#include "tools/weft-bisect/ExpertChoices.h"

#include "compiler/Dialects.h"
#include "tools/weft-bisect/Report.h"

#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

using namespace weft;
using namespace weft::bisect;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr const char *ir = R"(
func.func @step(%logits: tensor<?x4xf32>) {
  %0:2 = weft.dispatch "layers.3.route" (%x = %logits : tensor<?x4xf32>)
      -> (tensor<?x2xi32>, tensor<?x2xf32>) {
    %experts, %weights = weft.route %x {top_k = 2 : i64}
        : tensor<?x4xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
    weft.yield %experts, %weights : tensor<?x2xi32>, tensor<?x2xf32>
  }
  %1 = weft.dispatch "layers.3.other" (%x = %logits : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) {
    weft.yield %x : tensor<?x4xf32>
  }
  return
}
)";

class ExpertChoicesTest : public testing::Test {
protected:
  ExpertChoicesTest() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry);
    context->loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(ir, context.get());
    module->walk([&](DispatchOp op) { dispatches.push_back(op); });
  }

  template <typename T>
  ReferenceTensor make(int64_t columns, std::vector<T> values) {
    mlir::Builder builder(context.get());
    mlir::Type type = builder.getI32Type();
    if (std::is_same_v<T, float>)
      type = builder.getF32Type();
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return ReferenceTensor::own(
        type, {int64_t(values.size()) / columns, columns}, std::move(bytes));
  }

  void addReference(std::vector<float> logits, std::vector<int32_t> experts) {
    for (DispatchOp dispatch : dispatches)
      choices.addReference(0, dispatch, [&](mlir::Value value) {
        return value == dispatch.getInputs()[0] ? make(4, logits)
                                                : make(2, experts);
      });
  }
  void addPlan(std::vector<float> logits, std::vector<int32_t> experts) {
    for (DispatchOp dispatch : dispatches)
      choices.addPlan(
          0, dispatch, [&](mlir::Value) { return make(4, logits); },
          [&](mlir::OpResult) { return make(2, experts); });
  }

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<DispatchOp> dispatches;
  ExpertChoices choices;
};

TEST_F(ExpertChoicesTest, FindsTheFirstTokenThatGoesElsewhere) {
  ASSERT_EQ(dispatches.size(), 2u);
  addReference({4, 3, 2, 1, /*second*/ 1, 2, 2.25f, 4}, {0, 1, 3, 2});
  addPlan({4, 3, 2, 1, /*second*/ 1, 2.5f, 2.25f, 4}, {0, 1, 3, 1});
  const std::optional<ChoiceDifference> &first = choices.getFirst();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->step, 0u);
  EXPECT_EQ(first->row, 1);
  EXPECT_EQ(first->label, "layers.3.route");
  EXPECT_THAT(first->reference, ElementsAre(3, 2));
  EXPECT_THAT(first->plan, ElementsAre(3, 1));
  EXPECT_EQ(first->gap, 0.25);
  EXPECT_EQ(first->drift, 0.5);
}

TEST_F(ExpertChoicesTest, TheOrderOfTheExpertsIsNoChoice) {
  addReference({4, 3, 2, 1}, {0, 1});
  addPlan({3, 4, 2, 1}, {1, 0});
  EXPECT_FALSE(choices.getFirst());
}

TEST_F(ExpertChoicesTest, NothingIsComparedWithoutTheReference) {
  addPlan({4, 3, 2, 1}, {0, 1});
  EXPECT_FALSE(choices.getFirst());
}

TEST_F(ExpertChoicesTest, ReportNamesTheChoiceWhereNoCommandIsToBlame) {
  Report report;
  PhaseRow row;
  row.name = "plan";
  row.before = "fuse";
  row.difference.name = "logits";
  row.difference.elements = row.difference.badElements = 1;
  row.difference.at = {0};
  report.phases.push_back(row);
  std::ostringstream rounding;
  report.print(rounding);
  EXPECT_THAT(rounding.str(), HasSubstr("rounding that adds up.\n"));
  report.firstChoice =
      ChoiceDifference{1, 7, "layers.3.route", {3, 2}, {3, 1}, 0.25, 0.5};
  std::ostringstream tie;
  report.print(tie);
  EXPECT_THAT(
      tie.str(),
      HasSubstr(
          "step 1, token 7, 'layers.3.route': the reference takes the "
          "experts 3, 2, the plan 3, 1;\n  the reference's logits of the "
          "two sides lie 0.25 apart, the plan's are off by up to 0.5.\n"));
  std::string json;
  llvm::raw_string_ostream stream(json);
  report.printJson(stream);
  EXPECT_THAT(json, HasSubstr("\"first_choice\": {\n    \"step\": 1,"));
}

} // namespace
