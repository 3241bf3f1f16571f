//===- OldSpelling.h - A checkpoint as older software would have saved it -===//

#ifndef WEFT_TEST_E2E_OLDSPELLING_H
#define WEFT_TEST_E2E_OLDSPELLING_H

#include <filesystem>

#include <nlohmann/json.hpp>

namespace weft::e2e {

/// The same facts as a config in the newest spelling (`rope_parameters`,
/// `dtype`, `layer_types`) in the spelling of transformers 4.4x. The table in
/// docs/families.md has both. Throws std::runtime_error for layers that slide
/// in a way that the older keys cannot say.
nlohmann::json spellAsBefore(nlohmann::json config);

/// Copies a checkpoint folder and rewrites its config.json.
void copyWithOldSpelling(const std::filesystem::path &from,
                         const std::filesystem::path &to);

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_OLDSPELLING_H
