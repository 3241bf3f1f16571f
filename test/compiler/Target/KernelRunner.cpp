//===- KernelRunner.cpp - Compiles and runs tile programs in tests --------===//

#include "test/compiler/Target/KernelRunner.h"

#include "compiler/Target/Cpu/CompileKernels.h"
#include "passes/Kernel/CpuLevel.h"
#include "passes/Kernel/Passes.h"

#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

std::vector<std::string> weft::test::hostLevels() {
  std::vector<std::string> names;
  for (const CpuLevel &level : getCpuLevels())
    if (isSupportedByHost(level))
      names.push_back(level.name.str());
  return names;
}

std::string weft::test::atLevel(std::string text, const std::string &level) {
  const std::string mark = "@LEVEL@";
  for (size_t at; (at = text.find(mark)) != std::string::npos;)
    text.replace(at, mark.size(), level);
  return text;
}

std::string weft::test::makeProgram(const std::string &name,
                                    const std::string &symbols,
                                    const std::string &kernel,
                                    const std::string &level) {
  return atLevel("tile.program @" + name + " symbols [" + symbols +
                     "] grid [#tile.extent<\"1\", 1>] {\n  tile.kernel @k "
                     "level \"@LEVEL@\" " +
                     kernel + "\n}\n",
                 level);
}

/// Compiles the text; diagnostics are appended to `error`.
static FailureOr<std::vector<CompiledKernel>>
compileText(const std::string &text, const CpuOptions &options, bool threads,
            std::string &error) {
  DialectRegistry registry;
  registry.insert<tile::TileDialect, func::FuncDialect>();
  MLIRContext context(registry, threads ? MLIRContext::Threading::ENABLED
                                        : MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return failure();
  PassManager passes(&context);
  passes.addPass(kernel::createLowerTileToVector());
  if (failed(passes.run(*module)))
    return failure();
  return compileKernels(*module, options);
}

std::vector<LoadedKernel> weft::test::compile(const std::string &text,
                                              std::string *error) {
  std::string message;
  auto compiled = compileText(text, {}, true, message);
  std::vector<LoadedKernel> kernels;
  if (succeeded(compiled))
    for (CompiledKernel &kernel : *compiled) {
      if (!isSupportedByHost(*findCpuLevel(kernel.level)))
        continue;
      auto object = rt::LoadedObject::load(kernel.object);
      if (!object) {
        message += object.getStatus().getMessage();
        kernels.clear();
        break;
      }
      LoadedKernel &loaded = kernels.emplace_back();
      loaded.program = kernel.program;
      loaded.level = kernel.level;
      loaded.object = object.take();
      loaded.function = reinterpret_cast<decltype(loaded.function)>(
          loaded.object->find(kernel.symbol));
    }
  if (error)
    *error = message;
  else if (!message.empty())
    llvm::errs() << message << "\n";
  return kernels;
}

std::string weft::test::assemble(const std::string &text) {
  std::string error;
  CpuOptions options;
  options.emitAssembly = true;
  auto compiled = compileText(text, options, true, error);
  if (failed(compiled)) {
    llvm::errs() << error;
    return {};
  }
  std::string result;
  for (CompiledKernel &kernel : *compiled)
    result.append(kernel.object.begin(), kernel.object.end());
  return result;
}

std::vector<std::vector<uint8_t>>
weft::test::compileToObjects(const std::string &text, bool threads) {
  std::string error;
  std::vector<std::vector<uint8_t>> objects;
  auto compiled = compileText(text, {}, threads, error);
  if (failed(compiled)) {
    llvm::errs() << error;
    return objects;
  }
  for (CompiledKernel &kernel : *compiled)
    objects.push_back(std::move(kernel.object));
  return objects;
}
