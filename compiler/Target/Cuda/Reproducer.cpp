//===- Reproducer.cpp - A kernel as a program of its own ------------------===//

#include "compiler/Target/Cuda/Reproducer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace weft;

namespace {

/// A C++ identifier that says the same.
std::string makeIdentifier(llvm::StringRef name) {
  std::string identifier = name.str();
  for (char &c : identifier)
    if (!llvm::isAlnum(c))
      c = '_';
  if (identifier.empty() || llvm::isDigit(identifier[0]))
    identifier.insert(0, "n");
  return identifier;
}

/// A string literal's content; names come from checkpoints.
std::string escape(llvm::StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream(escaped).write_escaped(text, /*UseHexEscapes=*/true);
  return escaped;
}

/// A comment's text, on one line.
std::string flatten(llvm::StringRef text) {
  std::string flat = text.str();
  std::ranges::replace_if(
      flat, [](char c) { return c == '\n' || c == '\r' || c == '\\'; }, ' ');
  return flat;
}

/// A step of one sequence that has 512 positions; others are their minimum.
int64_t getDefault(const rt::Symbol &symbol) {
  int64_t value = llvm::StringSwitch<int64_t>(symbol.name)
                      .Cases({"table_width", "cache_blocks"}, 8)
                      .Default(1);
  return std::clamp(value, std::max<int64_t>(symbol.min, 0),
                    std::max<int64_t>(symbol.max, 0));
}

/// The value of element i of an integer buffer, as an expression of C++ over i
/// and the plan's symbols: consistent inputs of a step whose tokens are spread
/// evenly over its sequences and are the last of them (docs/architecture.md,
/// "The step entry of a decoder").
llvm::StringRef getIntegerValue(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("slots", "i")
      .Case("positions", "table_width * 64 - tokens / sequences + "
                         "i % max(tokens / sequences, 1)")
      .Case("sequence_ids", "i * sequences / tokens")
      .Case("sequence_starts", "i * tokens / sequences")
      .Case("context_lengths", "table_width * 64")
      .Case("block_table", "i % cache_blocks")
      .Default("0");
}

constexpr llvm::StringRef head = R"(
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <functional>
#include <random>
#include <vector>

namespace reproducer {

constexpr long long ceildiv(long long a, long long b) { return (a + b - 1) / b; }
constexpr long long floordiv(long long a, long long b) { return a / b; }
constexpr long long mod(long long a, long long b) { return a % b; }
constexpr long long min(long long a, long long b) { return a < b ? a : b; }
constexpr long long max(long long a, long long b) { return a > b ? a : b; }
)";

constexpr llvm::StringRef body = R"(
void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// Random numbers of magnitude 0.5 to 1 and any sign: the exponent of 0.5 with
/// random other bits, in one block that is repeated.
void fillRandom(void *device, size_t bytes, unsigned bits, unsigned mantissa) {
  static std::mt19937_64 random(1);
  const unsigned long long exponent =
      ((1ull << (bits - 2 - mantissa)) - 2) << mantissa;
  const unsigned long long free = 1ull << (bits - 1) | ((1ull << mantissa) - 1);
  std::vector<char> block(std::min<size_t>(bytes, size_t(16) << 20));
  for (size_t at = 0; at + bits / 8 <= block.size(); at += bits / 8) {
    unsigned long long value = (random() & free) | exponent;
    std::copy_n(reinterpret_cast<char *>(&value), bits / 8, &block[at]);
  }
  for (size_t at = 0; at < bytes; at += block.size())
    check(cudaMemcpy(static_cast<char *>(device) + at, block.data(),
                     std::min(block.size(), bytes - at),
                     cudaMemcpyHostToDevice),
          "filling a buffer");
}

void fillIntegers(void *device, const Buffer &buffer) {
  std::vector<char> values(buffer.elements * buffer.bits / 8);
  for (long long i = 0; i < buffer.elements; ++i) {
    long long value = buffer.integer(i);
    std::copy_n(reinterpret_cast<char *>(&value), buffer.bits / 8,
                &values[i * buffer.bits / 8]);
  }
  check(cudaMemcpy(device, values.data(), values.size(),
                   cudaMemcpyHostToDevice),
        "filling a buffer");
}

void *allocate(const Buffer &buffer) {
  size_t bytes = size_t(buffer.elements) * buffer.bits / 8;
  void *device = nullptr;
  check(cudaMalloc(&device, std::max<size_t>(bytes, 256)), buffer.name);
  std::printf("%-32s %12.3f MiB\n", buffer.name, bytes / 1048576.0);
  if (buffer.mantissa)
    fillRandom(device, bytes, buffer.bits, buffer.mantissa);
  else
    fillIntegers(device, buffer);
  return device;
}

unsigned getGrid() {
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors,
                               cudaDevAttrMultiProcessorCount, 0),
        "the device");
  if (!blocksPerMultiprocessor)
    return unsigned(items * clusterSize);
  long long most =
      min(items * clusterSize, blocksPerMultiprocessor * multiprocessors);
  return unsigned(max(most / clusterSize, 1) * clusterSize);
}

