//===- ReadParam.cpp - Bytes of a plan's constants ------------------------===//

#include "compiler/Artifact/ReadParam.h"

#include "compiler/Artifact/QuantizedRows.h"
#include "compiler/Artifact/StoredElements.h"
#include "dialects/Weft/WeftDialect.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <deque>

using namespace mlir;
using namespace weft;

namespace {

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

std::optional<ElementType> getElementType(Type type) {
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF64())
    return ElementType::F64;
  if (!type.isInteger())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ElementType::Bool;
  case 8:
    return ElementType::I8;
  case 16:
    return ElementType::I16;
  case 32:
    return ElementType::I32;
  case 64:
    return ElementType::I64;
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Rows of sources
//===----------------------------------------------------------------------===//

/// A run of elements of one tensor: `count` of them, `stride` apart.
struct Run {
  const TensorInfo *tensor;
  int64_t first, stride, count;
  const QuantizedRows *quantized = nullptr; ///< The elements are these.
};

/// A param's elements, row-major before packing, as runs of stored tensors.
class ElementStream {
public:
  ElementStream(const WeightSource &source, ElementType type)
      : source(source), type(type) {}

  llvm::Error addSource(SourceAttr attr) {
    const TensorInfo *tensor = source.find(attr.getName());
    if (!tensor)
      return error(attr, "is not in the checkpoint");
    const QuantizedRows *quantized = nullptr;
    if (attr.getQuantization()) {
      auto rows = QuantizedRows::read(source, attr, *tensor);
      if (!rows)
        return rows.takeError();
      quantized = &quantizedRows.emplace_back(std::move(*rows));
    }
    bool isFit = quantized             ? isConvertible(type)
                 : isConvertible(type) ? isConvertible(tensor->type)
                                       : dropSign(tensor->type) == type;
    if (!isFit)
      return error(attr, "has elements of type " + getName(tensor->type).str() +
                             ", expected " +
                             (isConvertible(type) ? "f32, f16 or bf16"
                                                  : getName(type).str()));
    int64_t elements = 1;
    for (int64_t size : tensor->shape)
      elements *= size;
    int64_t storedRows = tensor->shape.empty() ? 1 : tensor->shape[0];
    int64_t rows = storedRows;
    if (attr.getTransposed()) {
      if (tensor->shape.size() != 2)
        return error(attr, "is read transposed but is not a matrix");
      rows = tensor->shape[1];
    }
    int64_t blocks = std::max<int64_t>(attr.getCount(), 1);
    int64_t block = attr.getCount() ? attr.getBlock() : rows;
    int64_t last = attr.getStart() + (blocks - 1) * attr.getStride() + block;
    if (last > rows)
      return error(attr, "has " + std::to_string(rows) + " rows, row " +
                             std::to_string(last - 1) + " is needed");
    int64_t rowSize = quantized ? quantized->getColumns()
                      : rows    ? elements / rows
                                : 0;
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t row = attr.getStart() + b * attr.getStride();
      auto addRows = [&](int64_t first, int64_t count) {
        if (!attr.getTransposed())
          return add({tensor, first * rowSize, 1, count * rowSize, quantized});
        for (int64_t r = first; r < first + count; ++r)
          add({tensor, r, rows, rowSize});
      };
      for (int64_t pair = 0; pair < attr.getPairs(); ++pair) {
        addRows(row + pair, 1);
        addRows(row + attr.getPairs() + pair, 1);
      }
      int64_t paired = 2 * attr.getPairs();
      if (paired < block)
        addRows(row + paired, block - paired);
    }
    return llvm::Error::success();
  }

  int64_t size() const { return starts.empty() ? 0 : starts.back().second; }

