//===- CheckpointFolder.cpp - The tensors of a Hugging Face checkpoint ----===//

#include "compiler/Import/CheckpointFolder.h"

#include "compiler/Import/Json.h"
#include "compiler/Import/Safetensors.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <map>
#include <set>

using namespace llvm;

namespace weft {

static constexpr char singleName[] = "model.safetensors";
static constexpr char indexName[] = "model.safetensors.index.json";
static constexpr size_t maxIndexBytes = 256 << 20;

void CheckpointFolder::addFile(const Folder &folder, StringRef name,
                               ImportReport &report) {
  auto file = folder.map(name);
  if (!file) {
    report.unreadable(folder.getPath() + "/" + name, file.takeError(),
                      "a safetensors file",
                      "fetch the checkpoint again, with all of its files");
    return;
  }
  readSafetensors((*file)->getBytes(), name, tensors, report);
  files[name] = std::move(*file);
}

void CheckpointFolder::addIndexed(const Folder &folder, ImportReport &report) {
  size_t errorsBefore = report.getErrorCount();
  auto text = folder.readText(indexName, maxIndexBytes);
  if (!text) {
    report.unreadable(indexName, text.takeError(),
                      "the index of the checkpoint's files");
    return;
  }
  Expected<json::Value> index = parseJson(*text);
  if (!index) {
    report.unreadable(indexName, index.takeError(),
                      "a JSON object with a weight_map");
    return;
  }
  const json::Object *root = index->getAsObject();
  const json::Object *map = root ? root->getObject("weight_map") : nullptr;
  if (!map) {
    report.error(indexName, root ? "no object weight_map" : printJson(*index),
                 "an object with a weight_map from tensor to file");
    return;
  }

  // Ordered, so that the report does not depend on hashing.
  std::map<StringRef, StringRef> fileOfTensor;
  std::set<StringRef> fileNames;
  for (const auto &member : *map) {
    StringRef tensor = member.first;
    std::string where =
        (Twine(indexName) + ": weight_map: '" + tensor + "'").str();
    std::optional<StringRef> file = member.second.getAsString();
    std::string bad = file ? checkRelativePath(*file) : "";
    if (!file || !bad.empty()) {
      report.error(where,
                   printJson(member.second) + (bad.empty() ? "" : ", " + bad),
                   "the name of a file inside the checkpoint's folder",
                   "do not use this checkpoint unless you trust its source");
      continue;
    }
    fileOfTensor[tensor] = *file;
    fileNames.insert(*file);
  }
  for (StringRef file : fileNames)
    addFile(folder, file, report);
  if (report.getErrorCount() != errorsBefore)
    return;

  StringMap<const TensorInfo *> found;
  for (const TensorInfo &tensor : tensors) {
    auto entry = fileOfTensor.find(tensor.name);
    if (entry == fileOfTensor.end())
      report.warning(tensor.file + ": tensor '" + tensor.name + "'",
                     "a tensor that the index does not list",
                     "an entry in the weight_map", "it is used all the same");
    found[tensor.name] = &tensor;
  }
  for (const auto &[tensor, file] : fileOfTensor) {
    const TensorInfo *info = found.lookup(tensor);
    if (!info || info->file != file)
      report.error(Twine(indexName) + ": weight_map: '" + tensor + "'",
                   info ? "the tensor in '" + info->file + "'"
                        : std::string("no such tensor"),
                   "it in '" + file + "'",
                   "fetch the checkpoint again, with all of its files");
  }
}

void CheckpointFolder::sortTensors(ImportReport &report) {
  llvm::sort(tensors, [](const TensorInfo &a, const TensorInfo &b) {
    return std::tie(a.name, a.file) < std::tie(b.name, b.file);
  });
  for (size_t i = 1; i < tensors.size(); ++i)
    if (tensors[i].name == tensors[i - 1].name)
      report.error("tensor '" + tensors[i].name + "'",
                   "it in both '" + tensors[i - 1].file + "' and '" +
                       tensors[i].file + "'",
                   "each tensor in one file",
                   "fetch the checkpoint again, into an empty folder");
}

std::unique_ptr<CheckpointFolder> CheckpointFolder::open(const Folder &folder,
                                                         ImportReport &report) {
  size_t errorsBefore = report.getErrorCount();
  std::unique_ptr<CheckpointFolder> result(new CheckpointFolder);
  bool single = folder.exists(singleName);
  if (single && folder.exists(indexName))
    report.warning(folder.getPath(), Twine(singleName) + " and " + indexName,
                   "one of the two", Twine(singleName) + " is used");
  if (single) {
    result->addFile(folder, singleName, report);
  } else if (folder.exists(indexName)) {
    result->addIndexed(folder, report);
  } else {
    bool shards = any_of(folder.list(), [](StringRef name) {
      return name.ends_with(".safetensors");
    });
    bool pickles = any_of(folder.list(), [](StringRef name) {
      return name.starts_with("pytorch_model");
    });
    report.error(folder.getPath(),
                 shards    ? ".safetensors files without an index"
                 : pickles ? "weights as pytorch_model*.bin only"
                           : "no weights",
                 Twine(singleName) + " or " + indexName,
                 pickles ? "save the model with save_pretrained(..., "
                           "safe_serialization=True)"
                         : "fetch the checkpoint again, with all of its files");
  }
  result->sortTensors(report);
  if (report.getErrorCount() != errorsBefore)
    return nullptr;
  return result;
}

std::optional<ArrayRef<uint8_t>>
CheckpointFolder::getMapped(const TensorInfo &tensor) const {
  const MappedFile &file = *files.find(tensor.file)->second;
  return file.getBytes().slice(tensor.offset, tensor.byteSize);
}

void CheckpointFolder::readChecked(const TensorInfo &tensor, uint64_t offset,
                                   MutableArrayRef<uint8_t> bytes) const {
  if (!bytes.empty())
    std::memcpy(bytes.data(), getMapped(tensor)->data() + offset, bytes.size());
}

} // namespace weft
