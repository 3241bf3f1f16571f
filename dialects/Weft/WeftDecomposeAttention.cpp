//===- WeftDecomposeAttention.cpp - The meaning of positions, attention ---===//

#include "dialects/Weft/DecomposeBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;

using Operand = DecomposeBuilder::Operand;
using Sizes = DecomposeBuilder::Sizes;

//===----------------------------------------------------------------------===//
// Rotary position embeddings
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
RopeTableOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  auto type = cast<RankedTensorType>(getCosine().getType());
  ArrayRef<float> scales = getScale();
  auto scaleType = RankedTensorType::get(scales.size(), b.getF32Type());
  Value scaleTable =
      arith::ConstantOp::create(b, DenseFPElementsAttr::get(scaleType, scales));
  Sizes sizes = {b.sizesOf(getPositions())[0], b.sizesOf(getFrequencies())[1]};
  SmallVector<Operand> operands = {{getPositions(), {0}}};
  if (getChoice())
    operands.push_back({getChoice(), {0}});

  auto build = [&](function_ref<Value(Value)> function) {
    Value table =
        b.parallel(sizes, b.getF32Type(), operands, [&](ValueRange x) {
          Value choice = getChoice() ? b.toIndex(x[1]) : b.index(0);
          Value frequency = b.load(getFrequencies(), {choice, b.loop(1)});
          Value position = arith::SIToFPOp::create(b, b.getF32Type(), x[0]);
          // The product is rounded to f32; f64 functions then reduce the angle
          // without error.
          Value angle = b.round(b.mul(position, frequency), b.getF64Type());
          Value scale = b.round(b.load(scaleTable, choice), b.getF64Type());
          return b.round(b.mul(function(angle), scale), b.getF32Type());
        });
    return b.castTo(table, type);
  };
  Value cosine = build(
      [&](Value angle) -> Value { return math::CosOp::create(b, angle); });
  Value sine = build(
      [&](Value angle) -> Value { return math::SinOp::create(b, angle); });
  return SmallVector<Value>{cosine, sine};
}

FailureOr<SmallVector<Value>> RopeOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  RankedTensorType type = getType();
  int64_t size = type.getShape()[2];
  int64_t pairs = cast<RankedTensorType>(getCosine().getType()).getShape()[1];
  if (pairs == 0)
    return SmallVector<Value>{getInput()};
  Value result = b.parallel(
      b.sizesOf(getInput()), type.getElementType(), {{getInput(), {0, 1, 2}}},
      [&](ValueRange x) {
        Value token = b.loop(0), head = b.loop(1), element = b.loop(2);
        Value isRotated = b.less(element, b.index(2 * pairs));
        // Elements that pass through compute with those of pair 0 instead.
        Value inside = 2 * pairs == size
                           ? element
                           : b.select(isRotated, element, b.index(0));
        Value pair, isSecond, partnerOfFirst, partnerOfSecond;
        if (getInterleaved()) {
          pair = b.div(inside, b.index(2));
          isSecond = b.equal(b.rem(inside, b.index(2)), b.index(1));
          partnerOfFirst = b.add(inside, b.index(1));
          partnerOfSecond = b.sub(inside, b.index(1));
        } else {
          pair = b.rem(inside, b.index(pairs));
          isSecond = b.less(b.index(pairs - 1), inside);
          partnerOfFirst = b.add(inside, b.index(pairs));
          partnerOfSecond = b.sub(inside, b.index(pairs));
        }
        Value partner = b.select(isSecond, partnerOfSecond, partnerOfFirst);
        Value other = b.extend(b.load(getInput(), {token, head, partner}));
        Value cosine = b.load(getCosine(), {token, pair});
        Value sine = b.load(getSine(), {token, pair});
        Value own = b.extend(x[0]);
        // (a, b) becomes (a cos - b sin, b cos + a sin).
        Value kept = b.mul(own, cosine), turned = b.mul(other, sine);
        Value rotated =
            b.select(isSecond, b.add(kept, turned), b.sub(kept, turned));
        if (2 * pairs != size)
          rotated = b.select(isRotated, rotated, own);
        return b.round(rotated, type.getElementType());
      });
  return SmallVector<Value>{result};
}

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
CacheAppendOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  RankedTensorType type = getType();
  bool isKey = getKind() == CacheKind::Key;
  Value blockSize = b.sizeOf(getCache(), isKey ? 3 : 2);
  SmallVector<Value> upper = {b.sizeOf(getInput(), 0), b.sizeOf(getInput(), 1),
                              b.sizeOf(getInput(), 2)};
  SmallVector<Value> lower(3, b.index(0)), step(3, b.index(1));
  // Loops that insert one element each bufferize in place.
  scf::LoopNest nest = scf::buildLoopNest(
      b, b.getLoc(), lower, upper, step, ValueRange(getCache()),
      [&](OpBuilder &nested, Location, ValueRange loops, ValueRange caches) {
        OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(nested.saveInsertionPoint());
        Value slot = b.toIndex(b.load(getSlots(), loops[0]));
        Value block = b.div(slot, blockSize), row = b.rem(slot, blockSize);
        Value x = b.load(getInput(), {loops[0], loops[1], loops[2]});
        if (x.getType() != type.getElementType())
          x = b.round(b.extend(x), type.getElementType());
        SmallVector<Value> indices = {block, loops[1], row, loops[2]};
        if (isKey)
          std::swap(indices[2], indices[3]);
        Value updated = tensor::InsertOp::create(b, x, caches[0], indices);
        nested.restoreInsertionPoint(b.saveInsertionPoint());
        return scf::ValueVector{updated};
      });
  return SmallVector<Value>(nest.results);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {

/// Builds the parts of an attention. Scores and probabilities are materialised
/// as [tokens, heads, keys], where keys is the longest possible sequence.
class AttentionDecomposer {
public:
  AttentionDecomposer(DecomposeBuilder &b, AttentionOp op) : b(b), op(op) {}
  Value build();

private:
  OpFoldResult getKeyCount();
  Value buildRows(ArrayRef<OpFoldResult> sizes);
  Value buildScores(Value rows, ArrayRef<OpFoldResult> sizes);
  Value loadElement(Value cache, Value row, Value queryHead, Value element,
                    bool isKey);
  Value loadBias(Value row);
  Value isHidden(Value row) { return b.less(row, b.i32(0)); }

  DecomposeBuilder &b;
  AttentionOp op;
};

} // namespace

