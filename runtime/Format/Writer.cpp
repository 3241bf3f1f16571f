//===- Writer.cpp - Writes .weft artifacts --------------------------------===//

#include "runtime/Format/Writer.h"
#include "runtime/Format/Layout.h"
#include "runtime/Format/OutputFile.h"
#include "runtime/Format/Records.h"
#include "runtime/Format/Verify.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>

using namespace weft::rt;

namespace {

using layout::alignUp;
using layout::SectionRow;

struct Section {
  SectionRow row;
  std::vector<uint8_t> bytes;
};

/// The bytes of all kernels, each object once.
struct CodePool {
  std::vector<CodeRange> ranges; ///< One per Code of the plan, in order.
  std::vector<uint8_t> bytes;

  explicit CodePool(const Plan &plan) {
    std::unordered_multimap<uint64_t, CodeRange> known;
    for (const Kernel &kernel : plan.kernels)
      for (const Code &code : kernel.code)
        ranges.push_back(add(code.bytes, known));
  }

private:
  CodeRange add(std::span<const uint8_t> code,
                std::unordered_multimap<uint64_t, CodeRange> &known) {
    const uint64_t hash = xxh64(std::as_bytes(code));
    auto [begin, end] = known.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (std::ranges::equal(code, std::span(bytes).subspan(it->second.offset,
                                                            it->second.size)))
        return it->second;
    bytes.resize(alignUp(bytes.size(), layout::sectionAlignment));
    CodeRange range{bytes.size(), code.size()};
    bytes.insert(bytes.end(), code.begin(), code.end());
    known.emplace(hash, range);
    return range;
  }
};

template <typename Transfer> std::vector<uint8_t> encode(Transfer transfer) {
  SectionWriter stream;
  transfer(stream);
  return stream.take();
}

bool hasVariants(const Plan &plan) {
  return std::ranges::any_of(plan.entries, [](const Entry &entry) {
    return std::ranges::any_of(entry.commands, [](const Command &command) {
      return !command.variants.empty();
    });
  });
}

bool hasKeyCounts(const Plan &plan) {
  return std::ranges::any_of(plan.entries, [](const Entry &entry) {
    return !entry.keyCounts.empty();
  });
}

std::vector<Section> encodeSections(Plan &plan) {
  CodePool code(plan);
  std::vector<Section> sections;
  auto add = [&](layout::Tag tag, bool isRequired, std::vector<uint8_t> bytes) {
    Section &section = sections.emplace_back();
    section.row.tag = tag;
    section.row.flags = isRequired ? layout::requiredFlag : 0;
    section.row.size = bytes.size();
    section.row.hash = xxh64(std::as_bytes(std::span(bytes)));
    section.bytes = std::move(bytes);
  };
  using S = SectionWriter;
  add({'M', 'E', 'T', 'A'}, true, encode([&](S &s) { transferMeta(s, plan); }));
  add({'S', 'I', 'G', 'N'}, true,
      encode([&](S &s) { transferSignature(s, plan); }));
  add({'P', 'A', 'R', 'M'}, true,
      encode([&](S &s) { transferParams(s, plan); }));
  add({'K', 'E', 'R', 'N'}, true,
      encode([&](S &s) { transferKernels(s, plan, code.ranges); }));
  add({'C', 'O', 'D', 'E'}, true, std::move(code.bytes));
  add({'B', 'U', 'F', 'S'}, true,
      encode([&](S &s) { transferBuffers(s, plan); }));
  add({'C', 'M', 'D', 'S'}, true,
      encode([&](S &s) { transferCommands(s, plan); }));
  if (hasVariants(plan))
    add({'V', 'A', 'R', 'I'}, false,
        encode([&](S &s) { transferVariants(s, plan); }));
  if (hasKeyCounts(plan))
    add({'W', 'O', 'R', 'K'}, false,
        encode([&](S &s) { transferWork(s, plan); }));
  if (!plan.tokenizerFiles.empty())
    add({'T', 'O', 'K', 'N'}, false,
        encode([&](S &s) { transferTokenizer(s, plan); }));
  if (!plan.debug.empty())
    add({'D', 'B', 'U', 'G'}, false,
        encode([&](S &s) { transferDebug(s, plan); }));
  return sections;
}

/// Places of all sections for a plan. DATA, if any, is the last.
struct FileLayout {
  std::vector<Section> sections;
  uint64_t headerBytes = 0, dataOffset = 0, fileBytes = 0;

