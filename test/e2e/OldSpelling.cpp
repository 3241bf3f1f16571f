//===- OldSpelling.cpp - A checkpoint as older software would have saved it
//===//

#include "test/e2e/OldSpelling.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

using nlohmann::json;
namespace fs = std::filesystem;

static void rename(json &config, const char *from, const char *to) {
  if (!config.contains(from))
    return;
  config[to] = config[from];
  config.erase(from);
}

static void spellRope(json &config, const std::string &family) {
  json rope = config["rope_parameters"];
  config.erase("rope_parameters");
  if (family == "gemma3_text") {
    config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"];
    rope = json(rope["full_attention"]);
  }
  rename(rope, "rope_type", "type");
  bool isNeox = family == "gpt_neox";
  for (auto [key, name] :
       {std::pair("rope_theta", isNeox ? "rotary_emb_base" : "rope_theta"),
        {"partial_rotary_factor",
         isNeox ? "rotary_pct" : "partial_rotary_factor"}})
    if (rope.contains(key)) {
      config[name] = rope[key];
      rope.erase(key);
    }
  config["rope_scaling"] = rope["type"] == "default" ? json() : rope;
}

/// Replaces layer_types by the rule that it follows.
static void spellLayers(json &config, const std::string &family) {
  std::vector<bool> slides;
  for (const json &type : config["layer_types"])
    slides.push_back(type == "sliding_attention");
  config.erase("layer_types");
  std::vector<bool> rule(slides.size());
  if (family == "gemma2") {
    for (size_t i = 0; i < rule.size(); ++i)
      rule[i] = i % 2 == 0;
  } else if (family == "gemma3_text") {
    config.erase("_sliding_window_pattern");
    size_t pattern = size_t(std::find(slides.begin(), slides.end(), false) -
                            slides.begin()) +
                     1;
    config["sliding_window_pattern"] = pattern;
    for (size_t i = 0; i < rule.size(); ++i)
      rule[i] = (i + 1) % pattern != 0;
  } else {
    size_t first =
        size_t(std::find(slides.begin(), slides.end(), true) - slides.begin());
    config["max_window_layers"] = first;
    for (size_t i = first; i < rule.size(); ++i)
      rule[i] = true;
  }
  if (rule != slides)
    throw std::runtime_error("the older keys of " + family +
                             " cannot say these layer_types");
}

json weft::e2e::spellAsBefore(json config) {
  std::string family = config["model_type"];
  config["transformers_version"] = "4.44.0";
  rename(config, "dtype", "torch_dtype");
  if (config.contains("rope_parameters"))
    spellRope(config, family);
  if (config.contains("layer_types"))
    spellLayers(config, family);
  if (family == "qwen3_moe")
    rename(config, "num_local_experts", "num_experts");
  return config;
}

void weft::e2e::copyWithOldSpelling(const fs::path &from, const fs::path &to) {
  fs::copy(from, to, fs::copy_options::recursive);
  json config = json::parse(std::ifstream(from / "config.json"));
  std::ofstream(to / "config.json") << spellAsBefore(config).dump(2) << "\n";
}
