//===- FamilyConfigs.h - What each family's config means ------------------===//

#ifndef WEFT_COMPILER_IMPORT_HUGGINGFACE_FAMILYCONFIGS_H
#define WEFT_COMPILER_IMPORT_HUGGINGFACE_FAMILYCONFIGS_H

#include "compiler/Import/HuggingFace/Config.h"
#include "compiler/Import/HuggingFace/ConfigReader.h"

namespace weft {

/// Reads all keys that the family understands. Problems go to the reader's
/// report; with errors in it the result must not be used.
ModelConfig parseFamilyConfig(ConfigReader &reader, Family family,
                              const ConfigOptions &options);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_HUGGINGFACE_FAMILYCONFIGS_H