/// The number of key positions that any sequence may have.
OpFoldResult AttentionDecomposer::getKeyCount() {
  if (!op.isPaged())
    return b.sizesOf(op.getKey())[0];
  Value width = b.sizeOf(op.getBlockTable(), 1);
  return b.createOrFold<arith::MulIOp>(width, b.sizeOf(op.getKey(), 3));
}

/// rows[t, j]: where key position j of token t's sequence lies (block times
/// block size plus offset, or row), or -1 where token t does not see it.
Value AttentionDecomposer::buildRows(ArrayRef<OpFoldResult> sizes) {
  return b.parallel(sizes, b.getI32Type(),
                    {{op.getPositions(), {0}}, {op.getSequenceIds(), {0}}},
                    [&](ValueRange x) {
                      Value j = b.toI32(b.loop(1));
                      Value sequence = b.toIndex(x[1]);
                      Value start, length;
                      if (op.isPaged()) {
                        length = b.load(op.getContextLengths(), sequence);
                      } else {
                        Value starts = op.getKeyStarts()
                                           ? op.getKeyStarts()
                                           : op.getSequenceStarts();
                        start = b.load(starts, sequence);
                        Value next = b.add(sequence, b.index(1));
                        length = b.sub(b.load(starts, next), start);
                      }
                      Value visible = b.less(j, length);
                      auto require = [&](Value condition) {
                        visible = arith::AndIOp::create(b, visible, condition);
                      };
                      if (op.getCausal())
                        require(b.less(j, b.add(x[0], b.i32(1))));
                      if (auto window = op.getWindow()) {
                        // A window that no distance reaches would not fit i32.
                        int64_t limit = std::min<int64_t>(*window, INT32_MAX);
                        require(b.less(b.sub(x[0], j), b.i32(limit)));
                      }
                      Value row;
                      if (op.isPaged()) {
                        Value size = b.sizeOf(op.getKey(), 3);
                        Value entry = b.div(b.loop(1), size);
                        Value block =
                            b.load(op.getBlockTable(), {sequence, entry});
                        row = b.add(b.mul(block, b.toI32(size)),
                                    b.toI32(b.rem(b.loop(1), size)));
                      } else {
                        row = b.add(start, j);
                      }
                      return b.select(visible, row, b.i32(-1));
                    });
}

/// Element of the key or value at a visible row. A hidden row reads row 0,
/// which the caller ignores.
Value AttentionDecomposer::loadElement(Value cache, Value row, Value queryHead,
                                       Value element, bool isKey) {
  Value safe = b.toIndex(b.select(isHidden(row), b.i32(0), row));
  Value group = b.index(op.getQueryHeads() / op.getKeyHeads());
  Value head = b.div(queryHead, group);
  if (!op.isPaged())
    return b.extend(b.load(cache, {safe, head, element}));
  Value size = b.sizeOf(op.getKey(), 3);
  SmallVector<Value> indices = {b.div(safe, size), head, b.rem(safe, size),
                                element};
  if (isKey)
    std::swap(indices[2], indices[3]);
  return b.extend(b.load(cache, indices));
}

