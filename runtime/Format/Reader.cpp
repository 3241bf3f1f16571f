//===- Reader.cpp - Opens .weft artifacts ---------------------------------===//

#include "runtime/Format/Reader.h"
#include "runtime/Format/Layout.h"
#include "runtime/Format/MappedFile.h"
#include "runtime/Format/Records.h"
#include "runtime/Format/Verify.h"

#include <algorithm>
#include <bit>
#include <optional>

using namespace weft::rt;

namespace {

using layout::Prefix;
using layout::SectionRow;

/// What the tags mean to this reader.
constexpr std::string_view neededTags[] = {"META", "SIGN", "PARM", "KERN",
                                           "CODE", "BUFS", "CMDS"};
constexpr std::string_view otherTags[] = {"DATA", "VARI", "WORK", "TOKN",
                                          "DBUG"};

std::string printTag(const layout::Tag &tag) {
  std::string text;
  for (char c : tag)
    text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

Result<Prefix> readPrefix(std::span<const std::byte> file) {
  Prefix prefix;
  if (file.size() < sizeof(Prefix))
    return Status::corrupt("the file has " + std::to_string(file.size()) +
                           " bytes, an artifact has at least " +
                           std::to_string(sizeof(Prefix)));
  std::memcpy(&prefix, file.data(), sizeof(Prefix));
  if (prefix.magic != layout::magic)
    return Status::corrupt("the file starts with '" + printTag(prefix.magic) +
                           "', expected 'WEFT': it is no artifact");
  const std::string version = std::to_string(prefix.versionMajor) + "." +
                              std::to_string(prefix.versionMinor);
  if (prefix.versionMajor != layout::versionMajor)
    return Status::unsupported(
        "the artifact has format version " + version +
        ", this build reads version " + std::to_string(layout::versionMajor) +
        ".x; use a matching runtime or compile the model again");
  if (prefix.fileBytes != file.size())
    return Status::corrupt("the file has " + std::to_string(file.size()) +
                           " bytes, its header says " +
                           std::to_string(prefix.fileBytes) +
                           "; it was cut off or damaged");
  if (prefix.sectionCount > layout::maxSections ||
      prefix.headerBytes !=
          sizeof(Prefix) + prefix.sectionCount * sizeof(SectionRow) ||
      prefix.headerBytes > file.size())
    return Status::corrupt("the header says that it has " +
                           std::to_string(prefix.headerBytes) + " bytes and " +
                           std::to_string(prefix.sectionCount) +
                           " sections, which cannot be");
  if (layout::hashHeader(file.first(prefix.headerBytes)) != prefix.headerHash)
    return Status::corrupt(
        "the header's checksum is wrong; the file is damaged");
  return prefix;
}

Status checkRow(const SectionRow &row, const Prefix &prefix) {
  const std::string tag = printTag(row.tag);
  if (!std::has_single_bit(row.alignment) || row.offset % row.alignment)
    return Status::corrupt(
        "section " + tag + " lies at offset " + std::to_string(row.offset) +
        ", its alignment is given as " + std::to_string(row.alignment));
  if (row.offset < prefix.headerBytes || row.offset > prefix.fileBytes ||
      row.size > prefix.fileBytes - row.offset)
    return Status::corrupt("section " + tag + " has " +
                           std::to_string(row.size) + " bytes at offset " +
                           std::to_string(row.offset) + ", the file has " +
                           std::to_string(prefix.fileBytes));
  const bool isKnown =
      std::ranges::count(neededTags, tag) || std::ranges::count(otherTags, tag);
  if (!isKnown && row.flags & layout::requiredFlag)
    return Status::unsupported(
        "the artifact has a section '" + tag +
        "' that is required but unknown to this build; use a newer runtime");
  return Status::ok();
}

Status checkOverlap(std::vector<SectionInfo> sections) {
  std::ranges::sort(sections, {}, &SectionInfo::offset);
  for (size_t i = 1; i < sections.size(); ++i) {
    const SectionInfo &before = sections[i - 1];
    if (before.offset + before.size > sections[i].offset)
      return Status::corrupt("the sections " + before.tag + " and " +
                             sections[i].tag + " overlap");
  }
  return Status::ok();
}

class MappedArtifact final : public Artifact {
public:
  /// `folder` is where external files are; none: they are refused.
  MappedArtifact(std::span<const std::byte> file,
                 std::shared_ptr<const void> owner,
                 std::optional<std::string> folder)
      : file(file), owner(std::move(owner)), folder(std::move(folder)) {}

  Status load() {
    if (reinterpret_cast<uintptr_t>(file.data()) % layout::paramAlignment)
      return Status::invalid("the artifact's bytes start at an address that is "
                             "no multiple of 64");
    if (Status status = readTable(); !status)
      return status;
    for (std::string_view tag : neededTags)
      if (!find(tag))
        return Status::corrupt("the section " + std::string(tag) +
                               " is missing");
    if (Status status = readSections(); !status)
      return status;
    if (Status status = verifyPlan(plan); !status)
      return status;
    return openParams();
  }

  const Plan &getPlan() const override { return plan; }
  std::span<const SectionInfo> getSections() const override { return sections; }
  uint64_t getFileSize() const override { return file.size(); }

  std::span<const std::byte> getParamData(size_t index) const override {
    assert(index < plan.params.size() && "there is no such parameter");
    const Param &param = plan.params[index];
    if (param.generated.isUsed)
      return {};
    return getParamFile(param).subspan(param.offset, param.size);
  }

  Status verifyData() const override {
    for (size_t i = 0; i < plan.params.size(); ++i) {
      const Param &param = plan.params[i];
      if (param.hash && xxh64(getParamData(i)) != param.hash)
        return Status::corrupt("the checksum of the parameter '" + param.name +
                               "' is wrong; the file is damaged");
    }
    return Status::ok();
  }

private:
  Status readTable() {
    Result<Prefix> prefix = readPrefix(file);
    if (!prefix)
      return prefix.getStatus();
    const auto targetEnd = std::ranges::find(prefix->target, '\0');
    plan.target.assign(prefix->target.begin(), targetEnd);
    for (uint32_t i = 0; i < prefix->sectionCount; ++i) {
      SectionRow row;
      std::memcpy(&row, file.data() + sizeof(Prefix) + i * sizeof(row),
                  sizeof(row));
      if (Status status = checkRow(row, *prefix); !status)
        return status;
      const std::string tag = printTag(row.tag);
      if (find(tag))
        return Status::corrupt("there are two sections " + tag);
      sections.push_back({tag, (row.flags & layout::requiredFlag) != 0,
                          row.offset, row.size, row.alignment, row.hash});
    }
    return checkOverlap(sections);
  }

  const SectionInfo *find(std::string_view tag) const {
    auto it = std::ranges::find(sections, tag, &SectionInfo::tag);
    return it == sections.end() ? nullptr : &*it;
  }

  std::span<const std::byte> getSection(std::string_view tag) const {
    const SectionInfo *section = find(tag);
    return section ? file.subspan(section->offset, section->size)
                   : std::span<const std::byte>();
  }

  Status readSections() {
    for (const SectionInfo &section : sections)
      if (section.tag != "DATA" &&
          xxh64(file.subspan(section.offset, section.size)) != section.hash)
        return Status::corrupt("the checksum of section " + section.tag +
                               " is wrong; the file is damaged");
    using S = SectionReader;
    std::vector<CodeRange> ranges;
    Status status;
    auto read = [&](const char *tag, auto transfer) {
      if (status)
        status = decode(tag, transfer);
    };
    read("META", [&](S &s) { transferMeta(s, plan); });
    read("SIGN", [&](S &s) { transferSignature(s, plan); });
    read("PARM", [&](S &s) { transferParams(s, plan); });
    read("KERN", [&](S &s) { transferKernels(s, plan, ranges); });
    read("BUFS", [&](S &s) { transferBuffers(s, plan); });
    read("CMDS", [&](S &s) { transferCommands(s, plan); });
    read("VARI", [&](S &s) { transferVariants(s, plan); });
    read("WORK", [&](S &s) { transferWork(s, plan); });
    read("TOKN", [&](S &s) { transferTokenizer(s, plan); });
    read("DBUG", [&](S &s) { transferDebug(s, plan); });
    return status ? attachCode(ranges) : status;
  }

  /// Reads a section if it is there.
  template <typename Transfer>
  Status decode(const char *tag, Transfer transfer) {
    if (!find(tag))
      return Status::ok();
    SectionReader stream(tag, asBytes(getSection(tag)), owner);
    transfer(stream);
    return stream.finish();
  }

  static std::span<const uint8_t> asBytes(std::span<const std::byte> range) {
    return {reinterpret_cast<const uint8_t *>(range.data()), range.size()};
  }

  Status attachCode(const std::vector<CodeRange> &ranges) {
    const std::span<const uint8_t> section = asBytes(getSection("CODE"));
    auto range = ranges.begin();
    for (Kernel &kernel : plan.kernels) {
      for (Code &code : kernel.code) {
        if (range == ranges.end() || range->offset > section.size() ||
            range->size > section.size() - range->offset)
          return Status::corrupt("the code of the kernel '" + kernel.name +
                                 "' lies outside section CODE");
        code.bytes = Bytes(section.subspan(range->offset, range->size), owner);
        ++range;
      }
    }
    return range == ranges.end()
               ? Status::ok()
               : Status::corrupt("section KERN has more code than kernels");
  }

  Status openParams() {
    const uint64_t dataBytes = getSection("DATA").size();
    for (const Param &param : plan.params)
      if (!param.file && !param.generated.isUsed &&
          (param.offset > dataBytes || param.size > dataBytes - param.offset))
        return Status::corrupt(
            "parameter '" + param.name + "' has " + std::to_string(param.size) +
            " bytes at offset " + std::to_string(param.offset) +
            ", section DATA only " + std::to_string(dataBytes));
    if (const SectionInfo *data = find("DATA");
        data && data->offset % layout::pageSize)
      return Status::corrupt("section DATA lies at offset " +
                             std::to_string(data->offset) +
                             ", expected a multiple of 4096");
    for (const ExternalFile &external : plan.externalFiles)
      if (Status status = openExternal(external); !status)
        return status;
    return Status::ok();
  }

  Status openExternal(const ExternalFile &external) {
    if (!folder)
      return Status::unsupported("an artifact in memory cannot have the "
                                 "external file '" +
                                 external.path + "'");
    Result<MappedFile> opened = MappedFile::openBeneath(*folder, external.path);
    if (!opened)
      return Status(opened.getStatus().getCode(),
                    "the artifact needs a file beside it: " +
                        opened.getStatus().getMessage());
    const std::span<const std::byte> bytes = opened->getBytes();
    if (bytes.size() != external.size)
      return Status::corrupt("the external file '" + opened->getPath() +
                             "' has " + std::to_string(bytes.size()) +
                             " bytes, the artifact was written for " +
                             std::to_string(external.size));
    if (external.hash && xxh64OfEnds(bytes) != external.hash)
      return Status::corrupt("the external file '" + opened->getPath() +
                             "' is not the one that the artifact was written "
                             "for: its checksum differs");
    externalFiles.push_back(opened.take());
    return Status::ok();
  }

  std::span<const std::byte> getParamFile(const Param &param) const {
    return param.file ? externalFiles[param.file - 1].getBytes()
                      : getSection("DATA");
  }

  std::span<const std::byte> file;
  std::shared_ptr<const void> owner;
  std::optional<std::string> folder;
  Plan plan;
  std::vector<SectionInfo> sections;
  std::vector<MappedFile> externalFiles;
};

Result<std::unique_ptr<Artifact>> load(std::unique_ptr<MappedArtifact> artifact,
                                       const std::string &where) {
  if (Status status = artifact->load(); !status)
    return Status(status.getCode(), where + ": " + status.getMessage());
  return std::unique_ptr<Artifact>(std::move(artifact));
}

} // namespace

Result<std::unique_ptr<Artifact>> Artifact::open(const std::string &path) {
  Result<MappedFile> opened = MappedFile::open(path);
  if (!opened)
    return opened.getStatus();
  // External files lie beside the file, not beside a link to it.
  Result<std::string> file = followLinks(path);
  if (!file)
    return file.getStatus();
  auto mapping = std::make_shared<const MappedFile>(opened.take());
  const std::span<const std::byte> bytes = mapping->getBytes();
  return load(std::make_unique<MappedArtifact>(bytes, std::move(mapping),
                                               getFolder(*file)),
              "'" + path + "'");
}

Result<std::unique_ptr<Artifact>>
Artifact::openMemory(std::span<const std::byte> bytes) {
  return load(std::make_unique<MappedArtifact>(bytes, nullptr, std::nullopt),
              "artifact in memory");
}