  /// Elements [begin, begin + count) in the wanted type. Either a pointer into
  /// the checkpoint or, if they are not there in this form, into `buffer`.
  llvm::Expected<const uint8_t *> get(int64_t begin, int64_t count,
                                      std::vector<uint8_t> &buffer) {
    size_t index = findRun(begin);
    int64_t offset = begin - starts[index].first;
    const Run &run = runs[index];
    if (run.stride == 1 && isStoredAs(run) && offset + count <= run.count)
      if (auto mapped = source.getMapped(*run.tensor))
        return mapped->data() + (run.first + offset) * getByteSize(type);
    buffer.resize(count * getByteSize(type));
    for (int64_t done = 0; done < count; ++index, offset = 0) {
      int64_t part = std::min(count - done, runs[index].count - offset);
      if (llvm::Error error = copy(runs[index], offset, part,
                                   buffer.data() + done * getByteSize(type)))
        return std::move(error);
      done += part;
    }
    return buffer.data();
  }

private:
  static llvm::Error error(SourceAttr attr, const llvm::Twine &what) {
    return llvm::createStringError("tensor '" + attr.getName() + "' " + what);
  }

  void add(Run run) {
    int64_t begin = size();
    runs.push_back(run);
    starts.push_back({begin, begin + run.count});
  }

  /// Whether the elements lie in the checkpoint as they are wanted.
  bool isStoredAs(const Run &run) const {
    return !run.quantized && dropSign(run.tensor->type) == type;
  }

  size_t findRun(int64_t element) const {
    auto it = llvm::partition_point(
        starts, [&](auto range) { return range.second <= element; });
    return it - starts.begin();
  }

  llvm::Error copy(const Run &run, int64_t offset, int64_t count,
                   uint8_t *out) {
    unsigned from = getByteSize(run.tensor->type), to = getByteSize(type);
    int64_t first = run.first + offset * run.stride;
    if (const QuantizedRows *rows = run.quantized) {
      for (int64_t i = first; i < first + count; ++i, out += to)
        writeFloat(rows->get(i / rows->getColumns(), i % rows->getColumns()),
                   out, type);
      return llvm::Error::success();
    }
    if (run.stride == 1 && isStoredAs(run))
      return source.read(*run.tensor, first * from,
                         {out, static_cast<size_t>(count * to)});
    llvm::Expected<const uint8_t *> bytes =
        run.stride == 1 ? readRange(run, first, count) : readWhole(run);
    if (!bytes)
      return bytes.takeError();
    const uint8_t *in = *bytes + (run.stride == 1 ? 0 : first * from);
    for (int64_t i = 0; i < count; ++i)
      writeFloat(readFloat(in + i * run.stride * from, run.tensor->type),
                 out + i * to, type);
    return llvm::Error::success();
  }

  llvm::Expected<const uint8_t *> readRange(const Run &run, int64_t first,
                                            int64_t count) {
    unsigned bytes = getByteSize(run.tensor->type);
    if (auto mapped = source.getMapped(*run.tensor))
      return mapped->data() + first * bytes;
    range.resize(count * bytes);
    if (llvm::Error error = source.read(*run.tensor, first * bytes, range))
      return std::move(error);
    return range.data();
  }

  /// A tensor that is read column by column, kept while its columns are read.
  llvm::Expected<const uint8_t *> readWhole(const Run &run) {
    if (auto mapped = source.getMapped(*run.tensor))
      return mapped->data();
    if (wholeTensor != run.tensor) {
      whole.resize(run.tensor->byteSize);
      if (llvm::Error error = source.read(*run.tensor, 0, whole))
        return std::move(error);
      wholeTensor = run.tensor;
    }
    return whole.data();
  }

  const WeightSource &source;
  ElementType type;
  std::vector<Run> runs;
  std::vector<std::pair<int64_t, int64_t>> starts; ///< [begin, end) of runs.
  std::deque<QuantizedRows> quantizedRows;         ///< Those of runs.
  std::vector<uint8_t> range, whole;
  const TensorInfo *wholeTensor = nullptr;
};

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Stores rows [0, rows) of `inputs` elements as one panel: groups of `group`
/// elements of the rows beside each other. Element is an unsigned integer as
/// wide as the element type.
template <typename Element>
void packPanel(llvm::ArrayRef<const uint8_t *> rows, int64_t inputs,
               int64_t columns, int64_t group, Element *panel) {
  int64_t steps = llvm::divideCeil(inputs, group);
  std::fill(panel, panel + steps * columns * group, Element(0));
  // A block of the inner dimension at a time, so that the reads of a row and
  // the panel's lines both stay in the cache.
  constexpr int64_t blockSize = 64;
  for (int64_t begin = 0; begin < inputs; begin += blockSize) {
    int64_t end = std::min(inputs, begin + blockSize);
    for (auto [column, row] : llvm::enumerate(rows))
      for (int64_t k = begin; k < end; ++k) {
        Element value;
        std::memcpy(&value, row + k * sizeof(Element), sizeof(Element));
        panel[(k / group * columns + column) * group + k % group] = value;
      }
  }
}

