//===- BuildSampleKernel.cpp - Ids from logits ----------------------------===//
//
// An item is a row. Sampling without sorting: what top-k and top-p leave is a
// prefix of the ids in descending order, so it is a cut: a logit, and an id
// among the logits equal to it. The cut is found by search: a sweep over the
// row gives the count (top-k) or weight (top-p) of the logits from several
// thresholds on and the lowest logit that is not below each, which bounds the
// next sweep. The draw is a walk in the order of ids over sums: of pieces of
// the row, of tiles of the piece that the target falls into, then a search in
// the tile.
//
// The blocks of a cluster divide the row: each sweeps its part, or its pieces,
// and gets what the others found, in the order of ids. From then on all of them
// do the same, and the first one stores the id.
//
// Every sweep is a fold whose result does not depend on other rows. Numbers
// that decide about control flow are the same in all threads of a cluster.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/KernelBuilder.h"

#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float mostFloat = std::numeric_limits<float>::max();
static constexpr int32_t mostInt = std::numeric_limits<int32_t>::max();

namespace {

/// What stays of a row: logits above `logit`, and those equal to it up to `id`.
struct Cut {
  Value logit, id; ///< f32, i32.
};

/// Where a running sum exceeds a target, and the sum before it.
struct Crossing {
  Value number, before; ///< index, f32.
};

class SampleKernel {
public:
  explicit SampleKernel(KernelBuilder &k)
      : k(k), op(cast<SampleOp>(k.getOps().front())),
        logits(k.getArgument(op.getLogits())) {
    columns = cast<RankedTensorType>(op.getLogits().getType()).getDimSize(1);
    width = std::min(columns, k.schedule.getColumns());
    int64_t tiles = llvm::divideCeil(columns, width);
    group = std::min(tiles, k.schedule.getUnroll());
    pieceTiles = llvm::alignTo(llvm::divideCeil(tiles, mostPieces), group);
    pieces = llvm::divideCeil(tiles, pieceTiles);
    blocks = k.schedule.getCluster();
    partTiles = llvm::alignTo(llvm::divideCeil(tiles, blocks), group);
    partPieces = llvm::divideCeil(pieces, blocks);
  }

  LogicalResult build() {
    rank = k.index(0);
    if (blocks > 1)
      rank = k.create<tile::ClusterRankOp>();
    sums = k.create<tile::ScratchOp>(
        MemRefType::get({1, blocks * partPieces}, k.builder.getF32Type()));
    Value counts = k.getArgument(op.getCounts());
    topK = k.create<memref::LoadOp>(counts, ValueRange{k.item(), k.index(0)});
    // Whatever the caller says, no memory outside the row is touched.
    ids = k.loadIndex(counts, {k.item(), k.index(1)});
    ids = k.min(k.max(ids, k.index(1)), k.index(columns));
    idsAsInt = k.toI32(ids);
    partBegin = k.mul(rank, partTiles * width);
    Value nextPart = k.add(partBegin, k.index(partTiles * width));
    partEnd = blocks == 1 ? ids : k.min(nextPart, ids);
    temperature = option(0);
    // Parts have as many steps whatever the ids are: loads need not wait for
    // their number.
    Value found = findLargest(blocks == 1 ? ids : nextPart);
    Value isBad = less(number(mostFloat), largest);
    Value isGreedy = compare(arith::CmpFPredicate::OEQ, temperature, number(0));
    Value isDone = k.create<arith::OrIOp>(isBad, isGreedy);
    Value id = choose(
        isDone, {k.builder.getI32Type()},
        [&] {
          Value bad = k.create<arith::SubIOp>(integer(-1), found);
          return SmallVector<Value>{select(isBad, bad, found)};
        },
        [&] { return SmallVector<Value>{draw()}; })[0];
    auto store = [&] {
      k.store(k.splat(id, {1}), k.getOutput(op.getIds()), {k.item()});
    };
    if (blocks == 1)
      store();
    else
      k.ifThen(
          k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rank, k.index(0)),
          store);
    return success();
  }

private:
  /// Of a row, whose sums are kept and walked over.
  static constexpr int64_t mostPieces = 64;

