#include "test/reference/MalformedCheckpoint.h"
#include "test/reference/RandomCheckpoint.h"

#include <cstring>
#include <fstream>

using namespace weft::reference;
using nlohmann::json;
namespace fs = std::filesystem;

static constexpr const char *kIndex = "model.safetensors.index.json";
static constexpr const char *kQuery = "model.layers.0.self_attn.q_proj.weight";

static RandomOptions tinyLlama() {
  RandomOptions options;
  options.vocabulary = 32;
  options.hidden = 16;
  options.layers = 1;
  options.heads = 2;
  options.kvHeads = 1;
  options.headSize = 8;
  options.intermediate = 24;
  options.maxPositions = 32;
  return options;
}

static std::string readBytes(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

static std::string withLength(uint64_t length, const std::string &rest) {
  std::string bytes(reinterpret_cast<const char *>(&length), 8);
  return bytes + rest;
}

/// Rewrites the header text of model.safetensors; the data stay.
static void editHeader(const fs::path &folder,
                       const std::function<std::string(json)> &edit) {
  writeRandomCheckpoint(folder, tinyLlama());
  std::string bytes = readBytes(folder / "model.safetensors");
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  std::string header = edit(json::parse(bytes.substr(8, length)));
  writeFile(folder / "model.safetensors",
            withLength(header.size(), header + bytes.substr(8 + length)));
}

static void editEntry(const fs::path &folder, const char *key,
                      const json &value) {
  editHeader(folder, [&](json header) {
    header[kQuery][key] = value;
    return header.dump();
  });
}

static void editConfig(const fs::path &folder, const json &patch) {
  RandomOptions options = tinyLlama();
  options.config = patch;
  writeRandomCheckpoint(folder, options);
}

static void editIndex(const fs::path &folder,
                      const std::function<void(json &)> &edit) {
  RandomOptions options = tinyLlama();
  options.shards = 2;
  writeRandomCheckpoint(folder, options);
  json index = json::parse(readBytes(folder / kIndex));
  edit(index);
  writeFile(folder / kIndex, index.dump());
}

static void nameShard(const fs::path &folder, const std::string &shard) {
  editIndex(folder, [&](json &index) { index["weight_map"][kQuery] = shard; });
}

static Malformation header(const char *name, const char *cause,
                           std::function<std::string(json)> edit,
                           const char *culprit = "header") {
  return {name, cause, culprit,
          [edit](const fs::path &folder) { editHeader(folder, edit); }};
}

static Malformation entry(const char *name, const char *cause, const char *key,
                          const json &value) {
  return {name, cause, kQuery, [key, value](const fs::path &folder) {
            editEntry(folder, key, value);
          }};
}

static Malformation config(const char *name, const char *cause,
                           const json &patch, const char *culprit) {
  return {name, cause, culprit,
          [patch](const fs::path &folder) { editConfig(folder, patch); }};
}

static Malformation shard(const char *name, const char *cause,
                          const std::string &value) {
  return {name, cause, kQuery,
          [value](const fs::path &folder) { nameShard(folder, value); }};
}

static Malformation file(const char *name, const char *cause,
                         std::function<std::string(std::string)> edit) {
  return {name, cause, "model.safetensors", [edit](const fs::path &folder) {
            writeRandomCheckpoint(folder, tinyLlama());
            fs::path file = folder / "model.safetensors";
            writeFile(file, edit(readBytes(file)));
          }};
}

// A22.
static void addFileCases(std::vector<Malformation> &to) {
  to.push_back(file("EmptyFile", "the file has no bytes",
                    [](std::string) { return std::string(); }));
  to.push_back(file("ShortLength", "the header length has five bytes",
                    [](std::string bytes) { return bytes.substr(0, 5); }));
  to.push_back(file("TruncatedHeader", "the file ends in the header",
                    [](std::string bytes) { return bytes.substr(0, 100); }));
  to.push_back(file(
      "TruncatedData", "the last 4 bytes are missing",
      [](std::string bytes) { return bytes.substr(0, bytes.size() - 4); }));
  to.push_back(
      file("HeaderLongerThanFile", "header length 2^40", [](std::string bytes) {
        return withLength(uint64_t(1) << 40, bytes.substr(8));
      }));
  to.push_back(file("HeaderLengthOverflows", "header length 2^64 - 1",
                    [](std::string bytes) {
                      return withLength(~uint64_t(0), bytes.substr(8));
                    }));
  to.push_back(header("HeaderNotJson", "the header is cut JSON",
                      [](json h) { return h.dump().substr(0, 200); }));
  to.push_back(header("HeaderNotObject", "the header is a list",
                      [](json) { return std::string("[1, 2, 3]"); }));
  to.push_back(header("HeaderDeep", "100,000 nested lists in the header",
                      [](json) { return std::string(100'000, '['); }));
  to.push_back(header(
      "DuplicateName", "a tensor is named twice",
      [](json h) {
        std::string text = h.dump();
        return "{\"" + std::string(kQuery) + "\": " + h[kQuery].dump() + ", " +
               text.substr(1);
      },
      kQuery));
  to.push_back(header(
      "Overlap", "two tensors share their bytes",
      [](json h) {
        h[kQuery]["data_offsets"] =
            h["model.layers.0.self_attn.o_proj.weight"]["data_offsets"];
        return h.dump();
      },
      kQuery));
  to.push_back({"MissingTensor", "a tensor that the config needs is missing",
                kQuery, [](const fs::path &folder) {
                  RandomOptions options = tinyLlama();
                  writeRandomCheckpoint(folder, options);
                  std::vector<NamedTensor> tensors = makeTensors(options);
                  std::erase_if(tensors, [](const NamedTensor &tensor) {
                    return tensor.name == kQuery;
                  });
                  writeSafetensors(folder / "model.safetensors", tensors,
                                   options.elementType);
                }});
  to.push_back(header(
      "EntryNotObject", "a tensor's entry is a number",
      [](json h) {
        h[kQuery] = 7;
        return h.dump();
      },
      kQuery));
  to.push_back(entry("OffsetsOutOfRange", "the end lies beyond the file",
                     "data_offsets", {1'000'000, 1'001'024}));
  to.push_back(entry("OffsetsReversed", "begin is larger than end",
                     "data_offsets", {1024, 0}));
  to.push_back(
      entry("OffsetNegative", "begin is -1024", "data_offsets", {-1024, 0}));
  to.push_back(entry("OffsetsHuge", "end is 2^64 - 1", "data_offsets",
                     {0, ~uint64_t(0)}));
  to.push_back(
      entry("OffsetNotInteger", "begin is 0.5", "data_offsets", {0.5, 1024}));
  to.push_back(entry("OffsetsMissing", "one offset only", "data_offsets", {0}));
  to.push_back(entry("SizeTooSmall", "4 bytes for 1000 x 1000 floats", "shape",
                     {1000, 1000}));
  to.push_back(entry("ShapeOverflows", "2^33 x 2^33 elements", "shape",
                     {uint64_t(1) << 33, uint64_t(1) << 33}));
  to.push_back(entry("ShapeWrapsToSize", "2^62 x 4 x 16 wraps to 0 elements",
                     "shape", {uint64_t(1) << 62, 4, 16}));
  to.push_back(
      entry("DimensionNegative", "a dimension of -16", "shape", {-16, -16}));
  to.push_back(entry("ShapeNotList", "the shape is a number", "shape", 256));
  to.push_back(entry("UnknownType", "dtype F7", "dtype", "F7"));
  to.push_back(entry("TypeContradictsSize", "dtype F16 with the bytes of F32",
                     "dtype", "F16"));
  to.push_back(entry("IntegerWeight", "a matrix of I32", "dtype", "I32"));
}

// A7.
static void addIndexCases(std::vector<Malformation> &to) {
  to.push_back(shard("ShardInParent", "the shard's name leaves the folder",
                     "../other/model.safetensors"));
  to.push_back(shard("ShardAbsolute", "the shard's name is an absolute path",
                     "/etc/hostname"));
  to.push_back(shard("ShardInside", "the shard's name climbs inside",
                     "a/../../model.safetensors"));
  to.push_back(shard("ShardZeroByte", "the shard's name has a zero byte",
                     std::string("shard\0.safetensors", 18)));
  to.push_back(shard("ShardEmpty", "the shard's name is empty", ""));
  to.push_back(shard("ShardDot", "the shard's name is ..", ".."));
  to.push_back({"ShardMissing", "the shard does not exist", "model-00009",
                [](const fs::path &folder) {
                  nameShard(folder, "model-00009-of-00009.safetensors");
                }});
  to.push_back(shard("WrongShard", "the tensor is in another shard",
                     "model-00002-of-00002.safetensors"));
  to.push_back({"TwoShards", "a tensor is in two shards", "model-0000",
                [](const fs::path &folder) {
                  RandomOptions options = tinyLlama();
                  options.shards = 2;
                  writeRandomCheckpoint(folder, options);
                  // The second shard becomes a copy of everything.
                  writeSafetensors(folder / "model-00002-of-00002.safetensors",
                                   makeTensors(options), options.elementType);
                }});
  to.push_back({"IndexNotJson", "the index is not JSON", kIndex,
                [](const fs::path &folder) {
                  editIndex(folder, [](json &) {});
                  writeFile(folder / kIndex, "{\"weight_map\": ");
                }});
  to.push_back({"IndexWithoutMap", "the index has no weight_map", "weight_map",
                [](const fs::path &folder) {
                  editIndex(folder,
                            [](json &index) { index.erase("weight_map"); });
                }});
  to.push_back({"ShardNotString", "the shard's name is a number", kQuery,
                [](const fs::path &folder) {
                  editIndex(folder, [](json &index) {
                    index["weight_map"][kQuery] = 1;
                  });
                }});
}

static void addConfigCases(std::vector<Malformation> &to) {
  to.push_back({"ConfigMissing", "there is no config.json", "config.json",
                [](const fs::path &folder) {
                  writeRandomCheckpoint(folder, tinyLlama());
                  fs::remove(folder / "config.json");
                }});
  to.push_back({"ConfigNotJson", "config.json is cut", "config.json",
                [](const fs::path &folder) {
                  writeRandomCheckpoint(folder, tinyLlama());
                  writeFile(folder / "config.json", "{\"model_type\": \"lla");
                }});
  to.push_back({"WeightsMissing", "there is no weight file",
                "model.safetensors", [](const fs::path &folder) {
                  writeRandomCheckpoint(folder, tinyLlama());
                  fs::remove(folder / "model.safetensors");
                }});
  to.push_back(config("UnknownFamily", "model_type is unknown",
                      {{"model_type", "perceptron"}}, "model_type"));
  to.push_back(config("HiddenContradicts", "hidden_size is not the weights'",
                      {{"hidden_size", 32}}, "model."));
  to.push_back(config("HeadsContradict", "the weights have 2 heads",
                      {{"num_attention_heads", 4}}, "self_attn"));
  to.push_back(config("LayersContradict", "the weights have 1 layer",
                      {{"num_hidden_layers", 2}}, "model.layers.1."));
  to.push_back(config("VocabularyContradicts", "the weights have 32 tokens",
                      {{"vocab_size", 33}}, "embed_tokens"));
  to.push_back(config("HeadsNotDivisible", "3 heads over 2 kv heads",
                      {{"num_attention_heads", 3}, {"num_key_value_heads", 2}},
                      "num_key_value_heads"));
  to.push_back(config("HiddenMissing", "hidden_size is missing",
                      {{"hidden_size", nullptr}}, "hidden_size"));
  to.push_back(config("HiddenIsText", "hidden_size is a string",
                      {{"hidden_size", "16"}}, "hidden_size"));
  to.push_back(config("LayersZero", "num_hidden_layers is 0",
                      {{"num_hidden_layers", 0}}, "num_hidden_layers"));
  to.push_back(config("LayersHuge", "num_hidden_layers is 2^62",
                      {{"num_hidden_layers", int64_t(1) << 62}},
                      "num_hidden_layers"));
  to.push_back(config("UnknownActivation", "hidden_act is unknown",
                      {{"hidden_act", "cosine"}}, "hidden_act"));
  to.push_back(config("UnknownRope", "rope_type is unknown",
                      {{"rope_parameters", {{"rope_type", "spiral"}}}},
                      "rope_type"));
  to.push_back(config("RopeWithoutFactor", "linear rope without factor",
                      {{"rope_parameters", {{"rope_type", "linear"}}}},
                      "factor"));
  to.push_back({"HeadMissing", "not tied, but no head (A21)", "lm_head.weight",
                [](const fs::path &folder) {
                  RandomOptions options = tinyLlama();
                  options.storeHead = false;
                  writeRandomCheckpoint(folder, options);
                }});
}

const std::vector<Malformation> &weft::reference::malformations() {
  static const std::vector<Malformation> all = [] {
    std::vector<Malformation> list;
    addFileCases(list);
    addIndexCases(list);
    addConfigCases(list);
    return list;
  }();
  return all;
}
