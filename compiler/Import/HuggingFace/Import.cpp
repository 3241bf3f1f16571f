//===- Import.cpp - A Hugging Face checkpoint folder as a whole -----------===//

#include "compiler/Import/HuggingFace/Import.h"

#include "compiler/Import/CheckpointFolder.h"
#include "compiler/Import/Folder.h"
#include "compiler/Import/Synthesize.h"
#include "compiler/Import/TokenizerFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace weft {

static constexpr size_t maxConfigBytes = 16 << 20;
/// Generated from bench/configs.
static constexpr struct {
  StringRef name, text;
} builtinConfigs[] = {
#include "compiler/Import/BuiltinConfigs.inc"
};

std::vector<StringRef> getBuiltinConfigs() {
  std::vector<StringRef> names;
  for (const auto &config : builtinConfigs)
    names.push_back(config.name);
  return names;
}

static std::optional<Folder> openFolder(StringRef path, bool followLinks,
                                        ImportReport &report) {
  auto folder = Folder::open(path, followLinks);
  if (folder)
    return std::move(*folder);
  report.unreadable(
      path, folder.takeError(),
      "a checkpoint folder with config.json and model.safetensors");
  return std::nullopt;
}

static std::optional<ModelConfig> readConfig(const Folder &folder,
                                             const ImportOptions &options,
                                             ImportReport &report) {
  size_t errorsBefore = report.getErrorCount();
  std::string config =
      readOrReport(folder, "config.json", maxConfigBytes, report,
                   "the config.json of a Hugging Face checkpoint");
  if (report.getErrorCount() != errorsBefore)
    return std::nullopt;
  std::optional<std::string> generation;
  if (folder.exists("generation_config.json"))
    generation = readOrReport(folder, "generation_config.json", maxConfigBytes,
                              report, "a readable file");
  // The text of an unreadable file would be reported once more.
  if (report.getErrorCount() != errorsBefore)
    generation.reset();
  return parseHuggingFaceConfig(config, generation, options.config, report);
}

static std::string nameOf(StringRef path) {
  SmallString<128> full(path);
  sys::fs::make_absolute(full);
  sys::path::remove_dots(full, /*remove_dot_dot=*/true);
  // Goes into JSON; a path can hold any bytes.
  return json::fixUTF8(sys::path::filename(full.str().rtrim('/')));
}

std::vector<std::string> listCheckpointFiles(StringRef path) {
  std::vector<std::string> files;
  auto folder = Folder::open(path, /*followLinks=*/true);
  if (!folder) {
    consumeError(folder.takeError());
    return files;
  }
  for (StringRef name : folder->list())
    if (name == "config.json" || name == "generation_config.json" ||
        name.ends_with(".safetensors") ||
        name.ends_with(".safetensors.index.json") || isTokenizerFile(name))
      files.push_back((path + "/" + name).str());
  return files;
}

std::optional<ImportedModel> importCheckpoint(StringRef path,
                                              const ImportOptions &options,
                                              ImportReport &report) {
  size_t errorsBefore = report.getErrorCount();
  auto folder = openFolder(path, options.followLinks, report);
  if (!folder)
    return std::nullopt;
  ImportedModel model;
  model.name = nameOf(path);
  std::optional<ModelConfig> config = readConfig(*folder, options, report);
  model.source = CheckpointFolder::open(*folder, report);
  model.tokenizerFiles = readTokenizerFiles(*folder, report);
  if (config && model.source) {
    model.config = std::move(*config);
    model.weights = describeWeights(model.config, model.source.get());
    checkWeights(model.config, model.weights, *model.source, report);
  }
  if (report.getErrorCount() != errorsBefore)
    return std::nullopt;
  return model;
}

/// The config that the argument of --synthesize names.
static std::optional<ModelConfig> findConfig(StringRef path,
                                             const ImportOptions &options,
                                             ImportedModel &model,
                                             ImportReport &report) {
  for (const auto &builtin : builtinConfigs)
    if (builtin.name == path) {
      model.name = path.str();
      return parseHuggingFaceConfig(builtin.text, std::nullopt, options.config,
                                    report);
    }
  bool isFile = sys::fs::is_regular_file(path);
  if (!isFile && !sys::fs::is_directory(path)) {
    report.error("--synthesize", "'" + path + "'",
                 "a config.json, a folder with one, or one of " +
                     join(getBuiltinConfigs(), ", "));
    return std::nullopt;
  }
  StringRef folderPath = path;
  if (isFile)
    folderPath = sys::path::has_parent_path(path) ? sys::path::parent_path(path)
                                                  : StringRef(".");
  auto folder = openFolder(folderPath, options.followLinks, report);
  if (!folder)
    return std::nullopt;
  model.name = isFile ? sys::path::stem(path).str() : nameOf(path);
  if (!isFile) {
    model.tokenizerFiles = readTokenizerFiles(*folder, report);
    return readConfig(*folder, options, report);
  }
  std::string text = readOrReport(*folder, sys::path::filename(path),
                                  maxConfigBytes, report, "a config");
  return parseHuggingFaceConfig(text, std::nullopt, options.config, report);
}

std::optional<ImportedModel> synthesizeModel(StringRef path, uint64_t seed,
                                             const ImportOptions &options,
                                             ImportReport &report) {
  size_t errorsBefore = report.getErrorCount();
  ImportedModel model;
  std::optional<ModelConfig> config = findConfig(path, options, model, report);
  if (!config || report.getErrorCount() != errorsBefore)
    return std::nullopt;
  model.config = std::move(*config);
  model.weights = describeWeights(model.config, nullptr);
  auto source = SynthesizedWeights::create(model.config, model.weights, seed);
  if (!source) {
    report.unreadable(path, source.takeError(), "a smaller model");
    return std::nullopt;
  }
  model.source = std::move(*source);
  return model;
}

} // namespace weft
