//===- weft-lsp-server.cpp - Language server for IR files -----------------===//

#include "compiler/Dialects.h"
#include "tools/common/ExitCodes.h"
#include "tools/common/Version.h"
#include "tools/model/WriteText.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace weft;
namespace cl = llvm::cl;

static constexpr const char *overview =
    "Language server for editors that show IR files (.mlir): diagnostics, "
    "definitions, hover texts. An editor starts it and speaks the Language "
    "Server Protocol with it on standard input and output.\n\n"
    "Exit codes: 0 done, 1 an error, 2 wrong options.\n";

/// MLIR's main function ends the process with code 1 where the command line is
/// wrong, so its options are checked before it declares them.
static bool checkOptions(int argc, char **argv) {
  static cl::OptionCategory category("Options of weft-lsp-server");
  cl::opt<std::string> inputStyle("input-style",
                                  cl::desc("Input as editors send it (json) or "
                                           "split by // ----- (delimited)"),
                                  cl::value_desc("style"), cl::cat(category));
  cl::opt<std::string> log("log",
                           cl::desc("Messages on standard error: error, info "
                                    "or verbose"),
                           cl::value_desc("level"), cl::cat(category));
  cl::opt<bool> pretty("pretty", cl::desc("Indent the JSON of answers"),
                       cl::cat(category));
  cl::opt<bool> litTest("lit-test",
                        cl::desc("--input-style=delimited --pretty "
                                 "--log=verbose, for tests"),
                        cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &stream) {
    stream << tools::describeVersion("weft-lsp-server") << "\n";
  });
  tools::reportLostOutput("weft-lsp-server");
  bool isRight =
      cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs());
  for (const cl::opt<std::string> *option : {&inputStyle, &log}) {
    static constexpr llvm::StringLiteral known[] = {"json", "delimited",
                                                    "error", "info", "verbose"};
    llvm::ArrayRef<llvm::StringLiteral> values(known);
    values = option == &log ? values.drop_front(2) : values.take_front(2);
    if (!isRight || !option->getNumOccurrences() ||
        llvm::is_contained(values, option->getValue()))
      continue;
    llvm::errs() << "weft-lsp-server: unknown --" << option->ArgStr << " '"
                 << *option << "'; expected one of " << llvm::join(values, ", ")
                 << "\n";
    isRight = false;
  }
  inputStyle.removeArgument();
  log.removeArgument();
  pretty.removeArgument();
  litTest.removeArgument();
  cl::ResetAllOptionOccurrences();
  return isRight;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  if (!checkOptions(argc, argv))
    return tools::exitUsage;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry))
             ? tools::exitDiagnosed
             : tools::exitOk;
}