int run() {
  std::vector<void *> pointers;
  for (const Buffer &buffer : buffers)
    pointers.push_back(allocate(buffer));
  std::vector<void *> arguments;
  for (void *&pointer : pointers)
    arguments.push_back(&pointer);
  for (long long &symbol : symbols)
    arguments.push_back(&symbol);
  long long itemCount = items;
  arguments.push_back(&itemCount);

  const void *kernel = reinterpret_cast<const void *>(&::KERNEL);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             sharedBytes),
        "shared memory");
  if (clusterSize > 8)
    check(cudaFuncSetAttribute(
              kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "the cluster size");
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = clusterSize;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(getGrid());
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = sharedBytes;
  config.attrs = clusterSize > 1 ? attributes : attributes + 1;
  config.numAttrs = (clusterSize > 1) + dependentLaunch;

  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "an event");
  check(cudaEventCreate(&end), "an event");
  auto launch = [&] {
    check(cudaLaunchKernelExC(&config, kernel, arguments.data()), "launch");
  };
  launch();
  check(cudaDeviceSynchronize(), "the first run");
  check(cudaEventRecord(begin, nullptr), "an event");
  for (int i = 0; i < repetitions; ++i)
    launch();
  check(cudaEventRecord(end, nullptr), "an event");
  check(cudaDeviceSynchronize(), "the runs");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "the time");
  double seconds = milliseconds / 1000.0 / repetitions;
  std::printf("grid %u x %u threads: %.2f us, %.1f GB/s, %.2f TFLOP/s\n",
              config.gridDim.x, threads, seconds * 1e6,
              double(bytes) / seconds / 1e9, double(flops) / seconds / 1e12);
  return 0;
}

} // namespace reproducer

int main() { return reproducer::run(); }
)";

/// Bits of an element and of its mantissa; no mantissa: an integer.
std::pair<unsigned, unsigned> getBits(rt::DType type) {
  unsigned bits = 8 * unsigned(rt::getByteSize(type));
  switch (type) {
  case rt::DType::F32:
    return {bits, 23};
  case rt::DType::F16:
    return {bits, 10};
  case rt::DType::BF16:
    return {bits, 7};
  case rt::DType::F64:
    return {bits, 52};
  default:
    return {bits, 0};
  }
}

class Writer {
public:
  Writer(const rt::Plan &plan, const rt::Entry &entry,
         const rt::Command &command, const rt::Code &code,
         const std::string &sourceFile)
      : plan(plan), entry(entry), command(command), code(code),
        kernel(plan.kernels[command.kernel]), sourceFile(sourceFile),
        stream(text) {
    for (const rt::Symbol &symbol : plan.symbols)
      names.push_back(makeIdentifier(symbol.name));
  }

  std::string run() {
    writeTitle();
    stream << "\n#include \"" << escape(sourceFile) << "\"\n" << head;
    writeSizes();
    writeBuffers();
    llvm::StringRef before, after;
    std::tie(before, after) = body.split("KERNEL");
    stream << before << makeIdentifier(code.symbol) << after;
    return std::move(text);
  }

private:
  void writeTitle() {
    std::string stem = llvm::sys::path::stem(sourceFile).str();
    stream << "// Runs the kernel '" << flatten(kernel.name) << "' ("
           << flatten(kernel.program) << ") alone, as the command '"
           << flatten(command.label) << "' does.\n"
           << "// Written by weft-compile --dump-kernels. Build and run:\n//\n"
           << "//   nvcc -arch=" << code.target;
    for (const std::string &option : code.features)
      stream << " " << flatten(option);
    stream << " -o " << flatten(stem) << " " << flatten(stem)
           << ".main.cu && ./" << flatten(stem)
           << "\n//\n"
              "// The runs repeat on the same buffers: what fits in the L2 "
              "cache stays there.\n";
  }

