//===- PostProcessorJson.cpp - The ids around a text ----------------------===//

#include "runtime/Llm/Tokenizer/ComponentJson.h"

namespace weft::rt {

namespace {

/// Sets the ids around a text. Only one post-processor may: the tokenizers
/// library mixes up the parts when a second one does.
void wrap(JsonReader &reader, std::vector<int32_t> before,
          std::vector<int32_t> after, TokenizerParts &parts) {
  if (!parts.prefix.empty() || !parts.suffix.empty())
    reader.reject("type",
                  "only one post-processor that adds tokens is supported");
  parts.prefix = std::move(before);
  parts.suffix = std::move(after);
}

int32_t readId(const Json &value, const std::string &path, Status &error) {
  if (value.is_number_unsigned() && value.get<uint64_t>() < Vocabulary::idLimit)
    return value.get<int32_t>();
  if (error)
    error = Status::corrupt(path + " is " + describeJson(value) +
                            "; a token id is expected");
  return 0;
}

void readTemplate(JsonReader &reader, Status &error, TokenizerParts &parts) {
  const Json *tokens = reader.get("special_tokens");
  reader.skip("pair"); // encode() takes one text
  std::vector<int32_t> before, after;
  int texts = 0;
  const Json &items = reader.array("single");
  for (size_t i = 0; i < items.size() && error; ++i) {
    std::string path = itemPath(reader.pathOf("single"), i);
    JsonReader item(items[i], path, error);
    if (const Json *sequence = item.get("Sequence")) {
      JsonReader text(*sequence, item.pathOf("Sequence"), error);
      if (text.string("id") != "A")
        text.reject("id", "the template of a single text has only A");
      text.optInteger("type_id", 0, INT32_MAX);
      text.finish();
      ++texts;
    } else if (const Json *special = item.get("SpecialToken")) {
      JsonReader token(*special, item.pathOf("SpecialToken"), error);
      std::string name = token.string("id");
      token.optInteger("type_id", 0, INT32_MAX);
      token.finish();
      if (!tokens || !tokens->is_object() || !tokens->contains(name)) {
        token.reject("id", "it is not in special_tokens");
        break;
      }
      JsonReader entry((*tokens)[name], reader.pathOf("special_tokens." + name),
                       error);
      entry.skip("id");
      entry.skip("tokens");
      for (const Json &id : entry.array("ids"))
        (texts ? after : before)
            .push_back(readId(id, entry.pathOf("ids"), error));
      entry.finish();
    }
    item.finish();
  }
  if (error && texts != 1)
    reader.reject("single",
                  "a template with the text exactly once is expected");
  wrap(reader, std::move(before), std::move(after), parts);
}

void readPostProcessor(JsonReader &reader, const std::string &type,
                       Status &error, TokenizerParts &parts) {
  if (type == "ByteLevel") {
    for (const char *key : {"add_prefix_space", "trim_offsets", "use_regex"})
      reader.optBool(key); // all about offsets
  } else if (type == "TemplateProcessing") {
    readTemplate(reader, error, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    auto token = [&](const char *key) -> std::vector<int32_t> {
      const Json &pair = reader.array(key);
      if (pair.size() == 2)
        return {readId(pair[1], reader.pathOf(key), error)};
      reader.reject(key, "a token and its id are expected");
      return {};
    };
    if (type == "RobertaProcessing")
      for (const char *key : {"trim_offsets", "add_prefix_space"})
        reader.optBool(key); // about offsets
    std::vector<int32_t> cls = token("cls"), sep = token("sep");
    wrap(reader, std::move(cls), std::move(sep), parts);
  } else {
    reader.reject("type", "this post-processor is not supported");
  }
}

} // namespace

void readPostProcessors(const Json &value, Status &error,
                        TokenizerParts &parts) {
  readComponents(value, "post_processor", "processors", error,
                 [&](JsonReader &reader, const std::string &type) {
                   readPostProcessor(reader, type, error, parts);
                 });
}

} // namespace weft::rt