  FileLayout(Plan &plan, uint64_t dataBytes) : sections(encodeSections(plan)) {
    if (dataBytes) {
      SectionRow &row = sections.emplace_back().row;
      row.tag = {'D', 'A', 'T', 'A'};
      row.flags = layout::requiredFlag;
      row.size = dataBytes;
      row.alignment = layout::pageSize;
    }
    headerBytes = sizeof(layout::Prefix) + sections.size() * sizeof(SectionRow);
    fileBytes = headerBytes;
    for (Section &section : sections) {
      section.row.offset = alignUp(fileBytes, section.row.alignment);
      fileBytes = section.row.offset + section.row.size;
    }
    dataOffset = sections.back().row.offset;
  }
};

/// Gives each own parameter its size and place; returns the bytes of all.
Result<uint64_t> placeParams(Plan &plan, uint32_t file) {
  uint64_t end = 0;
  for (Param &param : plan.params) {
    if (param.file)
      continue;
    std::vector<Expr> shape;
    for (int64_t dim : param.shape) {
      if (dim < 0)
        return Status::invalid("parameter '" + param.name +
                               "' has a negative dimension " +
                               std::to_string(dim));
      shape.push_back(Expr::constant(dim));
    }
    Result<int64_t> bytes = evaluateByteSize(shape, param.dtype, {});
    if (!bytes)
      return Status::invalid("parameter '" + param.name +
                             "': " + bytes.getStatus().getMessage());
    param.size = *bytes;
    param.hash = 0;
    param.offset = 0;
    if (param.generated.isUsed)
      continue;
    param.file = file;
    param.offset = alignUp(end, layout::getParamAlignment(param.size));
    if (__builtin_add_overflow(param.offset, param.size, &end) ||
        end > INT64_MAX / 2)
      return Status::limit("the parameters need more than 2^62 bytes");
  }
  return end;
}

class Writer final : public ArtifactWriter {
public:
  Writer(Plan plan, WriterOptions options)
      : plan(std::move(plan)), options(options) {}

  Status open(const std::string &name) {
    // The weights lie beside the file, not beside a link to it.
    Result<std::string> followed = followLinks(name);
    if (!followed)
      return followed.getStatus();
    const std::string &path = *followed;
    progress.resize(plan.params.size());
    for (size_t i = 0; i < progress.size(); ++i)
      progress[i].isOwn =
          !plan.params[i].file && !plan.params[i].generated.isUsed;
    const std::string weightsPath = getWeightsPath(path);
    uint32_t file = 0;
    if (options.externalWeights) {
      plan.externalFiles.push_back(
          {weightsPath.substr(weightsPath.find_last_of('/') + 1), 0, 0});
      file = plan.externalFiles.size();
    }
    Result<uint64_t> paramBytes = placeParams(plan, file);
    if (!paramBytes)
      return paramBytes.getStatus();
    if (file)
      plan.externalFiles.back().size = *paramBytes;
    else
      dataBytes = *paramBytes;
    if (Status status = verifyPlan(plan); !status)
      return Status::invalid("the plan cannot be written: " +
                             status.getMessage());

    const FileLayout places(plan, dataBytes);
    dataOffset = file ? 0 : places.dataOffset;
    Result<OutputFile> output = OutputFile::create(path, places.fileBytes);
    if (!output)
      return output.getStatus();
    artifact.emplace(output.take());
    if (!file)
      return Status::ok();
    Result<OutputFile> other = OutputFile::create(weightsPath, *paramBytes);
    if (!other)
      return other.getStatus();
    weights.emplace(other.take());
    return Status::ok();
  }

  const Plan &getPlan() const override { return plan; }

  Status appendParam(size_t index, std::span<const std::byte> bytes) override {
    if (Status status = getFailure(); !status)
      return status;
    if (index >= plan.params.size() || !progress[index].isOwn)
      return fail(Status::invalid(
          "parameter " + std::to_string(index) +
          " cannot be written: it does not exist, lies in a given file or has "
          "generated values"));
    const Param &param = plan.params[index];
    Progress &state = progress[index];
    if (bytes.size() > param.size - state.written)
      return fail(Status::invalid("parameter '" + param.name + "' gets " +
                                  std::to_string(state.written + bytes.size()) +
                                  " bytes, its shape and type need " +
                                  std::to_string(param.size)));
    const uint64_t offset = param.offset + state.written;
    const OutputFile &file = weights ? *weights : *artifact;
    if (Status status = file.write(dataOffset + offset, bytes); !status)
      return fail(std::move(status));
    state.hash.update(bytes);
    state.written += bytes.size();
    return Status::ok();
  }