/// The bias of loop indices token, head and position; of a hidden key, which
/// may lie behind the bias, that of the first.
Value AttentionDecomposer::loadBias(Value row) {
  auto type = cast<RankedTensorType>(op.getBias().getType());
  Value head = type.getDimSize(1) == 1 ? b.index(0) : b.loop(1);
  Value position = b.select(isHidden(row), b.index(0), b.loop(2));
  return b.load(op.getBias(), {b.loop(0), head, position});
}

/// Scaled and capped scores [t, h, j]; -inf where the key is hidden. The cap
/// comes before the mask, or a hidden key would score -cap.
Value AttentionDecomposer::buildScores(Value rows,
                                       ArrayRef<OpFoldResult> sizes) {
  Value dots =
      b.reduce(sizes, b.getF32FloatAttr(0.0f),
               {{op.getQuery(), {0, 1, 3}}, {rows, {0, 2}}}, [&](ValueRange x) {
                 Value key =
                     loadElement(op.getKey(), x[1], b.loop(1), b.loop(3),
                                 /*isKey=*/true);
                 return b.add(x.back(), b.mul(b.extend(x[0]), key));
               });
  return b.parallel(sizes, b.getF32Type(), {{dots, {0, 1, 2}}, {rows, {0, 2}}},
                    [&](ValueRange x) {
                      Value score =
                          b.mul(x[0], b.f32(op.getScale().convertToFloat()));
                      if (auto cap = op.getSoftcap())
                        score = b.softcap(score, cap->convertToFloat());
                      if (op.getBias())
                        score = b.add(score, loadBias(x[1]));
                      Value minusInfinity =
                          b.f32(-std::numeric_limits<float>::infinity());
                      return b.select(isHidden(x[1]), minusInfinity, score);
                    });
}

Value AttentionDecomposer::build() {
  Sizes query = b.sizesOf(op.getQuery());
  OpFoldResult keys = getKeyCount();
  Value rows = buildRows({query[0], keys});
  Sizes sizes = {query[0], query[1], keys};
  Value scores = buildScores(rows, sizes);

  Sizes rowSizes = {query[0], query[1]};
  Value maxima = b.reduce(
      rowSizes, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()),
      {{scores, {0, 1, 2}}}, [&](ValueRange x) -> Value {
        return arith::MaximumFOp::create(b, x[1], x[0]);
      });
  // A token that sees no key has the maximum -inf; its differences are not
  // numbers, and are not used.
  Value weights =
      b.parallel(sizes, b.getF32Type(),
                 {{scores, {0, 1, 2}}, {maxima, {0, 1}}, {rows, {0, 2}}},
                 [&](ValueRange x) {
                   Value exp = math::ExpOp::create(b, b.sub(x[0], x[1]));
                   exp = b.select(isHidden(x[2]), b.f32(0.0f), exp);
                   if (!op.getBias())
                     return exp;
                   Value isEmpty = b.equal(
                       x[1], b.f32(-std::numeric_limits<float>::infinity()));
                   return b.select(isEmpty, b.f32(0.0f), exp);
                 });
  Value sums =
      b.reduce(rowSizes, b.getF32FloatAttr(0.0f), {{weights, {0, 1, 2}}},
               [&](ValueRange x) { return b.add(x[1], x[0]); });
  // What lies in a hidden place may be anything, also NaN, so that a weight of
  // 0 does not suffice to ignore it.
  Value totals =
      b.reduce(query, b.getF32FloatAttr(0.0f),
               {{weights, {0, 1, 3}}, {rows, {0, 3}}}, [&](ValueRange x) {
                 Value value =
                     loadElement(op.getValue(), x[1], b.loop(1), b.loop(2),
                                 /*isKey=*/false);
                 Value sum = b.add(x.back(), b.mul(x[0], value));
                 return b.select(isHidden(x[1]), x.back(), sum);
               });
  Type element = op.getType().getElementType();
  return b.parallel(
      query, element, {{totals, {0, 1, 2}}, {sums, {0, 1}}}, [&](ValueRange x) {
        Value isEmpty = b.equal(x[1], b.f32(0.0f));
        Value quotient = b.div(x[0], x[1]);
        return b.round(b.select(isEmpty, b.f32(0.0f), quotient), element);
      });
}

FailureOr<SmallVector<Value>>
AttentionOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  return SmallVector<Value>{AttentionDecomposer(b, *this).build()};
}
