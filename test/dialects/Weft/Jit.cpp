//===- Jit.cpp - Runs decompositions in a test ----------------------------===//

#include "test/dialects/Weft/Jit.h"

#include "compiler/Dialects.h"
#include "compiler/Reference.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <cassert>
#include <cstring>
#include <memory>

using namespace weft::test;

//===----------------------------------------------------------------------===//
// Tensor
//===----------------------------------------------------------------------===//

static const llvm::fltSemantics &getSemantics(const std::string &elementType) {
  if (elementType == "bf16")
    return llvm::APFloat::BFloat();
  if (elementType == "f16")
    return llvm::APFloat::IEEEhalf();
  assert(elementType == "f32" && "an element type the tests know");
  return llvm::APFloat::IEEEsingle();
}

static llvm::APFloat convert(double value, const std::string &elementType) {
  llvm::APFloat result(value);
  bool losesInfo;
  result.convert(getSemantics(elementType), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return result;
}

double weft::test::roundTo(double value, const std::string &elementType) {
  if (elementType == "i32")
    return static_cast<int32_t>(value);
  llvm::APFloat result = convert(value, elementType);
  bool losesInfo;
  result.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return result.convertToDouble();
}

Tensor::Tensor(std::string typeText, std::vector<int64_t> sizes,
               const std::vector<double> &elements)
    : type(std::move(typeText)), shape(std::move(sizes)) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  values.assign(count, 0.0);
  assert(elements.empty() || elements.size() == values.size());
  for (size_t i = 0; i < elements.size(); ++i)
    values[i] = roundTo(elements[i], getElementType());
}

std::string Tensor::getElementType() const {
  return type.substr(type.rfind('x') + 1);
}

int64_t Tensor::getOffset(const std::vector<int64_t> &indices) const {
  assert(indices.size() == shape.size());
  int64_t offset = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    assert(indices[i] >= 0 && indices[i] < shape[i]);
    offset = offset * shape[i] + indices[i];
  }
  return offset;
}

static size_t getBytes(const std::string &elementType) {
  return elementType.ends_with("32") ? 4 : 2;
}

std::vector<uint8_t> Tensor::toBytes() const {
  std::string element = getElementType();
  size_t width = getBytes(element);
  std::vector<uint8_t> bytes(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits =
        element == "i32"
            ? static_cast<uint32_t>(static_cast<int32_t>(values[i]))
            : convert(values[i], element).bitcastToAPInt().getZExtValue();
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

void Tensor::fromBytes(const std::vector<uint8_t> &bytes) {
  std::string element = getElementType();
  size_t width = getBytes(element);
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * width, width);
    if (element == "i32") {
      values[i] = static_cast<int32_t>(bits);
      continue;
    }
    llvm::APFloat number(getSemantics(element),
                         llvm::APInt(static_cast<unsigned>(8 * width), bits));
    bool losesInfo;
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    values[i] = number.convertToDouble();
  }
}

//===----------------------------------------------------------------------===//
// Compiling and running
//===----------------------------------------------------------------------===//

static std::string buildModule(const std::string &body, const Arguments &inputs,
                               const Arguments &outputs) {
  std::string text = "func.func @f(", copies;
  const char *separator = "";
  for (const auto &[name, tensor] : inputs) {
    text += separator + ("%" + name + ": tensor<" + tensor->getType() + ">");
    separator = ", ";
  }
  for (const auto &[name, tensor] : outputs) {
    text += ", %to_" + name + ": memref<" + tensor->getType() + ">";
    copies += "  bufferization.materialize_in_destination %" + name +
              " in restrict writable %to_" + name + " : (tensor<" +
              tensor->getType() + ">, memref<" + tensor->getType() +
              ">) -> ()\n";
  }
  return text + ") attributes {llvm.emit_c_interface} {\n" + body + "\n" +
         copies + "  return\n}\n";
}

/// A memref descriptor: two pointers, the offset, sizes and strides.
static std::vector<int64_t> buildDescriptor(const Tensor &tensor,
                                            std::vector<uint8_t> &bytes) {
  auto address = reinterpret_cast<intptr_t>(bytes.data());
  std::vector<int64_t> words = {address, address, 0};
  words.insert(words.end(), tensor.getShape().begin(), tensor.getShape().end());
  for (size_t i = 0; i < tensor.getShape().size(); ++i) {
    int64_t stride = 1;
    for (size_t j = i + 1; j < tensor.getShape().size(); ++j)
      stride *= tensor.getShape()[j];
    words.push_back(stride);
  }
  return words;
}

std::string weft::test::run(const std::string &body, const Arguments &inputs,
                            const Arguments &outputs) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  mlir::DialectRegistry registry;
  weft::registerAllDialects(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);

  std::string text = buildModule(body, inputs, outputs);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "the text does not parse:\n" + text;
  mlir::PassManager manager(&context);
  weft::buildReferenceToLlvmPipeline(manager);
  if (mlir::failed(manager.run(*module)))
    return "the module does not lower:\n" + text;

  mlir::ExecutionEngineOptions options;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::None;
  auto engine = mlir::ExecutionEngine::create(*module, options);
  if (!engine)
    return llvm::toString(engine.takeError());

  Arguments all = inputs;
  all.insert(all.end(), outputs.begin(), outputs.end());
  std::vector<std::vector<uint8_t>> buffers;
  for (const auto &[name, tensor] : all)
    buffers.push_back(tensor->toBytes());
  std::vector<std::vector<int64_t>> descriptors;
  for (size_t i = 0; i < all.size(); ++i)
    descriptors.push_back(buildDescriptor(*all[i].second, buffers[i]));
  std::vector<void *> pointers(all.size());
  llvm::SmallVector<void *> packed;
  for (size_t i = 0; i < all.size(); ++i) {
    pointers[i] = descriptors[i].data();
    packed.push_back(&pointers[i]);
  }
  if (llvm::Error error = (*engine)->invokePacked("_mlir_ciface_f", packed))
    return llvm::toString(std::move(error));
  for (size_t i = 0; i < all.size(); ++i)
    all[i].second->fromBytes(buffers[i]);
  return "";
}