  Status finish() override {
    Status status = getFailure();
    if (status)
      status = writeRest();
    // Removes what has not got its name.
    artifact.reset();
    weights.reset();
    (void)fail(status ? Status::invalid("the artifact is already finished")
                      : status);
    return status;
  }

private:
  struct Progress {
    bool isOwn = false;
    uint64_t written = 0;
    Xxh64 hash;
  };

  Status getFailure() {
    std::lock_guard lock(mutex);
    return failure;
  }

  Status fail(Status status) {
    std::lock_guard lock(mutex);
    if (failure)
      failure = status;
    return status;
  }

  Status writeRest() {
    for (size_t i = 0; i < progress.size(); ++i) {
      if (!progress[i].isOwn)
        continue;
      Param &param = plan.params[i];
      if (progress[i].written != param.size)
        return Status::invalid("parameter '" + param.name + "' got " +
                               std::to_string(progress[i].written) +
                               " bytes, its shape and type need " +
                               std::to_string(param.size));
      param.hash = progress[i].hash.digest();
    }
    if (weights) {
      Result<MappedFile> file = weights->map();
      if (!file)
        return file.getStatus();
      plan.externalFiles.back().hash = xxh64OfEnds(file->getBytes());
    }
    // The hashes have a fixed width, so the places are those of open().
    if (Status status = writeSections(FileLayout(plan, dataBytes)); !status)
      return status;
    // The artifact last: while it has its old content or none, nobody looks
    // for the new weights.
    for (std::optional<OutputFile> *file : {&weights, &artifact}) {
      if (!file->has_value())
        continue;
      if (options.sync)
        if (Status status = (*file)->sync(); !status)
          return status;
      if (Status status = (*file)->commit(); !status)
        return status;
    }
    return Status::ok();
  }

  Status writeSections(const FileLayout &places) {
    layout::Prefix prefix;
    prefix.headerBytes = places.headerBytes;
    prefix.sectionCount = places.sections.size();
    prefix.fileBytes = places.fileBytes;
    std::ranges::copy(plan.target, prefix.target.begin());

    std::vector<std::byte> header(places.headerBytes);
    std::byte *at = header.data() + sizeof(prefix);
    for (const Section &section : places.sections) {
      std::memcpy(at, &section.row, sizeof(SectionRow));
      at += sizeof(SectionRow);
      if (Status status = artifact->write(
              section.row.offset, std::as_bytes(std::span(section.bytes)));
          !status)
        return status;
    }
    std::memcpy(header.data(), &prefix, sizeof(prefix));
    prefix.headerHash = layout::hashHeader(header);
    std::memcpy(header.data(), &prefix, sizeof(prefix));
    return artifact->write(0, header);
  }

  Plan plan;
  WriterOptions options;
  std::optional<OutputFile> artifact, weights;
  /// Place of the parameters in their file, and what DATA holds of them.
  uint64_t dataOffset = 0, dataBytes = 0;
  std::vector<Progress> progress;
  std::mutex mutex;
  Status failure;
};

} // namespace

std::string weft::rt::getWeightsPath(const std::string &path) {
  constexpr std::string_view suffix = ".weft";
  return (path.ends_with(suffix) ? path.substr(0, path.size() - suffix.size())
                                 : path) +
         ".weights";
}

Result<std::unique_ptr<ArtifactWriter>>
ArtifactWriter::create(const std::string &path, Plan plan,
                       WriterOptions options) {
  auto writer = std::make_unique<Writer>(std::move(plan), options);
  if (Status status = writer->open(path); !status)
    return status;
  return std::unique_ptr<ArtifactWriter>(std::move(writer));
}

Status ArtifactWriter::writeParam(
    size_t index,
    const std::function<Result<std::span<const std::byte>>()> &next) {
  while (true) {
    Result<std::span<const std::byte>> chunk = next();
    if (!chunk)
      return chunk.getStatus();
    if (chunk->empty())
      return Status::ok();
    if (Status status = appendParam(index, *chunk); !status)
      return status;
  }
}
