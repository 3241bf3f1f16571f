//===- EntryPoint.cpp - Functions that a runtime calls --------------------===//

#include "dialects/Weft/EntryPoint.h"

#include "dialects/Weft/WeftDialect.h"

using namespace mlir;
using namespace weft;

static constexpr int64_t dynamic = ShapedType::kDynamic;

EntryPoint weft::makeEntryPoint(OpBuilder &builder, Location loc,
                                StringRef name, ArrayRef<EntryInput> inputs,
                                ArrayRef<EntryTensor> outputs,
                                ArrayRef<EntryTensor> states) {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  auto addArgument = [&](Type type, StringRef kind, StringRef argumentName,
                         ArrayRef<StringRef> symbols) {
    types.push_back(type);
    attributes.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(kind, builder.getStringAttr(argumentName)),
         builder.getNamedAttr(WeftDialect::getSymbolsAttrName(),
                              builder.getStrArrayAttr(symbols))}));
  };
  for (const EntryInput &input : inputs) {
    SmallVector<int64_t> shape(input.symbols.size(), dynamic);
    if (input.columns)
      shape.push_back(input.columns);
    Type element =
        input.isFloat ? Type(builder.getF32Type()) : Type(builder.getI32Type());
    addArgument(RankedTensorType::get(shape, element),
                WeftDialect::getNameAttrName(), input.name, input.symbols);
  }
  for (const EntryTensor &state : states)
    addArgument(state.type, WeftDialect::getStateAttrName(), state.name,
                {"cache_blocks"});

  SmallVector<Type> results;
  for (const EntryTensor &output : outputs)
    results.push_back(output.type);
  for (const EntryTensor &state : states)
    results.push_back(state.type);
  EntryPoint entry;
  entry.function = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType(types, results));
  entry.function.setAllArgAttrs(attributes);
  for (auto [i, output] : llvm::enumerate(outputs))
    entry.function.setResultAttr(i, WeftDialect::getNameAttrName(),
                                 builder.getStringAttr(output.name));
  for (auto [i, state] : llvm::enumerate(states))
    entry.function.setResultAttr(outputs.size() + i,
                                 WeftDialect::getStateAttrName(),
                                 builder.getStringAttr(state.name));

  Block *body = entry.function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  for (auto [i, input] : llvm::enumerate(inputs))
    entry.inputs[input.name] = body->getArgument(i);
  llvm::append_range(entry.states,
                     body->getArguments().drop_front(inputs.size()));
  return entry;
}

EntryPoint weft::makeStepEntry(OpBuilder &builder, Location loc,
                               const StepShape &shape) {
  SmallVector<EntryInput> inputs = {
      {"tokens", {"tokens"}},
      {"positions", {"tokens"}},
      {"sequence_ids", {"tokens"}},
      {"slots", {"tokens"}},
      {"sequence_starts", {"sequences + 1"}},
      {"context_lengths", {"sequences"}},
      {"block_table", {"sequences", "table_width"}},
      {"logit_rows", {"logits"}}};
  if (shape.hasRopeChoice)
    inputs.push_back({"rope_choice", {"tokens"}});
  SmallVector<EntryTensor> outputs = {
      {"logits", RankedTensorType::get({dynamic, shape.vocabularySize},
                                       builder.getF32Type())}};
  if (shape.samples) {
    inputs.push_back({"sampling_counts", {"logits"}, 2});
    inputs.push_back({"sampling_options", {"logits"}, 4, /*isFloat=*/true});
    inputs.push_back({"adjustment_places", {"adjustments"}, 2});
    inputs.push_back({"adjustment_values", {"adjustments"}, 2, true});
    outputs.push_back(
        {"ids", RankedTensorType::get({dynamic}, builder.getI32Type())});
  }
  SmallVector<EntryTensor> states;
  for (auto [i, layer] : llvm::enumerate(shape.layers)) {
    std::string cache = "cache." + std::to_string(i);
    states.push_back({cache + ".key",
                      RankedTensorType::get({dynamic, layer.keyHeads,
                                             layer.headSize, shape.blockSize},
                                            shape.cacheType)});
    states.push_back({cache + ".value",
                      RankedTensorType::get({dynamic, layer.keyHeads,
                                             shape.blockSize, layer.headSize},
                                            shape.cacheType)});
  }
  return makeEntryPoint(builder, loc, "step", inputs, outputs, states);
}

void weft::finishStep(OpBuilder &builder, const StepShape &shape,
                      const EntryPoint &entry, Value logits,
                      ValueRange states) {
  auto named = [&](StringRef name) {
    return NameLoc::get(builder.getStringAttr(name), builder.getUnknownLoc());
  };
  SmallVector<Value> results = {logits};
  if (shape.samples) {
    logits = AdjustLogitsOp::create(builder, named("adjust_logits"),
                                    logits.getType(), logits,
                                    entry.inputs.lookup("adjustment_places"),
                                    entry.inputs.lookup("adjustment_values"));
    Value ids =
        SampleOp::create(builder, named("sample"),
                         RankedTensorType::get({dynamic}, builder.getI32Type()),
                         logits, entry.inputs.lookup("sampling_counts"),
                         entry.inputs.lookup("sampling_options"));
    results = {logits, ids};
  }
  llvm::append_range(results, states);
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
}