  void writeConstant(llvm::StringRef type, llvm::StringRef name,
                     const llvm::Twine &value) {
    stream << "[[maybe_unused]] constexpr " << type << " " << name << " = "
           << value << ";\n";
  }

  void writeSizes() {
    stream << "\n// Sizes of the step; change them here.\n";
    for (auto [symbol, name] : llvm::zip_equal(plan.symbols, names))
      writeConstant("long long", name, llvm::Twine(getDefault(symbol)));
    writeConstant("int", "repetitions", "100");
    stream << "\n// The launch.\n";
    writeConstant("long long", "items", command.grid.print(names));
    writeConstant("long long", "flops", command.flops.print(names));
    writeConstant("long long", "bytes", command.bytes.print(names));
    const rt::LaunchShape &launch = code.launch;
    writeConstant("unsigned", "threads", llvm::Twine(launch.threads));
    writeConstant("int", "sharedBytes", llvm::Twine(launch.sharedBytes));
    writeConstant("int", "clusterSize", llvm::Twine(launch.clusterSize));
    writeConstant("long long", "blocksPerMultiprocessor",
                  llvm::Twine(launch.blocksPerMultiprocessor));
    writeConstant("bool", "dependentLaunch",
                  launch.dependentLaunch ? "true" : "false");
    stream << "\nlong long symbols[] = {";
    llvm::interleaveComma(command.symbols, stream, [&](const rt::Expr &expr) {
      stream << expr.print(names);
    });
    // An array has at least one element; the kernel does not look at this one.
    stream << (command.symbols.empty() ? "0};\n" : "};\n");
  }

  void writeBuffers() {
    stream
        << "\nstruct Buffer {\n"
           "  const char *name;\n"
           "  long long elements;\n"
           "  unsigned bits, mantissa; // No mantissa: an integer.\n"
           "  std::function<long long(long long)> integer; // Of element i.\n"
           "};\n\n"
           "const std::vector<Buffer> buffers = {\n";
    for (uint32_t index : command.buffers) {
      const rt::Buffer &buffer = entry.buffers[index];
      auto [bits, mantissa] = getBits(buffer.dtype);
      stream << "    {\"" << escape(buffer.name) << "\", ";
      llvm::interleave(
          buffer.shape, stream,
          [&](const rt::Expr &size) {
            stream << "(" << size.print(names) << ")";
          },
          " * ");
      stream << (buffer.shape.empty() ? "1, " : ", ") << bits << ", "
             << mantissa << ", ";
      if (mantissa)
        stream << "nullptr},\n";
      else
        stream << "[](long long i) -> long long { return "
               << getKnownValue(buffer) << "; }},\n";
    }
    stream << "};\n";
  }

  /// 0 where the plan lacks a symbol that the value is made from.
  llvm::StringRef getKnownValue(const rt::Buffer &buffer) const {
    llvm::StringRef value = buffer.kind == rt::BufferKind::Input
                                ? getIntegerValue(buffer.name)
                                : "0";
    for (llvm::StringRef symbol :
         {"tokens", "sequences", "table_width", "cache_blocks"})
      if (value.contains(symbol) && !llvm::is_contained(names, symbol))
        return "0";
    return value;
  }

  const rt::Plan &plan;
  const rt::Entry &entry;
  const rt::Command &command;
  const rt::Code &code;
  const rt::Kernel &kernel;
  const std::string &sourceFile;
  std::vector<std::string> names;
  std::string text;
  llvm::raw_string_ostream stream;
};

} // namespace

std::string weft::writeReproducer(const rt::Plan &plan, size_t kernel,
                                  const rt::Code &code,
                                  const std::string &sourceFile) {
  for (const rt::Entry &entry : plan.entries)
    for (const rt::Command &command : entry.commands)
      if (command.kind == rt::CommandKind::Launch && command.kernel == kernel)
        return Writer(plan, entry, command, code, sourceFile).run();
  return "";
}
