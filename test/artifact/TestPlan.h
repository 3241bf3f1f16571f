//===- TestPlan.h - Small plans and files for the artifact tests ----------===//

#ifndef WEFT_TEST_ARTIFACT_TESTPLAN_H
#define WEFT_TEST_ARTIFACT_TESTPLAN_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Reader.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace weft::rt::test {

/// A plan that uses every kind of record: two symbols, two states, three
/// parameters, two kernels of which one shares its code, one entry with a
/// launch, a copy and a fill over overlapping lifetimes.
Plan makePlan();

/// The bytes that the tests store for a parameter of makePlan.
std::vector<std::byte> makeParamBytes(const Plan &plan, size_t index);

/// Writes a plan with makeParamBytes; gives the file's path back.
std::string writePlan(const std::filesystem::path &path, const Plan &plan,
                      bool externalWeights = false);

std::vector<std::byte> readFile(const std::filesystem::path &path);
void writeFile(const std::filesystem::path &path,
               std::span<const std::byte> bytes);

/// Makes the header's and all sections' checksums right again where the section
/// table can be followed, so that changed bytes reach the code behind them.
void repairChecksums(std::span<std::byte> file);

/// Reads all that an open artifact offers, so that sanitizers see every range.
/// Fails the process if its plan does not verify.
void readEverything(const Artifact &artifact);

/// A new folder that disappears with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;

  std::filesystem::path operator/(const std::string &name) const {
    return path / name;
  }
  std::vector<std::string> list() const;

private:
  std::filesystem::path path;
};

/// Bytes at an address that is a multiple of 64, as openMemory needs.
class AlignedBytes {
public:
  explicit AlignedBytes(std::span<const std::byte> from);
  std::span<std::byte> get() { return {begin, size}; }

private:
  std::vector<std::byte> storage;
  std::byte *begin = nullptr;
  size_t size = 0;
};

} // namespace weft::rt::test

#endif // WEFT_TEST_ARTIFACT_TESTPLAN_H
