//===- ComponentJson.h - The components of tokenizer.json -----------------===//
//
// normalizer, pre_tokenizer, decoder and post_processor: an object with a
// "type", or a "Sequence" of such objects.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_COMPONENTJSON_H
#define WEFT_RUNTIME_LLM_TOKENIZER_COMPONENTJSON_H

#include "runtime/Format/JsonReader.h"
#include "runtime/Llm/Tokenizer/TokenizerParts.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::rt {

/// Calls `read` for a component, or for each of a Sequence, whose list is
/// under `listKey`, in order. What `read` has not asked for is refused.
void readComponents(
    const Json &value, const std::string &path, const char *listKey,
    Status &error,
    const std::function<void(JsonReader &, const std::string &type)> &read);

/// "path[i]".
std::string itemPath(const std::string &path, size_t i);

/// The steps of a component; without use if `error` is set afterwards.
std::vector<std::unique_ptr<Normalizer>> readNormalizers(const Json &value,
                                                         Status &error);
std::vector<std::unique_ptr<PreTokenizer>> readPreTokenizers(const Json &value,
                                                             Status &error);
std::vector<std::unique_ptr<DecodeStep>> readDecoders(const Json &value,
                                                      Status &error);

/// Sets prefix and suffix of `parts`.
void readPostProcessors(const Json &value, Status &error,
                        TokenizerParts &parts);

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_COMPONENTJSON_H