  //===--- Short hand -----------------------------------------------------===//

  Value number(float value) {
    return k.create<arith::ConstantOp>(k.builder.getF32FloatAttr(value));
  }
  Value integer(int32_t value) {
    return k.create<arith::ConstantOp>(k.builder.getI32IntegerAttr(value));
  }
  Value option(int64_t column) {
    return k.create<memref::LoadOp>(k.getArgument(op.getOptions()),
                                    ValueRange{k.item(), k.index(column)});
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return k.create<arith::CmpFOp>(predicate, a, b);
  }
  Value less(Value a, Value b) {
    return compare(arith::CmpFPredicate::OLT, a, b);
  }
  Value atLeast(Value a, Value b) {
    return compare(arith::CmpFPredicate::OGE, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return k.create<arith::SelectOp>(condition, a, b);
  }
  Value larger(Value a, Value b) { return select(less(a, b), b, a); }
  Value smaller(Value a, Value b) { return select(less(b, a), b, a); }
  Value plus(Value a, Value b) { return k.create<arith::AddFOp>(a, b); }
  Value minus(Value a, Value b) { return k.create<arith::SubFOp>(a, b); }
  Value times(Value a, Value b) { return k.create<arith::MulFOp>(a, b); }
  Value both(Value a, Value b) { return k.create<arith::AndIOp>(a, b); }

  SmallVector<int64_t> shape() { return {1, width}; }
  Value tileOf(float value) { return k.constant(shape(), value); }
  Value spread(Value scalar) { return k.splat(scalar, shape()); }
  Value sumOf(Value tile) {
    return k.extract(k.reduce(tile::Reduction::Add, tile));
  }
  Value largestOf(Value tile) {
    return k.extract(k.reduce(tile::Reduction::Max, tile));
  }
  using Values = SmallVector<Value>;

  Values choose(Value condition, ArrayRef<Type> types,
                function_ref<Values()> then, function_ref<Values()> otherwise) {
    auto branch =
        k.create<scf::IfOp>(TypeRange(types), condition, /*addThenBlock=*/true,
                            /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(k.builder);
    k.builder.setInsertionPointToStart(branch.thenBlock());
    k.create<scf::YieldOp>(then());
    k.builder.setInsertionPointToStart(branch.elseBlock());
    k.create<scf::YieldOp>(otherwise());
    return Values(branch.getResults());
  }

  /// A loop from 0 that carries numbers.
  Values repeat(Value count, ValueRange init,
                function_ref<Values(Value, ValueRange)> body) {
    auto loop = k.create<scf::ForOp>(
        k.index(0), count, k.index(1), init,
        [&](OpBuilder &inner, Location, Value i, ValueRange state) {
          OpBuilder::InsertionGuard guard(k.builder);
          k.builder.restoreInsertionPoint(inner.saveInsertionPoint());
          k.create<scf::YieldOp>(body(i, state));
        });
    return Values(loop.getResults());
  }

  //===--- Sweeps ---------------------------------------------------------===//

  /// A tile of the row and where it starts.
  struct RowTile {
    Value x, id, start;
  };

  /// The tile that covers the row from `base` on. Where it would go beyond the
  /// row it starts earlier; what is not from `base` on or no id to sample is
  /// -infinity. With `marksBad`, what is not a finite number is +infinity.
  RowTile loadTile(Value base, bool marksBad = false) {
    Value start = k.min(base, k.index(columns - width));
    Value x = k.load(logits, {k.item(), start}, shape());
    auto type = k.tileType(shape(), k.builder.getI32Type());
    Value first = k.toI32(start);
    Value id = k.create<tile::IotaOp>(type, first, 1);
    if (marksBad)
      x = select(less(k.create<math::AbsFOp>(x), tileOf(infinity)), x,
                 tileOf(infinity));
    Value outside = tileOf(-infinity);
    auto isLess = [&](Value a, Value b) {
      return k.create<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
    };
    x = select(isLess(id, spread(k.toI32(base))), outside, x);
    x = select(isLess(id, spread(idsAsInt)), x, outside);
    return {x, id, first};
  }

  using Step = function_ref<Values(Value x, Value id, ValueRange state)>;

  /// Folds the tiles from `begin` to `end`, `count` at a time: tiles of one
  /// width, lane by lane.
  Values sweep(Value begin, Value end, int64_t count, tile::Merge merge,
               ValueRange init, Step step, bool marksBad = false) {
    return k.fold(begin, end, count * width, merge, init,
                  [&](Value base, ValueRange state) {
                    // All loads first, so that they are under way together.
                    SmallVector<RowTile> tiles;
                    for (int64_t i = 0; i < count; ++i)
                      tiles.push_back(
                          loadTile(k.add(base, k.index(i * width)), marksBad));
                    Values next(state);
                    for (const RowTile &tile : tiles)
                      next = step(tile.x, tile.id, next);
                    return next;
                  });
  }

  /// Folds the block's part of the row.
  Values sweepPart(tile::Merge merge, ValueRange init, Step step) {
    return sweep(partBegin, partEnd, group, merge, init, step);
  }

  /// Merges what each block has of some numbers, in the order of their parts.
  Values mergeParts(
      const Values &numbers,
      function_ref<Values(const Values &before, const Values &next)> merge) {
    if (blocks == 1)
      return numbers;
    // Numbers of one type lie in one view, those of a block side by side.
    llvm::MapVector<Type, int64_t> counts;
    for (Value number : numbers)
      ++counts[number.getType()];
    llvm::DenseMap<Type, Value> views;
    for (auto [type, count] : counts) {
      OpBuilder::InsertionGuard guard(k.builder);
      k.builder.setInsertionPointToStart(&k.kernel.getBlock());
      views[type] =
          k.create<tile::ScratchOp>(MemRefType::get({1, blocks * count}, type));
    }
    // Calls `use` with the view of each number and its place in the block's.
    auto forNumbers = [&](function_ref<void(Value number, Value view,
                                            int64_t count, int64_t place)>
                              use) {
      llvm::DenseMap<Type, int64_t> places;
      for (Value number : numbers) {
        Type type = number.getType();
        use(number, views.at(type), counts.lookup(type), places[type]++);
      }
    };
    forNumbers([&](Value number, Value view, int64_t count, int64_t place) {
      Value column = k.add(k.mul(rank, count), k.index(place));
      k.store(k.splat(number, {1, 1}), view, {k.index(0), column});
    });
    k.create<tile::AllGatherOp>(llvm::map_to_vector(
        counts, [&](const auto &entry) { return views.at(entry.first); }));
    Values merged;
    for (int64_t block = 0; block < blocks; ++block) {
      Values next;
      forNumbers([&](Value, Value view, int64_t count, int64_t place) {
        next.push_back(k.create<memref::LoadOp>(
            view, ValueRange{k.index(0), k.index(block * count + place)}));
      });
      merged = block == 0 ? next : merge(merged, next);
    }
    return merged;
  }

  /// Tiles of a step that looks for the largest logit, which keeps little else:
  /// where blocks divide the row, up to twice as many as of another, so that
  /// they have few steps.
  int64_t countLargestTiles() {
    int64_t count = group;
    if (blocks > 1)
      for (int64_t more = group + 1; more <= 2 * group; ++more)
        if (partTiles % more == 0)
          count = more;
    return count;
  }

  /// Sets `largest`, which is +infinity where a logit is not a finite number;
  /// the first id that has it. The block looks up to `end`.
  Value findLargest(Value end) {
    Values state = sweep(
        partBegin, end, countLargestTiles(), tile::Merge::ArgMax,
        {tileOf(-infinity), k.constantI32(shape(), mostInt)},
        [&](Value x, Value id, ValueRange best) -> Values {
          Value isLarger = less(best[0], x);
          return {select(isLarger, x, best[0]), select(isLarger, id, best[1])};
        },
        /*marksBad=*/true);
    largest = largestOf(state[0]);
    Value isLargest =
        compare(arith::CmpFPredicate::OEQ, state[0], spread(largest));
    Value order =
        k.create<arith::SubIOp>(k.constantI32(shape(), mostInt), state[1]);
    Value lowest =
        largestOf(select(isLargest, order, k.constantI32(shape(), -1)));
    Value id = k.create<arith::SubIOp>(integer(mostInt), lowest);
    // Of equal ones that of the first part, which has lower ids.
    Values found = mergeParts(
        {largest, id}, [&](const Values &before, const Values &next) -> Values {
          Value isLarger = less(before[0], next[0]);
          return {select(isLarger, next[0], before[0]),
                  select(isLarger, next[1], before[1])};
        });
    largest = found[0];
    return found[1];
  }

  //===--- What stays -----------------------------------------------------===//

  /// exp((x - largest) / temperature), of a tile or a number.
  Value weightOf(Value x, Value half, Value largestHalf, Value factor) {
    // Halves, so that the difference of the largest numbers is one.
    return k.create<math::ExpOp>(
        times(minus(times(x, half), largestHalf), factor));
  }
  Value weightOf(Value x) {
    if (!isa<RankedTensorType>(x.getType()))
      return weightOf(x, number(0.5f), halfLargest, inverse);
    return weightOf(x, tileOf(0.5f), spread(halfLargest), spread(inverse));
  }

  Value isKept(const Cut &cut, Value x, Value id) {
    Value isAbove = less(spread(cut.logit), x);
    Value isEqual = compare(arith::CmpFPredicate::OEQ, x, spread(cut.logit));
    Value isUpTo =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::sle, id, spread(cut.id));
    return k.create<arith::OrIOp>(isAbove, both(isEqual, isUpTo));
  }

  /// A tile without the logits that a cut takes away.
  Value keep(const Cut &cut, Value x, Value id) {
    return select(isKept(cut, x, id), x, tileOf(-infinity));
  }

  /// A cut that leaves everything.
  Cut everything() { return {number(-infinity), integer(mostInt)}; }

  using Quantity = function_ref<Value(Value x)>;

  /// The shortest prefix of what `before` leaves whose sum of `quantity`, of a
  /// tile or a number, reaches `target` > 0; `whole` is that of all.
  Cut findCut(const Cut &before, Value target, Value whole, Quantity quantity) {
    Type f32 = k.builder.getF32Type();
    // Weights of logits from here down are 0.
    Value lowest = larger(number(-mostFloat),
                          minus(largest, times(number(110), temperature)));
    // From `low`, which sums up to `sumLow`, to below `high`, which sums up to
    // `sumHigh`; done when they are equal: the cut, and the sum above it.
    Values init = {lowest, number(infinity), whole, number(0)};
    auto loop = k.create<scf::WhileOp>(
        TypeRange{f32, f32, f32, f32}, init,
        [&](OpBuilder &inner, Location, ValueRange state) {
          OpBuilder::InsertionGuard guard(k.builder);
          k.builder.restoreInsertionPoint(inner.saveInsertionPoint());
          k.create<scf::ConditionOp>(less(state[0], state[1]), state);
        },
        [&](OpBuilder &inner, Location, ValueRange state) {
          OpBuilder::InsertionGuard guard(k.builder);
          k.builder.restoreInsertionPoint(inner.saveInsertionPoint());
          k.create<scf::YieldOp>(
              narrow(before, target, lowest, state, quantity));
        });
    Value logit = loop.getResult(0), sumLow = loop.getResult(2),
          sumHigh = loop.getResult(3);
    // How many of the logits that are equal to the cut stay.
    Value one = quantity(logit);
    Value needed = k.create<arith::DivFOp>(minus(target, sumHigh), one);
    Value available = k.create<arith::DivFOp>(minus(sumLow, sumHigh), one);
    Value allStay = less(minus(available, number(0.99f)), needed);
    Value id = choose(
        allStay, {k.builder.getI32Type()},
        [&] {
          Value isSame =
              compare(arith::CmpFPredicate::OEQ, logit, before.logit);
          return Values{select(isSame, before.id, integer(mostInt))};
        },
        [&] {
          return Values{findCrossing(
              [&](Value x, Value id) {
                Value isEqual = compare(arith::CmpFPredicate::OEQ,
                                        keep(before, x, id), spread(logit));
                return select(isEqual, tileOf(1), tileOf(0));
              },
              // The first count that is not less, but for rounding; at least 1.
              [&](Value) {
                return larger(number(0),
                              minus(minus(needed, number(0.01f)),
                                    times(needed, number(0x1p-22f))));
              })};
        })[0];
    return {logit, id};
  }

  /// One sweep of findCut: its next state.
  Values narrow(const Cut &before, Value target, Value lowest, ValueRange state,
                Quantity quantity) {
    Value low = state[0], high = state[1], sumLow = state[2],
          sumHigh = state[3];
    constexpr int count = 4;
    SmallVector<Value> thresholds = getThresholds(low, high, lowest);
    Values init(count, tileOf(0));
    init.append(count, tileOf(-infinity));
    Values states = sweepPart(
        tile::Merge::AddMax, init, [&](Value x, Value id, ValueRange sums) {
          x = keep(before, x, id);
          Value amount = quantity(x), negated = minus(tileOf(0), x);
          Values next(sums);
          for (int i = 0; i < count; ++i) {
            Value isIn = i == 0 ? less(spread(low), x)
                                : atLeast(x, spread(thresholds[i - 1]));
            next[i] = plus(sums[i], select(isIn, amount, tileOf(0)));
            next[count + i] = larger(sums[count + i],
                                     select(isIn, negated, tileOf(-infinity)));
          }
          return next;
        });
    Values results;
    for (int i = 0; i < 2 * count; ++i)
      results.push_back(i < count ? sumOf(states[i]) : largestOf(states[i]));
    results =
        mergeParts(results, [&](const Values &before, const Values &next) {
          Values merged;
          for (int i = 0; i < 2 * count; ++i)
            merged.push_back(i < count ? plus(before[i], next[i])
                                       : larger(before[i], next[i]));
          return merged;
        });
    Value nextLow = low, nextSumLow = sumLow, nextHigh = high,
          nextSumHigh = sumHigh, isFound;
    for (int i = 0; i < count; ++i) {
      Value sum = results[i];
      Value first = minus(number(0), results[count + i]);
      Value reaches = atLeast(sum, target);
      Value rises = both(reaches, less(nextLow, first));
      nextLow = select(rises, first, nextLow);
      nextSumLow = select(rises, sum, nextSumLow);
      if (i == 0) {
        isFound = less(sum, target);
        nextSumHigh = select(isFound, sum, nextSumHigh);
        continue;
      }
      Value threshold = thresholds[i - 1];
      Value falls = both(less(sum, target), less(threshold, nextHigh));
      falls = select(isFound, falseValue(), falls);
      nextHigh = select(falls, threshold, nextHigh);
      nextSumHigh = select(falls, sum, nextSumHigh);
    }
    // Nothing above `low` reaches the target, so it is the cut; or the logits
    // from the new `low` on are exactly enough.
    Value isExact = compare(arith::CmpFPredicate::OEQ, nextSumLow, target);
    nextSumHigh =
        select(isFound, nextSumHigh, select(isExact, number(0), nextSumHigh));
    Value isDone = k.create<arith::OrIOp>(isFound, isExact);
    nextHigh = select(isDone, nextLow, nextHigh);
    return {nextLow, nextHigh, nextSumLow, nextSumHigh};
  }

  Value falseValue() {
    return k.create<arith::ConstantOp>(k.builder.getBoolAttr(false));
  }

  /// Three thresholds of a sweep. The first ones are where logits mostly are:
  /// weights fall by e with each temperature below the largest. Later ones
  /// divide the range; an end that is open is that of the largest logit.
  SmallVector<Value> getThresholds(Value low, Value high, Value lowest) {
    Value isFirst = compare(arith::CmpFPredicate::OEQ, low, lowest);
    Value isOpen = less(largest, high);
    Value end = smaller(high, largest);
    SmallVector<Value> thresholds;
    const float distances[] = {24, 10, 4};
    for (int i = 0; i < 3; ++i) {
      Value guess = minus(largest, times(number(distances[i]), temperature));
      Value part =
          select(isOpen, number(float(i + 1) / 3), number(float(i + 1) / 4));
      Value between =
          plus(times(low, minus(number(1), part)), times(end, part));
      thresholds.push_back(
          larger(number(-mostFloat), select(isFirst, guess, between)));
    }
    return thresholds;
  }

  //===--- Walks ----------------------------------------------------------===//

  /// The first of `count` sums with which the running sum exceeds `target`; the
  /// last that is not 0 if rounding leaves it short.
  Crossing walk(Value count, Value target, function_ref<Value(Value)> sumAt) {
    Value none = k.index(-1), zero = number(0);
    Values end = repeat(
        count, {zero, none, zero, k.index(0), zero},
        [&](Value i, ValueRange state) -> Values {
          Value running = state[0], found = state[1], before = state[2],
                last = state[3], beforeLast = state[4];
          Value sum = sumAt(i);
          Value next = plus(running, sum);
          Value isFirst =
              both(k.create<arith::CmpIOp>(arith::CmpIPredicate::slt, found,
                                           k.index(0)),
                   less(target, next));
          Value isSome = less(zero, sum);
          return {next, select(isFirst, i, found),
                  select(isFirst, running, before), select(isSome, i, last),
                  select(isSome, running, beforeLast)};
        });
    Value isNone =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::slt, end[1], k.index(0));
    return {select(isNone, end[3], end[1]), select(isNone, end[4], end[2])};
  }

