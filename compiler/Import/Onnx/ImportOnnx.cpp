//===- ImportOnnx.cpp - An ONNX file as a whole ---------------------------===//

#include "compiler/Import/Onnx/DecoderFiles.h"
#include "compiler/Import/Onnx/GraphImporter.h"
#include "compiler/Import/Onnx/ReadOnnx.h"
#include "passes/Graph/DecoderFacts.h"

#include "llvm/Support/Path.h"

#include <set>

using namespace mlir;
using namespace weft;

/// Versions of the format and of the operators of the standard that are known.
static constexpr int64_t minIr = 3, maxIr = 14, minOpset = 7, maxOpset = 28;

/// Calls `take` with each file that tensors of the nodes lie in.
static void forEachLocation(ArrayRef<OnnxNode> nodes,
                            llvm::function_ref<void(StringRef)> take);

static void forEachLocation(ArrayRef<OnnxTensor> tensors,
                            llvm::function_ref<void(StringRef)> take) {
  for (const OnnxTensor &tensor : tensors)
    for (const OnnxEntry &entry : tensor.external)
      if (entry.key == "location")
        take(entry.value);
}

static void forEachLocation(ArrayRef<OnnxNode> nodes,
                            llvm::function_ref<void(StringRef)> take) {
  for (const OnnxNode &node : nodes)
    for (const OnnxAttribute &attribute : node.attributes) {
      forEachLocation(attribute.tensors, take);
      for (const auto &graph : attribute.graphs) {
        forEachLocation(graph->initializers, take);
        forEachLocation(graph->nodes, take);
      }
    }
}

std::vector<std::string> weft::listOnnxFiles(StringRef path) {
  StringRef folderPath = llvm::sys::path::parent_path(path);
  auto folder = Folder::open(folderPath.empty() ? "." : folderPath,
                             /*followLinks=*/true);
  if (!folder) {
    llvm::consumeError(folder.takeError());
    return {};
  }
  std::set<std::string> names;
  for (const std::string &name : folder->list())
    if (isTokenizerFile(name) || isDecoderFile(name))
      names.insert(name);
  auto file = folder->map(llvm::sys::path::filename(path));
  if (!file) {
    llvm::consumeError(file.takeError());
    return {};
  }
  ImportReport report; // Import says what is wrong with the file.
  std::optional<OnnxModel> model = readOnnx((*file)->getBytes(), path, report);
  if (!model)
    return {};
  auto take = [&](StringRef name) { names.insert(name.str()); };
  forEachLocation(model->graph.initializers, take);
  forEachLocation(model->graph.nodes, take);
  for (const OnnxFunction &function : model->functions)
    forEachLocation(function.nodes, take);
  std::vector<std::string> files;
  for (const std::string &name : names)
    files.push_back(folder->getPath().str() + "/" + name);
  return files;
}

static void checkVersions(const OnnxModel &model, ImportReport &report) {
  if (model.irVersion < minIr || model.irVersion > maxIr)
    report.error("ir_version", Twine(model.irVersion),
                 Twine(minIr) + " to " + Twine(maxIr),
                 "export the model with another version of ONNX");
  for (const OnnxOpset &opset : model.opsets)
    if (opset.domain.empty() &&
        (opset.version < minOpset || opset.version > maxOpset))
      report.error("opset_import",
                   "version " + Twine(opset.version) + " of ai.onnx",
                   Twine(minOpset) + " to " + Twine(maxOpset),
                   "export the model for another version");
  for (StringRef name : model.graph.sparseInitializers)
    report.error("initializer '" + name + "'", "a sparse tensor", "a dense one",
                 "store it as a dense tensor");
}

/// Adds equalities of an attempt to those that are known.
static void addEqualities(SymbolEqualities &known,
                          const SymbolEqualities &found) {
  for (const auto &[symbol, size] : found) {
    for (auto &[other, value] : known) {
      Polynomial result(0);
      for (const auto &[monomial, coefficient] : value.getTerms()) {
        Polynomial term(coefficient);
        for (const std::string &name : monomial)
          term = term * (name == symbol ? size : Polynomial::symbol(name));
        result += term;
      }
      value = result;
    }
    known.insert_or_assign(symbol, size);
    // One at a time: the next ones are found again with this one known.
    break;
  }
}

std::optional<ImportedOnnx> weft::importOnnx(StringRef path,
                                             const OnnxImportOptions &options,
                                             MLIRContext &context,
                                             ImportReport &report) {
  StringRef fileName = llvm::sys::path::filename(path);
  std::string folderPath = llvm::sys::path::parent_path(path).str();
  auto folder =
      Folder::open(folderPath.empty() ? "." : folderPath, options.followLinks);
  if (!folder) {
    report.unreadable(path, folder.takeError(), "an ONNX file");
    return std::nullopt;
  }
  // The file that the user names may be a link.
  auto named = Folder::open(folder->getPath(), /*followLinks=*/true);
  if (!named) {
    report.unreadable(path, named.takeError(), "an ONNX file");
    return std::nullopt;
  }
  // Those beside it may lead out of the folder, as its external data may.
  auto beside = Folder::open(folder->getPath(), options.followLinks);
  if (!beside) {
    report.unreadable(path, beside.takeError(), "an ONNX file");
    return std::nullopt;
  }
  auto file = named->map(fileName);
  if (!file) {
    report.unreadable(path, file.takeError(), "an ONNX file");
    return std::nullopt;
  }
  auto weights =
      std::make_unique<OnnxWeights>(std::move(*folder), std::move(*file));
  std::optional<OnnxModel> model =
      readOnnx(weights->getFile(), fileName, report);
  if (!model)
    return std::nullopt;
  checkVersions(*model, report);
  auto functions = OnnxFunctions::create(*model, OnnxLimits().parts, report);
  if (!functions || report.hasErrors())
    return std::nullopt;

  std::string facts =
      readDecoderFacts(*beside, llvm::sys::path::stem(fileName), report);
  TokenizerFiles tokenizer = readTokenizerFiles(*beside, report);
  if (report.hasErrors())
    return std::nullopt;
  SymbolEqualities known;
  // Each attempt but the last one removes a symbol.
  for (size_t attempt = 0; attempt < 256; ++attempt) {
    weights->clear();
    auto location = FileLineColLoc::get(&context, fileName, 0, 0);
    OwningOpRef<ModuleOp> module = ModuleOp::create(location);
    GraphImporter importer(*model, *functions, *weights, options, known,
                           *module, report);
    if (importer.run()) {
      weights->finish();
      (*module)->setAttr(graph::decoderFactsAttrName,
                         StringAttr::get(&context, facts));
      return ImportedOnnx{std::move(module), std::move(weights),
                          std::move(tokenizer)};
    }
    if (report.hasErrors())
      return std::nullopt;
    addEqualities(known, importer.getEqualities());
  }
  report.error(fileName, "sizes that depend on each other without end",
               "names of sizes that agree");
  return std::nullopt;
}