/// Pairs move as one number of twice the width.
void packPanelPairs(llvm::ArrayRef<const uint8_t *> rows, int64_t inputs,
                    int64_t columns, uint8_t *panel) {
  packPanel<uint32_t>(rows, inputs / 2, columns, 1,
                      reinterpret_cast<uint32_t *>(panel));
}

/// Number of matrices of a stack.
int64_t countMatrices(ArrayRef<int64_t> shape) {
  int64_t matrices = 1;
  for (int64_t size : shape.drop_back(2))
    matrices *= size;
  return matrices;
}

/// The `count` rows of `inputs` elements from row `first` on; `buffers` holds
/// those that are not in the checkpoint in this form.
llvm::Error readRows(ElementStream &stream, int64_t first, int64_t count,
                     int64_t inputs,
                     MutableArrayRef<std::vector<uint8_t>> buffers,
                     SmallVectorImpl<const uint8_t *> &rows) {
  rows.clear();
  for (int64_t row = 0; row < count; ++row) {
    llvm::Expected<const uint8_t *> data =
        stream.get((first + row) * inputs, inputs, buffers[row]);
    if (!data)
      return data.takeError();
    rows.push_back(*data);
  }
  return llvm::Error::success();
}

llvm::Error readPanels(ElementStream &stream, PanelLayoutAttr layout,
                       ArrayRef<int64_t> shape, unsigned elementBytes,
                       ByteSink sink) {
  int64_t inputs = shape.back(), outputs = shape[shape.size() - 2];
  int64_t matrices = countMatrices(shape);
  int64_t columns = layout.getColumns(), group = layout.getGroup();
  size_t panelBytes =
      llvm::divideCeil(inputs, group) * group * columns * elementBytes;
  std::vector<uint32_t> panel(llvm::divideCeil(panelBytes, 4));
  auto *bytes = reinterpret_cast<uint8_t *>(panel.data());
  std::vector<std::vector<uint8_t>> buffers(columns);
  SmallVector<const uint8_t *> rows;
  for (int64_t matrix = 0; matrix < matrices; ++matrix)
    for (int64_t first = 0; first < outputs; first += columns) {
      if (llvm::Error error = readRows(stream, matrix * outputs + first,
                                       std::min(columns, outputs - first),
                                       inputs, buffers, rows))
        return error;
      if (elementBytes == 2 && group == 2 && inputs % 2 == 0)
        packPanelPairs(rows, inputs, columns, bytes);
      else if (elementBytes == 2)
        packPanel(rows, inputs, columns, group,
                  reinterpret_cast<uint16_t *>(bytes));
      else
        packPanel(rows, inputs, columns, group,
                  reinterpret_cast<uint32_t *>(bytes));
      if (llvm::Error error = sink({bytes, panelBytes}))
        return error;
    }
  return llvm::Error::success();
}

/// Stores 16 rows of 16-bit elements as blocks of core matrices; see
/// CoreMatrixLayoutAttr.
void packCoreMatrices(ArrayRef<const uint8_t *> rows, int64_t inputs,
                      uint8_t *matrices) {
  constexpr size_t matrixRow = coreMatrixSize * sizeof(uint16_t);
  constexpr size_t blockRow = coreMatrixInputs * sizeof(uint16_t);
  for (int64_t block = 0; block < inputs / coreMatrixInputs; ++block)
    for (size_t half = 0; half < rows.size(); half += coreMatrixSize)
      for (size_t at = 0; at < blockRow; at += matrixRow)
        for (const uint8_t *row : rows.slice(half, coreMatrixSize)) {
          std::memcpy(matrices, row + block * blockRow + at, matrixRow);
          matrices += matrixRow;
        }
}