  /// The lowest id such that the sum of `amountOf`, of tiles, over all ids up
  /// to it exceeds what `targetOf` gives for the sum of all.
  Value findCrossing(function_ref<Value(Value x, Value id)> amountOf,
                     function_ref<Value(Value)> targetOf) {
    const int64_t pieceIds = pieceTiles * width;
    Value used = k.div(k.add(ids, k.index(pieceIds - 1)), pieceIds);
    auto sumAt = [&](Value i) -> Value {
      return k.create<memref::LoadOp>(sums, ValueRange{k.index(0), i});
    };
    // The block's pieces; a negative number of them is none.
    Value firstPiece = k.mul(rank, partPieces);
    Value count = used;
    if (blocks > 1)
      count = k.min(k.sub(used, firstPiece), k.index(partPieces));
    repeat(count, {}, [&](Value i, ValueRange) -> Values {
      Value piece = k.add(firstPiece, i);
      Value begin = k.mul(piece, pieceIds);
      Value end = k.add(begin, k.index(pieceIds));
      Value tile = sweep(begin, end, group, tile::Merge::Add, tileOf(0),
                         [&](Value x, Value id, ValueRange sum) {
                           return Values{plus(sum[0], amountOf(x, id))};
                         })[0];
      k.store(k.reduce(tile::Reduction::Add, tile), sums, {k.index(0), piece});
      return {};
    });
    if (blocks > 1)
      k.create<tile::AllGatherOp>(sums);
    Value whole =
        repeat(used, number(0), [&](Value i, ValueRange state) -> Values {
          return {plus(state[0], sumAt(i))};
        })[0];
    Value target = targetOf(whole);
    Crossing piece = walk(used, target, sumAt);
    target = minus(target, piece.before);
    Value base = k.mul(piece.number, pieceIds);
    auto tileAt = [&](Value i) {
      return loadTile(k.add(base, k.mul(i, width)));
    };
    Value number = k.index(0);
    if (pieceTiles > 1) {
      Crossing found = walk(k.index(pieceTiles), target, [&](Value i) {
        RowTile tile = tileAt(i);
        return sumOf(amountOf(tile.x, tile.id));
      });
      target = minus(target, found.before);
      number = found.number;
    }
    RowTile tile = tileAt(number);
    return findInTile(tile, amountOf(tile.x, tile.id), target);
  }

