//===- MalformedCheckpoint.h - Checkpoint folders that must be refused ----===//
//
// The cases A7 and A22 and their kin: every folder here is wrong in one way.
// Whatever reads checkpoints must refuse it with an error that names the
// cause, without a crash, a large allocation or a file opened outside the
// folder.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_REFERENCE_MALFORMEDCHECKPOINT_H
#define WEFT_TEST_REFERENCE_MALFORMEDCHECKPOINT_H

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace weft::reference {

struct Malformation {
  std::string name;  ///< For a test's name: letters, digits, underscores.
  std::string cause; ///< What is wrong, in words.
  /// A word that any good message about it has: a tensor, a file or a key.
  std::string culprit;
  /// Writes the folder, creating it. The checkpoint is otherwise a valid tiny
  /// llama.
  std::function<void(const std::filesystem::path &folder)> write;
};

/// All of them, in a fixed order.
const std::vector<Malformation> &malformations();

} // namespace weft::reference

#endif // WEFT_TEST_REFERENCE_MALFORMEDCHECKPOINT_H
