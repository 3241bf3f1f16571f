//===- Messages.cpp - What a compilation says to the user -----------------===//

#include "tools/model/Messages.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace weft;

std::string tools::describeLocation(Location location) {
  // More names than this hide the message; a kernel can hold a whole layer.
  constexpr size_t maxNames = 4;
  SmallVector<StringRef> names;
  location->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part))
      if (!llvm::is_contained(names, name.getName().getValue()))
        names.push_back(name.getName());
    return WalkResult::advance();
  });
  if (names.size() <= maxNames)
    return llvm::join(names, ", ");
  return llvm::join(ArrayRef(names).take_front(maxNames), ", ") + " and " +
         std::to_string(names.size() - maxNames) + " more";
}

/// Whether the location is a place in a file.
static bool hasPlace(Location location) {
  return location
      ->walk([](Location part) {
        return isa<FileLineColRange>(part) ? WalkResult::interrupt()
                                           : WalkResult::advance();
      })
      .wasInterrupted();
}

static llvm::raw_ostream &startLine(StringRef tool,
                                    DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return llvm::WithColor::note(llvm::errs(), tool);
  case DiagnosticSeverity::Warning:
    return llvm::WithColor::warning(llvm::errs(), tool);
  case DiagnosticSeverity::Remark:
    return llvm::WithColor::remark(llvm::errs(), tool);
  case DiagnosticSeverity::Error:
    return llvm::WithColor::error(llvm::errs(), tool);
  }
  llvm_unreachable("unknown severity");
}

static void printMessage(StringRef tool, DiagnosticSeverity severity,
                         Location location, const Twine &message) {
  std::string where = tools::describeLocation(location);
  startLine(tool, severity)
      << where << (where.empty() ? "" : ": ") << message << "\n";
}

tools::MessageHandler::MessageHandler(StringRef tool, llvm::SourceMgr &sources,
                                      MLIRContext *context)
    : SourceMgrDiagnosticHandler(sources, context) {
  setHandler([this, tool = tool.str()](Diagnostic &diagnostic) {
    if (hasPlace(diagnostic.getLocation())) {
      emitDiagnostic(diagnostic);
      return;
    }
    printMessage(tool, diagnostic.getSeverity(), diagnostic.getLocation(),
                 diagnostic.str());
    for (Diagnostic &note : diagnostic.getNotes())
      printMessage(tool, note.getSeverity(), note.getLocation(), note.str());
  });
}

namespace {
class RemarkPrinter : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkPrinter(StringRef tool) : tool(tool) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    // Text and reasons are sentences; other arguments are figures.
    std::string text, figures;
    for (const auto &argument : remark.getArgs()) {
      if (argument.key == "Remark" || argument.key == "Reason")
        text += argument.val;
      else
        figures +=
            (figures.empty() ? "" : ", ") + argument.key + "=" + argument.val;
    }
    if (!figures.empty())
      text += " (" + figures + ")";
    printMessage(tool, DiagnosticSeverity::Remark, remark.getLocation(),
                 "[" + remark.getRemarkTypeString() + "] " +
                     remark.getRemarkName() + ": " + text);
  }

private:
  std::string tool;
};
} // namespace

LogicalResult tools::printRemarks(StringRef tool, MLIRContext &context) {
  // `all` alone would enable none: each category has to be set.
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      categories.failed = ".*";
  return remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkPrinter>(tool),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