  Value findInTile(const RowTile &tile, Value amounts, Value target) {
    Value id = tile.id, first = tile.start;
    Value none = k.constantI32(shape(), -1);
    Value last = largestOf(select(less(tileOf(0), amounts), id, none));
    // The id lies from `low` to `high`.
    Value high = k.create<arith::AddIOp>(first, integer(width - 1));
    Value steps = k.index(llvm::Log2_64_Ceil(width));
    Value found =
        repeat(steps, {first, high}, [&](Value, ValueRange state) -> Values {
          Value low = state[0], high = state[1];
          Value half = k.create<arith::ShRUIOp>(
              k.create<arith::SubIOp>(high, low), integer(1));
          Value middle = k.create<arith::AddIOp>(low, half);
          Value isUpTo = k.create<arith::CmpIOp>(arith::CmpIPredicate::sle, id,
                                                 spread(middle));
          Value sum = sumOf(select(isUpTo, amounts, tileOf(0)));
          Value isBeyond = less(target, sum);
          Value above = k.create<arith::AddIOp>(middle, integer(1));
          // The steps may be more than are needed.
          Value isSingle =
              k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, low, high);
          return {select(isBeyond, low, select(isSingle, low, above)),
                  select(isBeyond, middle, high)};
        })[0];
    return k.create<arith::MinSIOp>(found, last);
  }

  //===--- The draw -------------------------------------------------------===//

  Value draw() {
    halfLargest = times(largest, number(0.5f));
    inverse = k.create<arith::DivFOp>(number(2), temperature);
    Value isCounted = both(
        k.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, topK, integer(0)),
        k.create<arith::CmpIOp>(arith::CmpIPredicate::slt, topK, idsAsInt));
    Type types[] = {k.builder.getF32Type(), k.builder.getI32Type()};
    auto cutOf = [](const Values &values) { return Cut{values[0], values[1]}; };
    auto valuesOf = [](const Cut &cut) { return Values{cut.logit, cut.id}; };
    Cut counted = cutOf(choose(
        isCounted, types,
        [&] {
          Value target =
              k.create<arith::SIToFPOp>(k.builder.getF32Type(), topK);
          return valuesOf(
              findCut(everything(), target, number(infinity), [&](Value x) {
                return isa<RankedTensorType>(x.getType()) ? tileOf(1)
                                                          : number(1);
              }));
        },
        [&] { return valuesOf(everything()); }));
    constexpr float tolerance = 1e-6f;
    Value topP = option(1);
    Cut cut = cutOf(choose(
        less(topP, number(1)), types,
        [&] {
          Value whole = sumOf(sweepPart(
              tile::Merge::Add, tileOf(0),
              [&](Value x, Value id, ValueRange sum) {
                return Values{plus(sum[0], weightOf(keep(counted, x, id)))};
              })[0]);
          whole = mergeParts({whole},
                             [&](const Values &before, const Values &next) {
                               return Values{plus(before[0], next[0])};
                             })[0];
          Value target = larger(times(minus(topP, number(tolerance)), whole),
                                number(std::numeric_limits<float>::min()));
          return valuesOf(findCut(counted, target, whole,
                                  [&](Value x) { return weightOf(x); }));
        },
        [&] { return valuesOf(counted); }));
    Value least = times(option(2), number(1 - tolerance)), uniform = option(3);
    return findCrossing(
        [&](Value x, Value id) {
          Value weight = weightOf(keep(cut, x, id));
          return select(atLeast(weight, spread(least)), weight, tileOf(0));
        },
        [&](Value whole) { return times(uniform, whole); });
  }

  KernelBuilder &k;
  SampleOp op;
  Value logits;
  int64_t columns, width;     ///< Of the row and of a tile.
  int64_t group;              ///< Tiles that are loaded together.
  int64_t pieceTiles, pieces; ///< A whole number of groups; at most mostPieces.
  int64_t blocks;             ///< That divide the row.
  int64_t partTiles;          ///< Of a block: a whole number of groups.
  int64_t partPieces;         ///< Of a block.
  Value rank;                 ///< Of the block, index.
  Value sums;                 ///< Scratch: of the pieces.
  Value topK, ids, idsAsInt, temperature; ///< Of the row.
  Value partBegin, partEnd; ///< First id of the part and behind it, index.
  Value largest, halfLargest, inverse; ///< f32; `inverse` is 2 / temperature.
};

} // namespace

LogicalResult kernel::buildSampleKernel(KernelBuilder &k) {
  return SampleKernel(k).build();
}