llvm::Error readCoreMatrices(ElementStream &stream, ArrayRef<int64_t> shape,
                             ByteSink sink) {
  int64_t inputs = shape.back(), outputs = shape[shape.size() - 2];
  int64_t rowCount = countMatrices(shape) * outputs;
  std::vector<uint8_t> matrices(fragmentSize * inputs * sizeof(uint16_t));
  std::vector<std::vector<uint8_t>> buffers(fragmentSize);
  SmallVector<const uint8_t *> rows;
  for (int64_t first = 0; first < rowCount; first += fragmentSize) {
    if (llvm::Error error =
            readRows(stream, first, fragmentSize, inputs, buffers, rows))
      return error;
    packCoreMatrices(rows, inputs, matrices.data());
    if (llvm::Error error = sink(matrices))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error readRowMajor(ElementStream &stream, int64_t elements,
                         unsigned elementBytes, ByteSink sink) {
  constexpr int64_t chunk = 1 << 18;
  std::vector<uint8_t> buffer;
  for (int64_t begin = 0; begin < elements; begin += chunk) {
    int64_t count = std::min(chunk, elements - begin);
    llvm::Expected<const uint8_t *> bytes = stream.get(begin, count, buffer);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error =
            sink({*bytes, static_cast<size_t>(count * elementBytes)}))
      return error;
  }
  return llvm::Error::success();
}

/// Rows of checkpoint tensors as `type`, stored in `layout` if there is one;
/// then `logicalShape` is the shape before packing. `name` is for messages.
llvm::Error readSources(llvm::StringRef name, RankedTensorType type,
                        ArrayAttr sources, PackedLayoutInterface layout,
                        std::optional<ArrayRef<int64_t>> logicalShape,
                        const WeightSource &source, ByteSink sink) {
  std::optional<ElementType> element = getElementType(type.getElementType());
  if (!element)
    return llvm::createStringError("param '" + name +
                                   "' has an element type that no checkpoint "
                                   "tensor can be converted to");
  ElementStream stream(source, *element);
  for (Attribute attr : sources)
    if (llvm::Error error = stream.addSource(cast<SourceAttr>(attr)))
      return error;
  ArrayRef<int64_t> shape = logicalShape.value_or(type.getShape());
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  if (stream.size() != elements)
    return llvm::createStringError(
        "param '" + name + "' needs " + std::to_string(elements) +
        " elements, its tensors have " + std::to_string(stream.size()));
  unsigned bytes = getByteSize(*element);
  if (auto panels = dyn_cast_or_null<PanelLayoutAttr>(layout))
    return readPanels(stream, panels, shape, bytes, sink);
  if (isa_and_nonnull<CoreMatrixLayoutAttr>(layout))
    return readCoreMatrices(stream, shape, sink);
  return readRowMajor(stream, elements, bytes, sink);
}

} // namespace

llvm::Error weft::readLiteral(ElementsAttr literal, ByteSink sink) {
  auto value = dyn_cast<DenseElementsAttr>(literal);
  if (!value)
    return llvm::createStringError("a constant is not a dense literal");
  if (value.getElementType().isInteger(1)) {
    std::vector<uint8_t> bytes;
    for (bool element : value.getValues<bool>())
      bytes.push_back(element);
    return sink(bytes);
  }
  if (!value.isSplat()) {
    ArrayRef<char> raw = value.getRawData();
    return sink({reinterpret_cast<const uint8_t *>(raw.data()), raw.size()});
  }
  ArrayRef<char> one = value.getRawData();
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < value.getNumElements(); ++i)
    bytes.insert(bytes.end(), one.begin(), one.end());
  return sink(bytes);
}

llvm::Error weft::readWeight(WeightOp weight, const WeightSource &source,
                             ByteSink sink) {
  return readSources(cast<SourceAttr>(weight.getSources()[0]).getName(),
                     cast<RankedTensorType>(weight.getType()),
                     weight.getSources(), weight.getLayoutAttr(),
                     weight.getLogicalShape(), source, sink);
}

llvm::Error weft::readParam(plan::ParamOp param, const WeightSource &source,
                            ByteSink sink) {
  if (param.getValue())
    return readLiteral(*param.getValue(), sink);
  return readSources(param.getSymName(),
                     cast<RankedTensorType>(param.getType()),
                     param.getSourcesAttr(),
                     dyn_cast_or_null<PackedLayoutInterface>(
                         param.getLayout().value_or(nullptr)),
                     param.getLogicalShape(), source, sink);
}
